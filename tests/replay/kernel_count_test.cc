// How many kernels the scheduler makes of the graphs of the fixtures, against the reference.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <variant>

#include "absl/strings/str_cat.h"

#include "core/schedule/schedule.h"
#include "tests/replay/graphs_import.h"
#include "tests/replay/record.h"

namespace kiln::replay {
namespace {

struct Counts {
  int records = 0, more = 0;  // `more`: with more kernels than the reference.
  int64_t kernels = 0, reference = 0;
  std::string ids;  // Of those with more.
};

Counts CountKernels(const std::string& set) {
  Counts counts;
  const std::string path = absl::StrCat("tests/fixtures/graphs/", set, ".jsonl.gz");
  const absl::Status read = ForEachRecord(path, [&](const Record& record) {
    const int64_t reference = record.json.value("ref_kernels", int64_t{0});
    if (reference == 0) return;  // Outputs that the reference never computes: constants, views.
    const absl::StatusOr<ImportedGraph> imported = ImportGraph(record.json);
    ASSERT_TRUE(imported.ok()) << record.id << ": " << imported.status();
    const auto schedule = schedule::MakeSchedule(*imported->graph.graph, imported->graph.sink,
                                                 {.default_device = "CPU"});
    ASSERT_TRUE(schedule.ok()) << record.id << ": " << schedule.status();
    int64_t kernels = 0;
    for (const schedule::Item& item : schedule->items) {
      kernels += std::holds_alternative<schedule::Launch>(item);
    }
    ++counts.records;
    counts.kernels += kernels;
    counts.reference += reference;
    if (kernels <= reference) return;
    ++counts.more;
    absl::StrAppend(&counts.ids, " ", record.id, "(", kernels, ">", reference, ")");
  });
  EXPECT_TRUE(read.ok()) << read;
  return counts;
}

TEST(KernelCount, OfModelsIsNotAboveTheReference) {
  const Counts models = CountKernels("models"), decode = CountKernels("decode");
  EXPECT_EQ(models.records, 10);
  EXPECT_EQ(models.more, 0) << models.ids;
  EXPECT_EQ(decode.more, 0) << decode.ids;
}

class KernelCountOfSet : public testing::TestWithParam<const char*> {};

// The reference has no kernel for an output that is a view of an input; and some of its graphs ask for
// one kernel by FUSE, a hint that is not followed.
TEST_P(KernelCountOfSet, IsRarelyAboveTheReference) {
  const Counts set = CountKernels(GetParam());
  RecordProperty("kernels", std::to_string(set.kernels));
  RecordProperty("reference", std::to_string(set.reference));
  EXPECT_GT(set.records, 0);
  EXPECT_LE(set.more * 12, set.records) << set.more << " of " << set.records << ":" << set.ids;
  EXPECT_LE(set.kernels, set.reference);
}
INSTANTIATE_TEST_SUITE_P(Sets, KernelCountOfSet,
                         testing::Values("ops", "tensor", "nn", "indexing", "symbolic", "dtype",
                                         "random", "schedule"));

}  // namespace
}  // namespace kiln::replay
