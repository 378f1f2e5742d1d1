#include "core/runtime/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "backends/cpu/cpu.h"
#include "tests/support/status_matchers.h"
#include "tests/unit/runtime/engine_testing.h"
#include "tests/unit/runtime/temp_folder.h"

namespace kiln::runtime {
namespace {

using support::IsOkAndHolds;
using support::StatusIs;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

class EngineTest : public testing::Test {
 protected:
  EngineTest() { KILN_EXPECT_OK(cpu::RegisterCpuBackend(registry_, {.num_devices = 3})); }

  std::unique_ptr<Engine> Create(EngineOptions options = {}) {
    auto engine = Engine::Create(registry_, std::move(options));
    EXPECT_TRUE(engine.ok()) << engine.status();
    return *std::move(engine);
  }
  std::shared_ptr<Buffer> Floats(const std::vector<float>& values,
                                 std::string_view device = "cpu:0") {
    return Upload(*engine_, values, device);
  }
  // The first output of one run.
  absl::StatusOr<std::vector<float>> Run(const TensorGraph& graph, std::vector<Binding> inputs,
                                         const VarVals& variables = {}) {
    KILN_ASSIGN_OR_RETURN(const RunResult result,
                          engine_->Run(graph, {.inputs = inputs, .variables = variables}));
    return Read<float>(*engine_, result.outputs.at(0));
  }

