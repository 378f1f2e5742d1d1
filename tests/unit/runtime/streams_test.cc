// Streams share a device: who goes first, and who waits for whom.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "tests/unit/runtime/streams_testing.h"

namespace kiln::runtime {
namespace {

using support::StatusIs;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr auto kCancelled = absl::StatusCode::kCancelled;

int NumThreads() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("Threads:", 0) == 0) return std::stoi(line.substr(8));
  }
  return -1;
}

// ** turns **

TEST_F(StreamsTest, ALongGraphLetsOthersPassAfterOneKernel) {
  const auto x = Floats({1, 2, 3, 4});
  HostTimeline gate;
  HoldKernels(gate);
  const auto a = engine_->NewStream(), b = engine_->NewStream();
  const RunResult lengthy = Run(*a, ChainGraph(20), x);
  AwaitKernel(1);
  const RunResult tiny = Run(*b, AddGraph(1), x);
  gate.Signal(2);
  KILN_EXPECT_OK(tiny.Await());
  EXPECT_FALSE(lengthy.done[0].point.passed());
  EXPECT_THAT(log_->streams(), ElementsAre(a->id(), b->id()));
  gate.Signal(100);
  KILN_EXPECT_OK(lengthy.Await());
}

// Kernels take as long as the test says.
class TurnsTest : public StreamsTest {
 protected:
  static constexpr int64_t kKernelNs = 100'000;  // Of a kernel on 4 elements.

  TurnsTest() {
    FakeDevice::fake_time_ns = 0;
    device().SetOnRun([this](const Executable&, absl::Span<const BufferSlice> buffers) {
      begun_.Signal(round_);
      const absl::Status status = gate_.Wait(round_);
      FakeDevice::fake_time_ns += kKernelNs * buffers[0].bytes / 16;
      return status;
    });
  }
  ~TurnsTest() override { FakeDevice::fake_time_ns = -1; }

  // Calls `submit`, runs nothing before all of it is there, and then everything. Whose kernels ran.
  std::vector<uint64_t> InTurns(absl::FunctionRef<void()> submit) {
    const auto first = engine_->NewStream();
    const uint64_t round = ++round_;
    Run(*first, AddGraph(1), x_);
    AwaitKernel(round);
    const size_t before = log_->streams().size() + 1;
    submit();
    gate_.Signal(round);
    for (const auto& stream : {a_, b_}) KILN_EXPECT_OK(stream->AwaitIdle());
    std::vector<uint64_t> streams = log_->streams();
    streams.erase(streams.begin(), streams.begin() + static_cast<std::ptrdiff_t>(before));
    return streams;
  }
  static void ExpectAlternating(const std::vector<uint64_t>& streams) {
    for (size_t i = 0; i + 1 < streams.size(); i += 2) EXPECT_NE(streams[i], streams[i + 1]) << i;
  }

  HostTimeline gate_;
  std::atomic<uint64_t> round_ = 0;
  const std::shared_ptr<Buffer> x_ = Floats({1, 2, 3, 4});
  const std::shared_ptr<Buffer> y_ = Floats(std::vector<float>(64, 1));
  const std::shared_ptr<Stream> a_ = engine_->NewStream(), b_ = engine_->NewStream();
};

TEST_F(TurnsTest, EqualStreamsProgressAlike) {
  const std::vector<uint64_t> streams = InTurns([&] {
    Run(*a_, ChainGraph(50), x_);
    Run(*b_, ChainGraph(50), x_);
  });
  EXPECT_EQ(streams.size(), 100);
  ExpectAlternating(streams);
  EXPECT_EQ(a_->device_time_ns(), 50 * kKernelNs);
  EXPECT_EQ(b_->device_time_ns(), 50 * kKernelNs);
}

TEST_F(TurnsTest, IdlingEarnsNoCreditAndUsingAnIdleDeviceCostsNone) {
  KILN_EXPECT_OK(Run(*b_, ChainGraph(100), x_).Await());
  ExpectAlternating(InTurns([&] {
    Run(*a_, ChainGraph(30), x_);
    Run(*b_, ChainGraph(30), x_);
  }));
}

