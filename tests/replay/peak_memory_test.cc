// What the temporaries of the model workloads take.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/null/null.h"
#include "core/runtime/engine.h"
#include "tests/replay/graphs_import.h"
#include "tests/replay/record.h"

namespace kiln::replay {
namespace {

TEST(PeakMemory, OfModelsIsNearTheLeastPossible) {
  runtime::Registry registry;
  ASSERT_TRUE(null::RegisterNullBackend(registry).ok());
  registry.Alias("cpu:0", "null:0");
  registry.Alias("host", "null:0");
  const auto engine = *runtime::Engine::Create(registry, {.default_device = "null:0"});
  int num_models = 0;
  const absl::Status read =
      ForEachRecord("tests/fixtures/graphs/models.jsonl.gz", [&](const Record& record) {
        const absl::StatusOr<ImportedGraph> imported = ImportGraph(record.json);
        ASSERT_TRUE(imported.ok()) << record.id << ": " << imported.status();
        const auto runner = engine->Prepare(imported->graph);
        ASSERT_TRUE(runner.ok()) << record.id << ": " << runner.status();
        const runtime::Plan& plan = (*runner)->plan();
        int64_t bytes = 0;
        for (int64_t arena : plan.arena_bytes) bytes += arena;
        ++num_models;
        RecordProperty(record.id, std::to_string(bytes));
        EXPECT_LE(static_cast<double>(bytes), 1.1 * static_cast<double>(plan.lower_bound_bytes))
            << record.id;
        // Deep models use the same memory again.
        if (plan.num_kernels >= 20) {
          EXPECT_LE(bytes, plan.unshared_bytes / 2) << record.id;
        }
      });
  EXPECT_TRUE(read.ok()) << read;
  EXPECT_EQ(num_models, 10);
}

}  // namespace
}  // namespace kiln::replay