  Registry registry_;
  std::unique_ptr<Engine> engine_ = Create();
};

TEST_F(EngineTest, ComputesAGraph) {
  EXPECT_THAT(Run(AddGraph(10), {{0, Floats({1, 2, 3, 4})}}),
              IsOkAndHolds(ElementsAre(11, 12, 13, 14)));
}

TEST_F(EngineTest, OutputsHaveShapesAndDTypes) {
  GraphBuilder b;
  const auto x = b.Input(0, kF32, {2, 3});
  const TensorGraph graph =
      Finish(std::move(b), {b.Reduce(Op::kAdd, x, {1}), b.Cast(x, DType::kInt32), x});
  const std::vector<Binding> inputs = {{0, Floats({1, 2, 3, 4, 5, 6})}};
  KILN_ASSERT_OK_AND_ASSIGN(const RunResult result,
                            engine_->Run(graph, {.inputs = inputs, .variables = {}}));
  EXPECT_THAT(result.outputs[0].dims, ElementsAre(2, 1));
  EXPECT_THAT(result.outputs[1].dims, ElementsAre(2, 3));
  EXPECT_EQ(result.outputs[1].dtype, DType::kInt32);
  EXPECT_THAT(Read<float>(*engine_, result.outputs[0]), IsOkAndHolds(ElementsAre(6, 15)));
  EXPECT_THAT(Read<int32_t>(*engine_, result.outputs[1]),
              IsOkAndHolds(ElementsAre(1, 2, 3, 4, 5, 6)));
  EXPECT_THAT(Read<float>(*engine_, result.outputs[2]),
              IsOkAndHolds(ElementsAre(1, 2, 3, 4, 5, 6)));
}

TEST_F(EngineTest, AGraphSeenBeforeCompilesNothing) {
  EXPECT_TRUE(Run(AddGraph(10), {{0, Floats({1, 2, 3, 4})}}).ok());
  const Engine::Counters before = engine_->counters();
  EXPECT_THAT(Run(AddGraph(10), {{0, Floats({5, 6, 7, 8})}}),
              IsOkAndHolds(ElementsAre(15, 16, 17, 18)));
  const Engine::Counters after = engine_->counters();
  EXPECT_EQ(after.plans_built, before.plans_built);
  EXPECT_EQ(after.kernels.lowered, before.kernels.lowered);
  EXPECT_TRUE(Run(AddGraph(11), {{0, Floats({5, 6, 7, 8})}}).ok());
  EXPECT_EQ(engine_->counters().plans_built, before.plans_built + 1);
}

TEST_F(EngineTest, EqualKernelsAreCompiledOnce) {
  EXPECT_THAT(Run(ChainGraph(5), {{0, Floats({1, 2, 3, 4})}}),
              IsOkAndHolds(ElementsAre(6, 7, 8, 9)));
  EXPECT_EQ(engine_->counters().kernels.compiled, 1);
}

TEST_F(EngineTest, OtherValuesOfVariablesCompileNothing) {
  const std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  EXPECT_THAT(Run(SymbolicGraph(), {{0, Floats(x)}}, {{"i", 2}}), IsOkAndHolds(ElementsAre(2, 4)));
  const Engine::Counters before = engine_->counters();
  EXPECT_THAT(Run(SymbolicGraph(), {{0, Floats(x)}}, {{"i", 3}}),
              IsOkAndHolds(ElementsAre(2, 4, 6)));
  EXPECT_THAT(Run(SymbolicGraph(), {{0, Floats(x)}}, {{"i", 1}}), IsOkAndHolds(ElementsAre(2)));
  EXPECT_EQ(engine_->counters().kernels.lowered, before.kernels.lowered);
}

TEST_F(EngineTest, MissingAndOutOfRangeVariablesAreNamed) {
  const auto x = Floats(std::vector<float>(16, 1));
  EXPECT_THAT(Run(SymbolicGraph(), {{0, x}}),
              StatusIs(kInvalid, AllOf(HasSubstr("\"i\""), HasSubstr("no value"))));
  EXPECT_THAT(Run(SymbolicGraph(), {{0, x}}, {{"i", 17}}),
              StatusIs(kInvalid, HasSubstr("\"i\" is 17, not in [1, 16]")));
}

TEST_F(EngineTest, ConditionsOnShapesAreChecked) {
  GraphBuilder b;
  const auto i = b.Variable("i", 1, 16), j = b.Variable("j", 1, 16);
  const auto x = b.Input(0, kF32, {16});
  const auto sum = b.Alu(Op::kAdd, {b.Reshape(b.Shrink(x, {0, i}), {j}), b.Shrink(x, {0, j})});
  const TensorGraph graph = Finish(std::move(b), {sum});
  ASSERT_FALSE(graph.conditions.empty());
  const auto buffer = Floats(std::vector<float>(16, 1));
  EXPECT_THAT(Run(graph, {{0, buffer}}, {{"i", 2}, {"j", 2}}), IsOkAndHolds(ElementsAre(2, 2)));
  EXPECT_THAT(Run(graph, {{0, buffer}}, {{"i", 2}, {"j", 3}}),
              StatusIs(kInvalid, AllOf(HasSubstr("i = 2"), HasSubstr("j = 3"))));
}

TEST_F(EngineTest, InputsThatDontFitAreNamed) {
  const TensorGraph graph = AddGraph(1);
  EXPECT_THAT(Run(graph, {}), StatusIs(kInvalid, HasSubstr("input 0")));
  EXPECT_THAT(Run(graph, {{0, nullptr}}), StatusIs(kInvalid, HasSubstr("input 0")));
  EXPECT_THAT(Run(graph, {{0, Floats({1, 2, 3})}}),
              StatusIs(kInvalid, HasSubstr("has 12 bytes, the graph needs 16")));
  EXPECT_THAT(Run(graph, {{0, Floats({1, 2, 3, 4}), 64}}), StatusIs(kInvalid));
  EXPECT_THAT(Run(graph, {{.slot = 0, .buffer = Floats({1, 2, 3, 4}), .bytes = 12}}),
              StatusIs(kInvalid, HasSubstr("has 12 bytes, the graph needs 16")));
  EXPECT_THAT(Run(graph, {{0, Floats(std::vector<float>(40)), 4}}),
              StatusIs(kInvalid, HasSubstr("multiple of 64")));
  EXPECT_THAT(Run(graph, {{0, Floats({1, 2, 3, 4}, "cpu:1")}}),
              StatusIs(kInvalid, AllOf(HasSubstr("cpu:1"), HasSubstr("cpu:0"))));
}

TEST_F(EngineTest, InputsMayBePartsOfBuffers) {
  std::vector<float> values(32, 0);
  values[16] = 5;
  EXPECT_THAT(Run(AddGraph(1), {{0, Floats(values), 64}}), IsOkAndHolds(ElementsAre(6, 1, 1, 1)));
}

TEST_F(EngineTest, AssignedInputsAreWrittenInPlace) {
  const auto x = Floats({1, 2, 3, 4}), y = Floats({10, 10, 10, 10});
  const TensorGraph graph = AccumulateGraph();
  EXPECT_THAT(Run(graph, {{0, x}, {1, y}}), IsOkAndHolds(ElementsAre(11, 12, 13, 14)));
  EXPECT_THAT(Run(graph, {{0, x}, {1, y}}), IsOkAndHolds(ElementsAre(21, 22, 23, 24)));
  EXPECT_THAT(Read<float>(*engine_, *x), IsOkAndHolds(ElementsAre(21, 22, 23, 24)));
}

TEST_F(EngineTest, WhatIsWrittenIsBoundToNothingElse) {
  const auto x = Floats({1, 2, 3, 4});
  EXPECT_THAT(Run(AccumulateGraph(), {{0, x}, {1, x}}),
              StatusIs(kInvalid, AllOf(HasSubstr("input 0"), HasSubstr("input 1"))));
  const std::vector<Binding> inputs = {{0, x}};
  EXPECT_THAT(engine_->Run(AddGraph(1), {.inputs = inputs, .variables = {}, .outputs = inputs}),
              StatusIs(kInvalid, HasSubstr("output 0")));
}

TEST_F(EngineTest, OutputsGoWhereTheCallerWants) {
  const auto x = Floats({1, 2, 3, 4}), to = Floats(std::vector<float>(32, 0));
  const std::vector<Binding> inputs = {{0, x}}, outputs = {{0, to, 64}};
  KILN_ASSERT_OK_AND_ASSIGN(
      const RunResult result,
      engine_->Run(AddGraph(1), {.inputs = inputs, .variables = {}, .outputs = outputs}));
  EXPECT_EQ(result.outputs[0].buffer, to);
  EXPECT_THAT(Read<float>(*engine_, result.outputs[0]), IsOkAndHolds(ElementsAre(2, 3, 4, 5)));
  EXPECT_EQ((*Read<float>(*engine_, *to))[16], 2);
}

TEST_F(EngineTest, RunsFollowEachOtherWithoutWaiting) {
  const auto x = Floats({0, 0, 0, 0}), one = Floats({1, 1, 1, 1});
  const TensorGraph accumulate = AccumulateGraph(), chain = ChainGraph(7);
  const std::vector<Binding> inputs = {{0, x}, {1, one}};
  std::vector<RunResult> results;
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(engine_->Run(accumulate, {.inputs = inputs, .variables = {}}).ok());
    KILN_ASSERT_OK_AND_ASSIGN(results.emplace_back(),
                              engine_->Run(chain, {.inputs = inputs, .variables = {}}));
  }
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ((*Read<float>(*engine_, results[i].outputs[0]))[3], static_cast<float>(i + 8));
  }
}