TEST_F(TurnsTest, ALongKernelThatOthersWaitedForIsRemembered) {
  const std::vector<uint64_t> streams = InTurns([&] {
    for (int i = 0; i < 2; ++i) Run(*a_, AddGraph(1, 64), y_);  // As long as 16 others.
    Run(*b_, ChainGraph(40), x_);
  });
  const auto first = std::find(streams.begin(), streams.end(), a_->id());
  const auto second = std::find(first + 1, streams.end(), a_->id());
  EXPECT_GE(second - first, 15);
  EXPECT_LE(second - first, 18);
}

TEST_F(StreamsTest, WhatWaitsHoldsUpNobodyElse) {
  const auto x = Floats({1, 2, 3, 4}), y = Floats({1, 2, 3, 4});
  const auto a = engine_->NewStream(), b = engine_->NewStream();
  KILN_ASSERT_OK_AND_ASSIGN(HostWrite upload, engine_->BeginHostWrite(x, 0, 16));
  const RunResult waiting = Run(*a, AddGraph(1), x), behind = Run(*a, AddGraph(1), y);
  for (int i = 0; i < 10; ++i) KILN_EXPECT_OK(Run(*b, AddGraph(1), y).Await());
  EXPECT_FALSE(waiting.done[0].point.passed());
  EXPECT_FALSE(behind.done[0].point.passed());  // The order of a stream is kept.
  upload.End(absl::OkStatus());
  KILN_EXPECT_OK(behind.Await());
  EXPECT_TRUE(waiting.done[0].point.passed());
}

TEST_F(StreamsTest, AWaitWithinAListHoldsUpNobodyElse) {
  const auto kernel = FakeDevice::Kernel("k", 0, 1);
  const auto mine = device().OpenQueue({}), other = device().OpenQueue({});
  HostTimeline gate;
  auto list = std::make_shared<CommandList>(), tiny = std::make_shared<CommandList>();
  list->Exec(*kernel, {}, {1});
  list->Wait({&gate, 1});
  list->Exec(*kernel, {}, {2});
  tiny->Exec(*kernel, {}, {3});
  const Point done = mine->Submit({}, list, nullptr);
  KILN_EXPECT_OK(Await({other->Submit({}, tiny, nullptr), nullptr}));
  EXPECT_FALSE(done.passed());
  gate.Signal(1);
  KILN_EXPECT_OK(Await({done, nullptr}));
  EXPECT_EQ(device().num_runs(), 3);
}

TEST_F(StreamsTest, BuffersOrderWorkOfSeveralStreams) {
  const auto x = Floats({1, 2, 3, 4});
  const auto a = engine_->NewStream(), b = engine_->NewStream();
  HostTimeline gate;
  HoldKernels(gate);
  const RunResult made = Run(*a, AddGraph(1), x);
  const RunResult used = Run(*b, AddGraph(2), made.outputs[0].buffer);
  AwaitKernel(1);
  EXPECT_EQ(device().num_runs(), 1);
  gate.Signal(2);
  KILN_EXPECT_OK(used.Await());
  EXPECT_THAT(log_->streams(), ElementsAre(a->id(), b->id()));
}

// ** cancelling **

TEST_F(StreamsTest, CancellingStopsAListAtTheNextKernelAndEndsWhatIsQueued) {
  const auto x = Floats({1, 2, 3, 4});
  HostTimeline gate;
  HoldKernels(gate);
  const auto stream = engine_->NewStream();
  const RunResult running = Run(*stream, ChainGraph(20), x);
  const RunResult queued = Run(*stream, AddGraph(1), x);
  AwaitKernel(1);
  stream->Cancel(absl::CancelledError("enough"));
  gate.Signal(100);
  EXPECT_THAT(running.Await(), StatusIs(kCancelled, HasSubstr("enough")));
  EXPECT_THAT(queued.Await(), StatusIs(kCancelled));
  EXPECT_EQ(device().num_runs(), 1);
  EXPECT_THAT(Read<float>(*engine_, queued.outputs[0]), StatusIs(kCancelled));
  // It goes on with new work.
  KILN_EXPECT_OK(Run(*stream, AddGraph(1), x).Await());
  EXPECT_EQ(device().num_runs(), 2);
}

