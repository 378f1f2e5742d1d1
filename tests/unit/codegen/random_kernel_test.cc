// Random kernels, as they are and under random opts: the interpreter must find what the kernel means.

#include "tests/support/random_kernel.h"

#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "backends/interp/interpret.h"
#include "core/codegen/lower_kernel.h"
#include "core/codegen/program_text.h"
#include "core/dtype/cast.h"
#include "core/uop/text.h"
#include "tests/support/kernel_reference.h"
#include "tests/support/status_matchers.h"

namespace kiln::codegen {
namespace {

using support::Contents;
using support::RandomKernel;

const Target kTarget = {.name = "test",
                        .ops = {Op::kMulAcc, Op::kMax, Op::kShr, Op::kShl, Op::kSub, Op::kNeg,
                                Op::kSqrt, Op::kCmpEq, Op::kFDiv, Op::kTrunc},
                        .cores = 2};

std::vector<std::vector<std::byte>> ToBytes(const Program& program, const Contents& contents) {
  std::vector<std::vector<std::byte>> bytes;
  for (size_t i = 0; i < program.buffers.size(); ++i) {
    const DType d = program.buffers[i].dtype;
    const auto size = static_cast<size_t>(dtype::SizeBytes(d));
    std::vector<std::byte> b(contents[i].size() * size);
    for (size_t j = 0; j < contents[i].size(); ++j) {
      const uint64_t bits = dtype::ToBits(contents[i][j], d);
      std::memcpy(b.data() + j * size, &bits, size);
    }
    bytes.push_back(std::move(b));
  }
  return bytes;
}

Scalar ElementOf(const std::vector<std::byte>& bytes, DType d, size_t i) {
  uint64_t bits = 0;
  const auto size = static_cast<size_t>(dtype::SizeBytes(d));
  std::memcpy(&bits, bytes.data() + i * size, size);
  return dtype::FromBits(bits, d);
}

bool Agree(Scalar a, Scalar b, DType d, bool is_exact) {
  if (a == b) return true;
  if (!dtype::IsFloat(d)) return false;
  const double x = a.AsFloat(), y = b.AsFloat();
  if (x == y) return true;  // Zeros.
  if (is_exact || std::isnan(x) || std::isnan(y)) return false;
  const double eps = dtype::SizeBits(d) >= 32 ? 1e-5 : dtype::SizeBits(d) == 16 ? 0.05 : 0.5;
  return std::abs(x - y) <= eps * (1 + std::max(std::abs(x), std::abs(y)));
}

// Null, or what is wrong.
std::string Check(Graph& g, const RandomKernel& random, const std::optional<std::vector<Opt>>& opts,
                  const Contents& expected) {
  const absl::StatusOr<Program> program = LowerKernel(g, random.kernel, kTarget, {.opts = opts});
  if (!program.ok()) return "not lowered: " + program.status().ToString();
  std::vector<std::vector<std::byte>> bytes = ToBytes(*program, random.contents);
  std::vector<absl::Span<std::byte>> buffers;
  for (auto& b : bytes) buffers.push_back(absl::MakeSpan(b));
  std::vector<int64_t> variables;
  for (const ProgramVariable& v : program->variables)
    variables.push_back(random.variables.at(v.name));
  const absl::Status status = interp::Interpret(g, *program, buffers, variables);
  if (!status.ok()) return "not run: " + status.ToString() + "\n" + ToText(*program);
  for (size_t i = 0; i < bytes.size(); ++i) {
    const DType d = program->buffers[i].dtype;
    if (!program->buffers[i].is_written) continue;
    for (size_t j = 0; j < expected[i].size(); ++j) {
      const Scalar got = ElementOf(bytes[i], d, j);
      if (Agree(expected[i][j], got, d, random.is_exact)) continue;
      const bool is_float = dtype::IsFloat(d);
      return absl::StrCat(
          "element ", j, " of buffer ", i, " is ",
          is_float ? got.AsFloat() : static_cast<double>(got.AsInt()), ", not ",
          is_float ? expected[i][j].AsFloat() : static_cast<double>(expected[i][j].AsInt()), "\n",
          ToText(*program));
    }
  }
  return "";
}

void RunSeeds(uint64_t begin, uint64_t end) {
  for (uint64_t seed = begin; seed < end; ++seed) {
    Graph g;
    support::Random random(seed);
    const RandomKernel kernel = support::MakeRandomKernel(g, random);
    Contents expected = kernel.contents;
    ASSERT_THAT(support::RunKernel(kernel.kernel, kernel.variables, expected), support::IsOk())
        << "seed " << seed << "\n"
        << uop::ToText(kernel.kernel, uop::Layout::kLines);
    std::vector<Opt> opts;
    ASSERT_EQ(Check(g, kernel, opts, expected), "")
        << "seed " << seed << "\n"
        << uop::ToText(kernel.kernel, uop::Layout::kLines);
    ASSERT_EQ(Check(g, kernel, std::nullopt, expected), "")
        << "seed " << seed << " with heuristics\n"
        << uop::ToText(kernel.kernel, uop::Layout::kLines);
    LowerOptions options = {.opts = std::vector<Opt>()};
    Ref simplified = nullptr;
    options.on_stage = [&](std::string_view name, Ref root) {
      if (name == "simplify ranges") simplified = root;
    };
    ASSERT_THAT(LowerKernel(g, kernel.kernel, kTarget, options), support::IsOk());
    for (int i = 0; i < 4; ++i) {
      opts = support::RandomOpts(g, simplified, kTarget, random);
      ASSERT_EQ(Check(g, kernel, opts, expected), "")
          << "seed " << seed << " " << ToText(opts) << "\n"
          << uop::ToText(simplified, uop::Layout::kLines);
    }
  }
}

TEST(RandomKernel, MeansTheSameAfterLowering) { RunSeeds(0, 800); }

}  // namespace
}  // namespace kiln::codegen