TEST_F(EngineTest, ManyThreadsRunAtOnce) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      const TensorGraph graph = ChainGraph(3 + t % 3);
      for (int i = 0; i < 20; ++i) {
        const auto v = static_cast<float>(i * 100 + t);
        EXPECT_THAT(Run(graph, {{0, Floats({v, v, v, v})}}),
                    IsOkAndHolds(testing::Each(v + static_cast<float>(3 + t % 3))));
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(engine_->counters().plans_built, 3);
}

// Each on a stream of its own, some of them on their own thread, on all cores.
TEST_F(EngineTest, ManyStreamsGetTheirResults) {
  constexpr int64_t kElems = 1 << 14;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const auto stream = engine_->NewStream();
      const auto v = static_cast<float>(100 * t);
      const std::vector<Binding> inputs = {{0, Floats(std::vector<float>(kElems, v))}};
      const auto runner = *engine_->Prepare(ChainGraph(3, kElems));
      for (int i = 0; i < 50; ++i) {
        const auto result = runner->Run({.inputs = inputs,
                                         .variables = {},
                                         .stream = stream.get(),
                                         .run_here_if_idle = (i + t) % 3 != 0});
        KILN_ASSERT_OK(result);
        KILN_ASSERT_OK_AND_ASSIGN(const CopyOutResult out,
                                  engine_->CopyOut(*stream, result->outputs[0].buffer, 0,
                                                   kElems * 4, {.run_here_if_idle = i % 2 == 0}));
        KILN_ASSERT_OK(Await(out.done));
        const auto* got = reinterpret_cast<const float*>(out.data().data());
        EXPECT_TRUE(std::all_of(got, got + kElems, [v](float x) { return x == v + 3; }));
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(engine_->counters().plans_built, 1);
}

TEST_F(EngineTest, DevicesExchangeCopies) {
  GraphBuilder b;
  auto x = b.Input(0, kF32, {4});
  for (int i = 0; i < 20; ++i) {
    x = b.Contiguous(b.Alu(Op::kAdd, {x, Full(b, 1, 4)}));
    x = b.Copy(x, absl::StrCat("cpu:", (i + 1) % 3));
  }
  const TensorGraph graph = Finish(std::move(b), {x});
  for (int i = 0; i < 30; ++i) {
    const auto v = static_cast<float>(i);
    EXPECT_THAT(Run(graph, {{0, Floats({v, 0, 0, 0})}}),
                IsOkAndHolds(ElementsAre(v + 20, 20, 20, 20)));
  }
}

TEST_F(EngineTest, TemporariesShareMemory) {
  constexpr int64_t kElems = 1 << 16;
  const std::vector<Binding> inputs = {{0, Floats(std::vector<float>(kElems, 1))}};
  KILN_ASSERT_OK_AND_ASSIGN(
      const RunResult result,
      engine_->Run(ChainGraph(20, kElems), {.inputs = inputs, .variables = {}}));
  // Two temporaries that take turns, and the output.
  EXPECT_LE(result.peak_bytes, 3 * kElems * 4);
  EXPECT_GE(result.peak_bytes, 2 * kElems * 4);
  EXPECT_EQ((*Read<float>(*engine_, result.outputs[0]))[kElems - 1], 21);
}

TEST_F(EngineTest, BuffersOutliveTheEngine) {
  const std::vector<Binding> inputs = {{0, Floats({1, 2, 3, 4})}};
  KILN_ASSERT_OK_AND_ASSIGN(const RunResult result,
                            engine_->Run(ChainGraph(5), {.inputs = inputs, .variables = {}}));
  engine_ = nullptr;
  EXPECT_TRUE(result.Await().ok());
}

TEST_F(EngineTest, UnknownDevicesAreNamed) {
  GraphBuilder b;
  const auto x = b.Copy(b.Input(0, kF32, {4}), "gpu:3");
  const TensorGraph graph = Finish(std::move(b), {x});
  EXPECT_THAT(Run(graph, {{0, Floats({1, 2, 3, 4})}}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("gpu:3")));
}

// ** the cache on disk **

TEST_F(EngineTest, KernelsOnDiskAreNotCompiledAgain) {
  const TempFolder folder;
  for (int i = 0; i < 2; ++i) {
    engine_ = Create({.cache_folder = folder.path() + "/cache"});
    KILN_EXPECT_OK(engine_->cache_status());
    EXPECT_THAT(Run(AddGraph(10), {{0, Floats({1, 2, 3, 4})}}),
                IsOkAndHolds(ElementsAre(11, 12, 13, 14)));
    EXPECT_EQ(engine_->counters().kernels.compiled, i == 0 ? 1 : 0);
    EXPECT_EQ(engine_->counters().store.hits, i);
  }
}

TEST_F(EngineTest, DamagedFilesAreReplaced) {
  const TempFolder folder;
  const std::string cache = folder.path() + "/cache";
  for (int i = 0; i < 3; ++i) {
    engine_ = Create({.cache_folder = cache});
    EXPECT_THAT(Run(AddGraph(10), {{0, Floats({1, 2, 3, 4})}}),
                IsOkAndHolds(ElementsAre(11, 12, 13, 14)));
    EXPECT_EQ(engine_->counters().kernels.compiled, i < 2 ? 1 : 0) << i;
    if (i > 0) continue;
    for (const auto& file : std::filesystem::directory_iterator(cache)) {
      std::filesystem::resize_file(file.path(), std::filesystem::file_size(file.path()) / 2);
    }
  }
}

TEST_F(EngineTest, WorksWithoutAFolder) {
  const TempFolder folder;
  std::ofstream(folder.path() + "/file") << "x";
  engine_ = Create({.cache_folder = folder.path() + "/file/cache"});
  EXPECT_FALSE(engine_->cache_status().ok());
  EXPECT_THAT(Run(AddGraph(10), {{0, Floats({1, 2, 3, 4})}}),
              IsOkAndHolds(ElementsAre(11, 12, 13, 14)));
}

}  // namespace
}  // namespace kiln::runtime