TEST_F(StreamsTest, WhatWaitsIsCancelledAtOnce) {
  const auto x = Floats({1, 2, 3, 4});
  const auto a = engine_->NewStream();
  KILN_ASSERT_OK_AND_ASSIGN(HostWrite upload, engine_->BeginHostWrite(x, 0, 16));
  const RunResult one = Run(*a, AddGraph(1), x), two = Run(*a, ChainGraph(3), x);
  EXPECT_EQ(a->load().jobs, 2);
  EXPECT_EQ(a->load().commands, 4);
  a->Cancel(absl::CancelledError("enough"));
  EXPECT_TRUE(one.done[0].point.passed());
  EXPECT_THAT(two.Await(), StatusIs(kCancelled));
  EXPECT_TRUE(a->idle());
  EXPECT_EQ(a->load().commands, 0);
  upload.End(absl::OkStatus());
  KILN_EXPECT_OK(Run(*a, AddGraph(1), x).Await());
  EXPECT_EQ(device().num_runs(), 1);
}

TEST_F(StreamsTest, WhatIsReadyButHasNotBegunIsCancelledAtOnce) {
  const auto x = Floats({1, 2, 3, 4});
  HostTimeline gate;
  HoldKernels(gate);
  const auto busy = engine_->NewStream(), other = engine_->NewStream();
  const RunResult running = Run(*busy, AddGraph(1), x);
  AwaitKernel(1);
  const RunResult ready = Run(*other, AddGraph(1), x);
  other->Cancel(absl::CancelledError("enough"));
  EXPECT_TRUE(ready.done[0].point.passed());
  EXPECT_FALSE(running.done[0].point.passed());
  gate.Signal(1);
  KILN_EXPECT_OK(running.Await());
  EXPECT_EQ(device().num_runs(), 1);
}

TEST_F(StreamsTest, ACancelledWriteDoesNotLetTheNextPassTheReadersBefore) {
  const auto x = Floats({1, 2, 3, 4});
  HostTimeline gate;
  HoldKernels(gate);
  const auto reader = engine_->NewStream(), a = engine_->NewStream(), b = engine_->NewStream();
  const RunResult reading = Run(*reader, AddGraph(1), x);
  AwaitKernel(1);
  KILN_ASSERT_OK_AND_ASSIGN(const Dependency cancelled, CopyIn(*a, x, {5, 5, 5, 5}));
  a->Cancel(absl::CancelledError("enough"));
  EXPECT_THAT(Await(cancelled), StatusIs(kCancelled));
  KILN_ASSERT_OK_AND_ASSIGN(const Dependency next, CopyIn(*b, x, {6, 6, 6, 6}));
  EXPECT_FALSE(next.point.passed());
  EXPECT_EQ(b->load().jobs, 1);
  gate.Signal(1);
  KILN_EXPECT_OK(Await(next));
  EXPECT_THAT(Read<float>(*engine_, *x), support::IsOkAndHolds(ElementsAre(6, 6, 6, 6)));
}

