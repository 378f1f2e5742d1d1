// What runs when, and what fails with what: on devices whose kernels do what the test says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "core/runtime/engine.h"
#include "core/runtime/host_timeline.h"
#include "tests/support/status_matchers.h"
#include "tests/unit/runtime/engine_testing.h"
#include "tests/unit/runtime/fake_device.h"
#include "tests/unit/runtime/temp_folder.h"

namespace kiln::runtime {
namespace {

using support::StatusIs;
using testing::HasSubstr;

class EngineOrderTest : public testing::Test {
 protected:
  EngineOrderTest() {
    RegisterFakeBackend(registry_, 2);
    engine_ = *Engine::Create(registry_, {.default_device = "fake:0"});
  }
  FakeDevice& device(const char* name = "fake:0") {
    return static_cast<FakeDevice&>(**registry_.Get(name));
  }
  std::shared_ptr<Buffer> Floats(const std::vector<float>& values) {
    return Upload(*engine_, values, "fake:0");
  }
  absl::StatusOr<RunResult> Run(const TensorGraph& graph, std::vector<Binding> inputs) {
    return engine_->Run(graph, {.inputs = inputs, .variables = {}});
  }
  static absl::Status Broken(const Executable&, absl::Span<const BufferSlice>) {
    return absl::InternalError("broken");
  }

