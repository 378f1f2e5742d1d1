// What it costs to lower a kernel, by kind of kernel.

#include <memory>
#include <string>
#include <string_view>

#include "benchmark/benchmark.h"

#include "core/codegen/lower_kernel.h"
#include "core/uop/graph.h"
#include "core/uop/parse.h"

namespace kiln::codegen {
namespace {

const Target kTarget = {.name = "bench",
                        .ops = {Op::kNeg, Op::kRecip, Op::kSqrt, Op::kTrunc, Op::kSub, Op::kFDiv,
                                Op::kMax, Op::kCmpEq, Op::kShl, Op::kShr, Op::kMulAcc},
                        .cores = 2};

// As much as a compile job does for one kernel: a fresh graph each time, but without its making.
void Lower(benchmark::State& state, std::string_view text) {
  int64_t instructions = 0;
  for (auto _ : state) {
    state.PauseTiming();
    auto g = std::make_unique<Graph>();
    const absl::StatusOr<Ref> kernel = uop::Parse(*g, text);
    if (!kernel.ok()) return state.SkipWithError(kernel.status().ToString().c_str());
    state.ResumeTiming();
    const absl::StatusOr<Program> program = LowerKernel(*g, *kernel, kTarget);
    if (!program.ok()) return state.SkipWithError(program.status().ToString().c_str());
    instructions = program->linear->num_src;
    state.PauseTiming();
    g.reset();
    state.ResumeTiming();
  }
  state.counters["instructions"] = static_cast<double>(instructions);
}

constexpr std::string_view kAdd =
    "%i = r0:16777216; sink(store(index(param{\"o\", 0, 16777216, global}:float32, %i), "
    "load(index(param{\"a\", 1, 16777216, global}:float32, %i)) + "
    "load(index(param{\"b\", 2, 16777216, global}:float32, %i)), %i))";
constexpr std::string_view kMatmul =
    "%i = r0:512; %j = r1:512; %k = r2.reduce:512; "
    "sink(store(index(param{\"o\", 0, 262144, global}:float32, %i * 512 + %j), "
    "reduce{add}(load(index(param{\"a\", 1, 262144, global}:float32, %i * 512 + %k)) * "
    "load(index(param{\"b\", 2, 262144, global}:float32, %k * 512 + %j)), %k), %i, %j))";
constexpr std::string_view kConvolution =
    "%n = r0:8; %o = r1:64; %y = r2:32; %x = r3:32; %c = r4.reduce:64; %h = r5.reduce:3; %w = "
    "r6.reduce:3; %iy = %y + %h - 1; %ix = %x + %w - 1; "
    "sink(store(index(param{\"o\", 0, 524288, global}:float32, %n * 65536 + %o * 1024 + %y * 32 + "
    "%x), reduce{add}(load(index(param{\"a\", 1, 524288, global}:float32, %n * 65536 + %c * 1024 + "
    "%iy * 32 + %ix, ((%iy < 0) != true) & (%iy < 32) & ((%ix < 0) != true) & (%ix < 32)), "
    "0.0:float32) * load(index(param{\"w\", 2, 36864, global}:float32, %o * 576 + %c * 9 + %h * 3 "
    "+ %w)), %c, %h, %w), %n, %o, %y, %x))";
constexpr std::string_view kSoftmax =
    "%i = r0:1024; %j = r1:1024; %a = param{\"a\", 1, 1048576, global}:float32; "
    "%m = reduce{max}(load(index(%a, %i * 1024 + r2.reduce:1024)), r2); "
    "%s = reduce{add}(exp2((load(index(%a, %i * 1024 + r3.reduce:1024)) - %m) * "
    "1.442695:float32), r3); "
    "sink(store(index(param{\"o\", 0, 1048576, global}:float32, %i * 1024 + %j), "
    "exp2((load(index(%a, %i * 1024 + %j)) - %m) * 1.442695:float32) * recip(%s), %i, %j))";

BENCHMARK_CAPTURE(Lower, add, kAdd);
BENCHMARK_CAPTURE(Lower, matmul, kMatmul);
BENCHMARK_CAPTURE(Lower, convolution, kConvolution);
BENCHMARK_CAPTURE(Lower, softmax, kSoftmax);

}  // namespace
}  // namespace kiln::codegen