TEST_F(StreamsTest, CancellingWhileOthersSubmitLosesNothing) {
  const auto x = Floats({1, 2, 3, 4});
  const auto stream = engine_->NewStream();
  std::atomic<bool> over = false;
  std::thread canceller([&] {
    while (!over) stream->Cancel(absl::CancelledError("enough"));
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) {
        const absl::Status status = Run(*stream, ChainGraph(1 + t), x, i % 2 == 0).Await();
        EXPECT_TRUE(status.ok() || status.code() == kCancelled) << status;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  over = true;
  canceller.join();
  KILN_EXPECT_OK(Run(*stream, AddGraph(1), x).Await());
  EXPECT_TRUE(stream->idle());
}

// ** what a stream has **

TEST_F(StreamsTest, LoadTellsWhatIsQueued) {
  const auto x = Floats({1, 2, 3, 4});
  HostTimeline gate;
  HoldKernels(gate);
  const auto stream = engine_->NewStream();
  EXPECT_TRUE(stream->idle());
  Run(*stream, ChainGraph(3), x);
  Run(*stream, AddGraph(1), x);
  EXPECT_EQ(stream->load().jobs, 2);
  EXPECT_EQ(stream->load().commands, 4);
  EXPECT_EQ(stream->load(device()).jobs, 2);
  EXPECT_EQ(stream->load(device("fake:1")).jobs, 0);
  EXPECT_THAT(stream->AwaitIdle(absl::Now() + absl::Milliseconds(2)),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  gate.Signal(100);
  KILN_EXPECT_OK(stream->AwaitIdle());
  EXPECT_TRUE(stream->idle());
  EXPECT_EQ(stream->load().commands, 0);
}

TEST_F(StreamsTest, DeviceTimeIsWhatKernelsTake) {
  const auto x = Floats({1, 2, 3, 4});
  SlowKernels(absl::Milliseconds(1));
  const auto stream = engine_->NewStream();
  KILN_ASSERT_OK_AND_ASSIGN(const auto runner, engine_->Prepare(ChainGraph(3)));
  EXPECT_EQ(runner->last_device_ns(), std::nullopt);
  const RunResult result = Run(*stream, ChainGraph(3), x);
  KILN_EXPECT_OK(result.Await());
  EXPECT_GE(result.device_ns(), 3'000'000);
  EXPECT_EQ(stream->device_time_ns(), result.device_ns());
  EXPECT_EQ(runner->last_device_ns(), result.device_ns());
  EXPECT_LE(log_->device_ns(), result.device_ns());
}

TEST_F(StreamsTest, AnObserverSeesKernelsWhileItIsThere) {
  const auto x = Floats({1, 2, 3, 4});
  const auto stream = engine_->NewStream();
  KILN_EXPECT_OK(Run(*stream, ChainGraph(2), x).Await());
  KILN_ASSERT_OK_AND_ASSIGN(const Dependency copied, CopyIn(*stream, x, {1}));
  KILN_EXPECT_OK(Await(copied));
  ASSERT_EQ(log_->names().size(), 3);
  EXPECT_THAT(log_->names()[0], HasSubstr("e_4"));
  EXPECT_EQ(log_->names()[2], "copy");
  EXPECT_THAT(log_->streams(), Each(stream->id()));
  engine_->SetKernelObserver(nullptr);
  KILN_EXPECT_OK(Run(*stream, ChainGraph(2), x).Await());
  EXPECT_EQ(log_->names().size(), 3);
}

TEST_F(StreamsTest, ArenasBelongToStreams) {
  const auto x = Floats(std::vector<float>(1 << 12, 1));
  const int64_t before = device().memory().used_bytes();
  auto a = engine_->NewStream();
  const auto b = engine_->NewStream();
  EXPECT_EQ(a->arena_bytes(), 0);
  KILN_EXPECT_OK(Run(*a, ChainGraph(4, 1 << 12), x).Await());
  KILN_EXPECT_OK(Run(*b, ChainGraph(4, 1 << 12), x).Await());
  EXPECT_EQ(a->arena_bytes(), 2 * 4 << 12);
  EXPECT_EQ(b->arena_bytes(), 2 * 4 << 12);
  EXPECT_GE(device().memory().used_bytes(), before + 4 * 4 * (1 << 12));
  a = nullptr;
  EXPECT_LE(device().memory().used_bytes(), before + 2 * 4 * (1 << 12) + 4096);
  engine_->DropArenas();
  EXPECT_EQ(b->arena_bytes(), 0);
  EXPECT_EQ(device().memory().used_bytes(), before);
}

TEST_F(StreamsTest, WhatRunsKeepsItsArena) {
  const auto x = Floats({1, 2, 3, 4});
  HostTimeline gate;
  HoldKernels(gate);
  auto stream = engine_->NewStream();
  const RunResult result = Run(*stream, ChainGraph(4), x);
  AwaitKernel(1);
  engine_->DropArenas();  // Not idle: not dropped.
  EXPECT_GT(stream->arena_bytes(), 0);
  stream = nullptr;  // Ends, but what it has begun is done.
  gate.Signal(100);
  KILN_EXPECT_OK(result.Await());
  EXPECT_EQ(device().num_runs(), 4);
}

TEST_F(StreamsTest, ThousandsOfStreamsLeaveNothing) {
  const auto x = Floats({1, 2, 3, 4});
  KILN_EXPECT_OK(Run(*engine_->NewStream(), ChainGraph(3), x).Await());
  const int threads = NumThreads();
  const int64_t bytes = device().memory().used_bytes();
  for (int round = 0; round < 100; ++round) {
    std::vector<std::shared_ptr<Stream>> streams;
    for (int i = 0; i < 20; ++i) {
      streams.push_back(engine_->NewStream());
      Run(*streams.back(), ChainGraph(3), x);
    }
    EXPECT_LE(NumThreads(), threads);
    for (const auto& s : streams) KILN_EXPECT_OK(s->AwaitIdle());
  }
  EXPECT_EQ(NumThreads(), threads);
  EXPECT_EQ(device().memory().used_bytes(), bytes);
  // Some of them may not have been idle yet when they were given back.
  EXPECT_LE(device().num_queues(), 60);
}

}  // namespace
}  // namespace kiln::runtime
