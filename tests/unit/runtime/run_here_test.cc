// Runs on the thread that submits them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "tests/unit/runtime/streams_testing.h"

namespace kiln::runtime {
namespace {

using testing::Each;
using testing::ElementsAre;

class RunHereTest : public StreamsTest {
 protected:
  // Remembers the threads that run kernels, and checks that it is one at a time.
  void WatchThreads() {
    device().SetOnRun([this](const Executable&, absl::Span<const BufferSlice>) {
      EXPECT_EQ(++num_inside_, 1);
      {
        absl::MutexLock lock(&mu_);
        threads_.push_back(std::this_thread::get_id());
      }
      --num_inside_;
      return absl::OkStatus();
    });
  }
  std::vector<std::thread::id> threads() {
    absl::MutexLock lock(&mu_);
    return threads_;
  }

  absl::Mutex mu_;
  std::vector<std::thread::id> threads_ ABSL_GUARDED_BY(mu_);
  std::atomic<int> num_inside_ = 0;
};

TEST_F(RunHereTest, AnIdleDeviceIsUsedByTheCaller) {
  WatchThreads();
  const auto x = Floats({1, 2, 3, 4});
  const auto stream = engine_->NewStream();
  for (int i = 0; i < 3; ++i) {
    const RunResult result = Run(*stream, ChainGraph(2), x, /*here=*/true);
    EXPECT_TRUE(result.done[0].point.passed());
    KILN_EXPECT_OK(result.Await());
  }
  EXPECT_EQ(threads().size(), 6);
  EXPECT_THAT(threads(), Each(std::this_thread::get_id()));
}

TEST_F(RunHereTest, CopiesToo) {
  const auto x = Floats({1, 2, 3, 4});
  const auto stream = engine_->NewStream();
  const CopyOptions here = {.run_here_if_idle = true};
  KILN_ASSERT_OK_AND_ASSIGN(
      const Dependency in,
      engine_->CopyIn(*stream, x, 4, Bytes(std::make_shared<std::vector<float>>(1, 7.f)), here));
  EXPECT_TRUE(in.point.passed());
  KILN_ASSERT_OK_AND_ASSIGN(const CopyOutResult out, engine_->CopyOut(*stream, x, 0, 16, here));
  EXPECT_TRUE(out.done.point.passed());
  EXPECT_EQ(reinterpret_cast<const float*>(out.data().data())[1], 7);
}

TEST_F(RunHereTest, ABusyDeviceIsLeftToItsThread) {
  const auto x = Floats({1, 2, 3, 4});
  HostTimeline gate;
  HoldKernels(gate);
  const auto a = engine_->NewStream(), b = engine_->NewStream();
  Run(*a, ChainGraph(2), x);
  AwaitKernel(1);
  const RunResult result = Run(*b, AddGraph(1), x, /*here=*/true);
  EXPECT_FALSE(result.done[0].point.passed());
  gate.Signal(100);
  KILN_EXPECT_OK(result.Await());
  KILN_EXPECT_OK(a->AwaitIdle());
}

TEST_F(RunHereTest, WhatHasToWaitIsLeftToTheThread) {
  WatchThreads();
  const auto x = Floats({1, 2, 3, 4});
  const auto stream = engine_->NewStream();
  KILN_ASSERT_OK_AND_ASSIGN(HostWrite upload, engine_->BeginHostWrite(x, 0, 16));
  const RunResult result = Run(*stream, AddGraph(1), x, /*here=*/true);
  EXPECT_FALSE(result.done[0].point.passed());
  upload.End(absl::OkStatus());
  KILN_EXPECT_OK(result.Await());
  EXPECT_NE(threads()[0], std::this_thread::get_id());
}

TEST_F(RunHereTest, WhatComesMeanwhileHasItsTurn) {
  const auto x = Floats({1, 2, 3, 4});
  HostTimeline gate;
  HoldKernels(gate);
  const auto a = engine_->NewStream(), b = engine_->NewStream();
  RunResult lengthy;
  std::thread caller([&] { lengthy = Run(*a, ChainGraph(20), x, /*here=*/true); });
  AwaitKernel(1);
  const RunResult tiny = Run(*b, AddGraph(1), x);
  gate.Signal(2);
  KILN_EXPECT_OK(tiny.Await());
  EXPECT_THAT(log_->streams(), ElementsAre(a->id(), b->id()));
  gate.Signal(100);
  caller.join();
  KILN_EXPECT_OK(lengthy.Await());
}

TEST_F(RunHereTest, ItCanBeCancelled) {
  const auto x = Floats({1, 2, 3, 4});
  HostTimeline gate;
  HoldKernels(gate);
  const auto stream = engine_->NewStream();
  RunResult result;
  std::thread caller([&] { result = Run(*stream, ChainGraph(20), x, /*here=*/true); });
  AwaitKernel(1);
  stream->Cancel(absl::CancelledError("enough"));
  gate.Signal(100);
  caller.join();
  EXPECT_THAT(result.Await(), support::StatusIs(absl::StatusCode::kCancelled));
  EXPECT_EQ(device().num_runs(), 1);
}

TEST_F(RunHereTest, CallbacksMaySubmit) {
  const auto x = Floats({1, 2, 3, 4});
  const auto stream = engine_->NewStream();
  KILN_ASSERT_OK_AND_ASSIGN(HostWrite upload, engine_->BeginHostWrite(x, 0, 16));
  const RunResult first = Run(*stream, AddGraph(1), x);
  HostTimeline over;
  WhenPassed(first.done, [&](const absl::Status& status) {
    KILN_EXPECT_OK(status);
    const RunResult second = Run(*stream, AddGraph(2), x, /*here=*/true);
    WhenPassed(second.done, [&](const absl::Status&) { over.Signal(1); });
  });
  upload.End(absl::OkStatus());
  KILN_EXPECT_OK(over.Wait(1));
  KILN_EXPECT_OK(stream->AwaitIdle());
}

TEST_F(RunHereTest, ManyThreadsTakeTurns) {
  WatchThreads();
  const auto x = Floats({1, 2, 3, 4});
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      const auto stream = engine_->NewStream();
      for (int i = 0; i < 100; ++i) {
        const RunResult result = Run(*stream, ChainGraph(1 + i % 3), x, (i + t) % 4 != 0);
        if (i % 2 == 0) {
          KILN_EXPECT_OK(result.Await());
        }
      }
      KILN_EXPECT_OK(stream->AwaitIdle());
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(device().num_runs(), 6 * (34 + 33 * 2 + 33 * 3));
}

}  // namespace
}  // namespace kiln::runtime