  Registry registry_;
  std::unique_ptr<Engine> engine_;
};

TEST_F(EngineOrderTest, RunsDontWaitAndReadsWaitForWhatTheyNeedOnly) {
  HostTimeline gate;
  device().SetOnRun([&](const Executable&, absl::Span<const BufferSlice>) { return gate.Wait(1); });
  const auto x = Floats({1, 2, 3, 4}), other = Floats({5, 6, 7, 8});
  KILN_ASSERT_OK_AND_ASSIGN(const RunResult result, Run(AddGraph(1), {{0, x}}));
  // The kernel has not run; an unrelated buffer, and one that is only read, can be read.
  EXPECT_TRUE(Read<float>(*engine_, *other).ok());
  EXPECT_TRUE(Read<float>(*engine_, *x).ok());
  EXPECT_FALSE(result.done[0].point.passed());
  gate.Signal(1);
  EXPECT_TRUE(Read<float>(*engine_, result.outputs[0]).ok());
  EXPECT_TRUE(result.done[0].point.passed());
}

TEST_F(EngineOrderTest, OverwritingWaitsForReaders) {
  HostTimeline gate;
  float seen = 0;
  device().SetOnRun([&](const Executable&, absl::Span<const BufferSlice> buffers) {
    const absl::Status status = gate.Wait(1);
    std::memcpy(&seen, buffers[1].host(), sizeof(seen));
    return status;
  });
  const auto x = Floats({1, 2, 3, 4});
  KILN_ASSERT_OK_AND_ASSIGN(const RunResult result, Run(AddGraph(1), {{0, x}}));
  std::thread later([&] {
    absl::SleepFor(absl::Milliseconds(1));
    gate.Signal(1);
  });
  const std::vector<std::byte> zeros(16);
  KILN_EXPECT_OK(engine_->Write(*x, 0, zeros));
  KILN_EXPECT_OK(result.Await());
  EXPECT_EQ(seen, 1);
  later.join();
}

TEST_F(EngineOrderTest, AFailureNamesTheKernelAndPoisonsWhatItWrites) {
  const auto x = Floats({1, 2, 3, 4});
  device().SetOnRun(Broken);
  KILN_ASSERT_OK_AND_ASSIGN(const RunResult failed, Run(AddGraph(1), {{0, x}}));
  EXPECT_THAT(failed.Await(), StatusIs(absl::StatusCode::kInternal, HasSubstr("kernel \"")));
  EXPECT_THAT(Read<float>(*engine_, failed.outputs[0]), StatusIs(absl::StatusCode::kInternal));
  device().SetOnRun(nullptr);
  // What reads it fails with the first error; the rest goes on.
  KILN_ASSERT_OK_AND_ASSIGN(const RunResult poisoned,
                            Run(AddGraph(2), {{0, failed.outputs[0].buffer}}));
  EXPECT_THAT(poisoned.Await(), StatusIs(absl::StatusCode::kInternal, HasSubstr("broken")));
  KILN_ASSERT_OK_AND_ASSIGN(const RunResult fine, Run(AddGraph(2), {{0, x}}));
  KILN_EXPECT_OK(fine.Await());
  // Overwriting heals.
  const std::vector<std::byte> zeros(16);
  KILN_EXPECT_OK(engine_->Write(*failed.outputs[0].buffer, 0, zeros));
  KILN_ASSERT_OK_AND_ASSIGN(const RunResult healed,
                            Run(AddGraph(2), {{0, failed.outputs[0].buffer}}));
  KILN_EXPECT_OK(healed.Await());
}

TEST_F(EngineOrderTest, AFailurePoisonsOtherDevices) {
  GraphBuilder b;
  const auto x = b.Contiguous(b.Alu(Op::kAdd, {b.Input(0, kF32, {4}), Full(b, 1, 4)}));
  const auto y = b.Alu(Op::kAdd, {b.Copy(x, "fake:1"), Full(b, 1, 4)});
  const TensorGraph graph = Finish(std::move(b), {y});
  device().SetOnRun(Broken);
  KILN_ASSERT_OK_AND_ASSIGN(const RunResult result, Run(graph, {{0, Floats({1, 2, 3, 4})}}));
  EXPECT_THAT(Read<float>(*engine_, result.outputs[0]), StatusIs(absl::StatusCode::kInternal));
  EXPECT_EQ(device("fake:1").num_runs(), 0);
}

TEST_F(EngineOrderTest, AKernelThatDoesNotCompileIsNamed) {
  device().fail_to_compile = "e_4";
  const auto failed = Run(AddGraph(1), {{0, Floats({1, 2, 3, 4})}});
  EXPECT_THAT(failed.status(), StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("kernel \"")));
  device().fail_to_compile = "";
  EXPECT_TRUE(Run(AddGraph(1), {{0, Floats({1, 2, 3, 4})}}).ok());  // Not remembered.
}

TEST_F(EngineOrderTest, SixtyFourThreadsCompileAColdKernelOnce) {
  std::atomic<int> waiting = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 64; ++t) {
    threads.emplace_back([&, t] {
      // Half of them come with the same graph, half with one of their own that has the same kernel.
      const TensorGraph graph = ChainGraph(t % 2 == 0 ? 1 : 2 + t);
      const auto x = Floats({1, 2, 3, 4});
      ++waiting;
      while (waiting < 64) std::this_thread::yield();
      const auto result = Run(graph, {{0, x}});
      ASSERT_TRUE(result.ok()) << result.status();
      KILN_EXPECT_OK(result->Await());
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(device().num_compiled, 1);
  EXPECT_EQ(device().num_loaded, 1);
}

TEST_F(EngineOrderTest, AStoredObjectThatTheDeviceRefusesIsReplaced) {
  const TempFolder folder;
  const auto run = [&] {
    engine_ = *Engine::Create(
        registry_, {.default_device = "fake:0", .cache_folder = folder.path() + "/cache"});
    return Run(AddGraph(1), {{0, Floats({1, 2, 3, 4})}}).ok();
  };
  device().object_suffix = "of another version";
  EXPECT_TRUE(run());
  EXPECT_EQ(device().num_compiled, 1);
  device().object_suffix = "";
  EXPECT_TRUE(run());
  EXPECT_EQ(device().num_compiled, 2);
  EXPECT_TRUE(run());
  EXPECT_EQ(device().num_compiled, 2);
}

TEST_F(EngineOrderTest, PlansAndKernelsAreBounded) {
  engine_ =
      *Engine::Create(registry_, {.default_device = "fake:0", .max_plans = 2, .max_kernels = 2});
  const auto x = Floats(std::vector<float>(64, 1));
  for (int round = 0; round < 2; ++round) {
    for (int64_t n = 1; n <= 4; ++n) EXPECT_TRUE(Run(AddGraph(1, n), {{0, x}}).ok());
  }
  EXPECT_EQ(device().num_compiled, 8);
  EXPECT_TRUE(Run(AddGraph(1, 4), {{0, x}}).ok());
  EXPECT_EQ(device().num_compiled, 8);
}

TEST_F(EngineOrderTest, KernelsAreLoadedOnEachDeviceAndCompiledOnce) {
  GraphBuilder b;
  const auto add = [&](const tensor::Source& x) {
    return b.Contiguous(b.Alu(Op::kAdd, {x, Full(b, 1, 4)}));
  };
  const auto x = add(b.Copy(add(b.Input(0, kF32, {4})), "fake:1"));
  const TensorGraph graph = Finish(std::move(b), {x});
  KILN_ASSERT_OK_AND_ASSIGN(const RunResult result, Run(graph, {{0, Floats({1, 2, 3, 4})}}));
  KILN_EXPECT_OK(result.Await());
  EXPECT_EQ(device("fake:0").num_compiled + device("fake:1").num_compiled, 1);
  EXPECT_EQ(device("fake:0").num_runs(), 1);
  EXPECT_EQ(device("fake:1").num_runs(), 1);
}

}  // namespace
}  // namespace kiln::runtime
