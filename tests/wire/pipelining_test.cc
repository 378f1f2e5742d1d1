// No command waits for a round trip that it does not need.
#include <gtest/gtest.h>

#include <cstdio>
#include <optional>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"

#include "client/cpp/session.h"
#include "tests/wire/support/graphs.h"
#include "tests/wire/support/kilnd_process.h"
#include "tests/wire/support/proxy.h"

namespace kiln::wire {
namespace {

constexpr absl::Duration kDelay = absl::Milliseconds(15);  // Each way.
constexpr int kSteps = 100;

absl::Span<std::byte> Bytes(std::vector<float>& v) {
  return absl::MakeSpan(reinterpret_cast<std::byte*>(v.data()), v.size() * 4);
}

// Makes `steps` steps with one read each, waited for one by one or at the end; returns how long.
absl::Duration Steps(Session& session, bool waits) {
  uint32_t output;
  const v1::Graph graph = AddOneGraph(4, &output);
  const CompiledGraph compiled = session.Compile(EncodedGraph(graph), {output});
  EXPECT_TRUE(compiled.info().Get().ok()) << compiled.info().Get().status();
  Buffer x = session.Alloc(16), y = session.Alloc(16);
  std::vector<float> values = {0, 1, 2, 3};
  EXPECT_TRUE(session.CopyIn(x, 0, Bytes(values)).Get().ok());
  std::vector<std::vector<float>> got(kSteps, std::vector<float>(4));
  std::vector<Future<void>> reads;
  const absl::Time start = absl::Now();
  for (int i = 0; i < kSteps; ++i) {
    {
      const auto hold = session.Hold();
      session.Exec(compiled, {{0, x}}, {{0, y}});
      reads.push_back(session.CopyOut(y, 0, Bytes(got[static_cast<size_t>(i)])));
    }
    if (waits) {
      EXPECT_TRUE(reads.back().Get().ok());
    }
    std::swap(x, y);
  }
  for (const Future<void>& read : reads) EXPECT_TRUE(read.Get().ok()) << read.Get();
  const absl::Duration took = absl::Now() - start;
  for (int i = 0; i < kSteps; ++i) {
    EXPECT_EQ(got[static_cast<size_t>(i)][3], static_cast<float>(3 + i + 1));
  }
  return took;
}

TEST(Pipelining, AStepWithAReadTakesOneRoundTrip) {
  const auto kilnd = Kilnd::Start();
  ASSERT_TRUE(kilnd.ok()) << kilnd.status();
  absl::StatusOr<Session> near = Session::Connect((*kilnd)->address());
  ASSERT_TRUE(near.ok()) << near.status();
  const absl::Duration device = Steps(*near, true);
  const auto proxy = Proxy::Start((*kilnd)->address(), {.delay = kDelay});
  ASSERT_TRUE(proxy.ok()) << proxy.status();
  absl::StatusOr<Session> far = Session::Connect((*proxy)->address());
  ASSERT_TRUE(far.ok()) << far.status();
  const absl::Duration took = Steps(*far, true);
  const absl::Duration aim = (kSteps * 2 * kDelay + device) * 1.05;
  std::printf("100 steps with one read each: %s; 100 round trips and the device: %s (aim %s)\n",
              absl::FormatDuration(took).c_str(),
              absl::FormatDuration(kSteps * 2 * kDelay + device).c_str(),
              absl::FormatDuration(aim).c_str());
  // Generous: machines that run tests are busy. A second round trip per step would be 3 s more.
  EXPECT_LT(took, kSteps * 2 * kDelay * 1.6 + device * 2);
}

TEST(Pipelining, StepsThatAreNotWaitedForTakeOneRoundTripInAll) {
  const auto kilnd = Kilnd::Start();
  ASSERT_TRUE(kilnd.ok()) << kilnd.status();
  const auto proxy = Proxy::Start((*kilnd)->address(), {.delay = kDelay});
  ASSERT_TRUE(proxy.ok()) << proxy.status();
  absl::StatusOr<Session> session = Session::Connect((*proxy)->address());
  ASSERT_TRUE(session.ok()) << session.status();
  const absl::Duration took = Steps(*session, false);
  std::printf("100 steps, read at the end: %s\n", absl::FormatDuration(took).c_str());
  EXPECT_LT(took, 20 * 2 * kDelay);
}

}  // namespace
}  // namespace kiln::wire
