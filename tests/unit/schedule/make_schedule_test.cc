#include <string>
#include <variant>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/rewrite/specs.h"
#include "core/schedule/schedule.h"
#include "core/uop/parse.h"
#include "core/uop/walk.h"
#include "tests/support/status_matchers.h"

namespace kiln::schedule {
namespace {

// The schedule of a graph in text form; every kernel is a legal one.
Schedule ScheduleOf(Graph& g, const std::string& text, const ScheduleOptions& options = {}) {
  const auto sink = uop::Parse(g, text);
  EXPECT_TRUE(sink.ok()) << sink.status() << "\n" << text;
  auto s = MakeSchedule(g, *sink, options);
  EXPECT_TRUE(s.ok()) << s.status();
  if (!s.ok()) return {};
  for (const Item& item : s->items) {
    if (const auto* launch = std::get_if<Launch>(&item)) {
      EXPECT_TRUE(rewrite::Verify(g, launch->kernel, rewrite::kKernelSpec).ok())
          << rewrite::Verify(g, launch->kernel, rewrite::kKernelSpec) << ToText(*s);
    }
  }
  return *std::move(s);
}

int Kernels(const Schedule& s) {
  int count = 0;
  for (const Item& item : s.items) count += std::holds_alternative<Launch>(item);
  return count;
}
int Copies(const Schedule& s) { return static_cast<int>(s.items.size()) - Kernels(s); }

int Reductions(const Schedule& s) {
  int count = 0;
  for (const Item& item : s.items) {
    if (!std::holds_alternative<Launch>(item)) continue;
    uop::Visit(std::get<Launch>(item).kernel, [&count](Ref n) {
      count += n->op == Op::kReduce;
      return true;
    });
  }
  return count;
}

TEST(MakeSchedule, FusesElementwiseOps) {
  Graph g;
  const Schedule s = ScheduleOf(g, R"(
      %x = input{0}(4, 8):float32;
      sink(exp2(%x + %x) * %x)
  )");
  EXPECT_EQ(Kernels(s), 1) << ToText(s);
}

TEST(MakeSchedule, StoresReductionsThatAreExpanded) {
  Graph g;
  const Schedule s = ScheduleOf(g, R"(
      %x = input{0}(4, 8):float32;
      %m = reduce{max, 1}(%x);
      %e = exp2(%x + -1.0 * expand(%m, 4, 8));
      %sum = reduce{add, 1}(%e);
      sink(%e * recip(expand(%sum, 4, 8)))
  )");
  EXPECT_EQ(Kernels(s), 3) << ToText(s);
}

TEST(MakeSchedule, CountsInsteadOfLooping) {
  Graph g;
  // arange(6): the cumulative sum of ones.
  const Schedule s = ScheduleOf(g, R"(
      %one = expand(reshape(1:int32, 1), 6);
      %rows = expand(reshape(pad(%one, 5, 0), 1, 11), 7, 11);
      %windows = reshape(shrink(reshape(%rows, 77), 0, 72), 6, 12);
      sink(reduce{add, 1}(shrink(%windows, 0, 6, 0, 6)))
  )");
  EXPECT_EQ(Kernels(s), 1) << ToText(s);
  EXPECT_EQ(Reductions(s), 0) << ToText(s);
}

TEST(MakeSchedule, GathersInsteadOfLooping) {
  Graph g;
  const Schedule s = ScheduleOf(g, R"(
      %x = input{0}(1, 100):float32;
      %i = input{1}(5, 1):int32;
      %hit = expand(%i, 5, 100) == iota{1}(5, 100):int32;
      sink(reduce{add, 1}(where(%hit, expand(%x, 5, 100), expand(reshape(0.0:float32, 1, 1), 5, 100))))
  )");
  EXPECT_EQ(Kernels(s), 1) << ToText(s);
  EXPECT_EQ(Reductions(s), 0) << ToText(s);
}

TEST(MakeSchedule, WritesInPlaceWhereTheSameElementIsRead) {
  Graph g;
  const Schedule s = ScheduleOf(g, R"(
      %x = input{0}(4, 4):float32;
      sink(assign(%x, %x + expand(reshape(1.0:float32, 1, 1), 4, 4)))
  )");
  EXPECT_EQ(Kernels(s), 1) << ToText(s);
  EXPECT_EQ(Copies(s), 1) << ToText(s);
}

TEST(MakeSchedule, StoresAValueThatReadsItsTargetElsewhere) {
  Graph g;
  const Schedule s = ScheduleOf(g, R"(
      %x = input{0}(4, 4):float32;
      sink(assign(%x, %x + permute{1, 0}(%x)))
  )");
  EXPECT_EQ(Kernels(s), 2) << ToText(s);
}

TEST(MakeSchedule, SavesWhatIsOverwrittenTooEarly) {
  Graph g;
  const Schedule s = ScheduleOf(g, R"(
      %x = input{0}(4):float32;
      %new = assign(%x, %x * expand(reshape(2.0:float32, 1), 4));
      sink(%new + flip{1}(%x))
  )");
  EXPECT_EQ(Kernels(s), 2) << ToText(s);
  EXPECT_EQ(Copies(s), 1) << ToText(s);
}

TEST(MakeSchedule, SavesAllOfAnInputOfWhichAPartWasWritten) {
  Graph g;
  // The second write needs what the first has overwritten; the first result is an output as well.
  const Schedule s = ScheduleOf(g, R"(
      %part = shrink(input{0}(12):int32, 3, 6);
      %first = assign(%part, %part + %part);
      sink(%first, assign(%first, %part * flip{1}(%part)))
  )");
  int saved = 0;
  for (const Buffer& b : s.buffers) {
    saved += b.kind == Buffer::Kind::kTemporary && b.elems == 12;
  }
  EXPECT_GE(saved, 1) << ToText(s);
}

TEST(MakeSchedule, ReadsBeforeOverwriting) {
  Graph g;
  const Schedule s = ScheduleOf(g, R"(
      %x = input{0}(4):float32;
      %y = input{1}(4):float32;
      sink(assign(%x, %y), exp2(flip{1}(%x)))
  )");
  ASSERT_EQ(Kernels(s), 2) << ToText(s);
  EXPECT_EQ(s.buffers[static_cast<size_t>(std::get<Launch>(s.items[0]).buffers[0])].kind,
            Buffer::Kind::kOutput)
      << ToText(s);
}

// ** kernels that run as one **

TEST(MakeSchedule, ComputesResultsOfTheSameElementsTogether) {
  Graph g;
  const Schedule s = ScheduleOf(g, R"(
      %x = input{0}(64, 4096):float32;
      %y = input{1}(64, 4096):float32;
      sink(%x + %y, %x * %y, exp2(%x), %y + %y, permute{1, 0}(%x + %y))
  )");
  ASSERT_EQ(Kernels(s), 2) << ToText(s);
  EXPECT_EQ(std::get<Launch>(s.items[0]).num_written, 4) << ToText(s);
  EXPECT_EQ(std::get<Launch>(s.items[0]).buffers.size(), 6) << ToText(s);
}

TEST(MakeSchedule, LetsLargeResultsOfDifferentElementsRunByThemselves) {
  Graph g;
  const auto kernels = [&g](const std::string& size) {
    return Kernels(ScheduleOf(
        g, "sink(exp2(input{0}(" + size + "):float32), exp2(input{1}(" + size + "):float32))"));
  };
  EXPECT_EQ(kernels("64"), 1);
  EXPECT_EQ(kernels("1000000"), 2);
}

TEST(MakeSchedule, UpdatesStatesOfOneElementTogether) {
  Graph g;
  const Schedule s = ScheduleOf(g, R"(
      %p = input{0}(64, 4096):float32;
      %m = input{1}(64, 4096):float32;
      %g = input{2}(64, 4096):float32;
      %half = expand(reshape(0.5:float32, 1, 1), 64, 4096);
      %new = %m * %half + %g;
      sink(assign(%p, %p + %new * %half), assign(%m, %new))
  )");
  ASSERT_EQ(Kernels(s), 1) << ToText(s);
  const Launch& launch = std::get<Launch>(s.items[0]);
  EXPECT_EQ(launch.num_written, 2);
  EXPECT_EQ(launch.buffers.size(), 3) << ToText(s);  // Each once, though two are read as well.
}

TEST(MakeSchedule, OverwritesNothingThatTheSameKernelReadsElsewhere) {
  Graph g;
  const Schedule s = ScheduleOf(g, R"(
      %p = input{0}(8):float32;
      %m = input{1}(8):float32;
      %g = input{2}(8):float32;
      sink(assign(%p, %g + flip{1}(%m)), assign(%m, %g))
  )");
  EXPECT_EQ(Kernels(s), 2) << ToText(s);
}

TEST(MakeSchedule, RunsNothingBeforeWhatItNeeds) {
  Graph g;
  // Each after the one before; the last needs only the first, and may run beside the second.
  const Schedule s = ScheduleOf(g, R"(
      %x = input{0}(8):float32;
      %a = contiguous(%x + %x);
      %b = contiguous(%a * %x);
      %c = contiguous(%b * %x);
      sink(%a, %b, %c, %a + %a)
  )");
  EXPECT_EQ(Kernels(s), 3) << ToText(s);
}

TEST(MakeSchedule, ComputesPiecesWhereTheyAre) {
  Graph g;
  const Schedule s = ScheduleOf(g, R"(
      %x = shard{"cpu:0,cpu:1", 0}(input{0}(4, 8):float32);
      %y = exp2(%x);
      sink(unshard(%y), unshard(reduce{add, 0}(%y)))
  )");
  EXPECT_EQ(s.devices, (std::vector<std::string>{"cpu:0", "cpu:1"}));
  int on_second = 0;
  for (const Item& item : s.items) {
    if (const auto* launch = std::get_if<Launch>(&item)) on_second += launch->device == 1;
  }
  EXPECT_GE(on_second, 2) << ToText(s);
}

TEST(MakeSchedule, RefusesOperandsOnDifferentDevices) {
  Graph g;
  const auto sink = uop::Parse(g, R"(
      %x = input{0}(4):float32;
      sink(%x + copy{"cpu:1"}(%x))
  )");
  ASSERT_TRUE(sink.ok()) << sink.status();
  EXPECT_THAT(
      MakeSchedule(g, *sink, {}).status(),
      support::StatusIs(absl::StatusCode::kInvalidArgument, testing::HasSubstr("copy one first")));
}

}  // namespace
}  // namespace kiln::schedule
