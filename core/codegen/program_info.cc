#include "core/codegen/program_info.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

#include "core/codegen/kernel_ranges.h"
#include "core/uop/facts.h"

namespace kiln::codegen::internal {
namespace {

constexpr int64_t kMaxEstimate = int64_t{1} << 56;

int64_t SaturatingMul(int64_t a, Int128 b) {
  return static_cast<int64_t>(std::clamp<Int128>(Int128{a} * b, 0, kMaxEstimate));
}

// The buffer that an access is in; null if it is an accumulator.
Ref BufferOf(Ref access) {
  Ref n = access->src(0);
  while (!n->Is(Op::kParam)) n = n->src(0);
  return uop::ParamOf(n).space == uop::AddressSpace::kGlobal ? n : nullptr;
}

bool IsArithmetic(Ref n) {
  return uop::IsAlu(n->op) && dtype::IsFloat(n->dtype) && !n->Is(Op::kCast) &&
         !n->Is(Op::kBitcast) && !n->Is(Op::kWhere);
}

void DescribeAccess(Ref n, Program& program) {
  Ref buffer = BufferOf(n);
  if (buffer == nullptr) return;
  const uop::ParamInfo info = uop::ParamOf(buffer);
  ProgramBuffer& b = program.buffers[static_cast<size_t>(info.number)];
  b.dtype = buffer->dtype;
  b.elems = info.elems;
  (n->Is(Op::kLoad) ? b.is_read : b.is_written) = true;
}

}  // namespace

std::string NameOf(Ref kernel) {
  std::string kept, reduced;
  for (Ref r : RangesBelow(kernel)) {
    const AxisType type = TypeOf(r);
    const bool is_reduced = type == AxisType::kReduce || type == AxisType::kUnroll;
    const int64_t end = ConstEnd(r);
    std::string& list = is_reduced ? reduced : kept;
    absl::StrAppend(&list, list.empty() ? "_" : "x",
                    end < 0 ? std::string("n") : absl::StrCat(end));
  }
  return absl::StrCat(reduced.empty() ? "e" : "r", kept, reduced);
}

void Describe(Graph& g, int64_t num_buffers, Program& program) {
  program.buffers.assign(static_cast<size_t>(num_buffers), {.dtype = DType::kUInt8});
  std::vector<int64_t> turns = {1};  // Of the open loops, outermost first.
  for (Ref n : program.linear->src()) {
    if (IsLoop(n)) turns.push_back(SaturatingMul(turns.back(), VMax(g, n) + 1));
    if (n->Is(Op::kEnd)) turns.pop_back();
    if (n->Is(Op::kVariable)) {
      const uop::VariableInfo v = uop::VariableOf(n);
      program.variables.push_back({std::string(v.name), v.min.AsInt(), v.max.AsInt(), n->dtype});
    }
    if (n->Is(Op::kSpecial)) program.num_cores = static_cast<int32_t>(VMax(g, n) + 1);
    const bool accesses = n->Is(Op::kLoad) || n->Is(Op::kStore);
    if (accesses) DescribeAccess(n, program);
    int64_t times = turns.back();
    for (Ref r : LanesOf(g, n)) times = SaturatingMul(times, ConstEnd(r));
    if (accesses && BufferOf(n) != nullptr) {
      const int64_t size = dtype::SizeBytes(n->src(0)->dtype);
      program.bytes = std::min(kMaxEstimate, program.bytes + SaturatingMul(times, size));
    }
    if (IsArithmetic(n)) {
      const int64_t each = n->Is(Op::kMulAcc) ? 2 : 1;
      program.flops = std::min(kMaxEstimate, program.flops + SaturatingMul(times, each));
    }
  }
  program.flops = SaturatingMul(program.flops, program.num_cores);
  program.bytes = SaturatingMul(program.bytes, program.num_cores);
  std::sort(program.variables.begin(), program.variables.end(),
            [](const ProgramVariable& a, const ProgramVariable& b) { return a.name < b.name; });
}

}  // namespace kiln::codegen::internal
