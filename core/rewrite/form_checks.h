// What the forms of several levels demand of a match. For the spec files of this folder.
#pragma once

#include "core/rewrite/spec.h"

// What is said of elementwise ops.
#define KILN_ELEMENTWISE_TEXT                                                               \
  "elementwise on a dtype that has the operation, sources all of the node's dtype (of a "   \
  "comparison: of any one dtype, and it is bool; of where: the first is bool; of cast and " \
  "bitcast: of another)"

namespace kiln::rewrite::internal {

// Every elementwise op, whatever its sources.
inline constexpr auto kElementwise =
    alphabet::any_of<Op::kCast, Op::kBitcast, Op::kNeg, Op::kRecip, Op::kSqrt, Op::kExp2, Op::kLog2,
                     Op::kSin, Op::kTrunc, Op::kAdd, Op::kSub, Op::kMul, Op::kFDiv, Op::kIDiv,
                     Op::kMod, Op::kMax, Op::kPow, Op::kCmpLt, Op::kCmpNe, Op::kCmpEq, Op::kAnd,
                     Op::kOr, Op::kXor, Op::kShl, Op::kShr, Op::kThreefry, Op::kWhere, Op::kMulAcc>(
        alphabet::rest);
static_assert([] {
  for (int i = 0; i < uop::kNumOps; ++i) {
    const Op op = static_cast<Op>(i);
    if (decltype(kElementwise)::kOps.Has(op) != uop::IsAlu(op)) return false;
  }
  return true;
}());

// What kernels and programs share: memory, values with a shape, and control.
extern const FormTable kMemoryForms;

// ** values **

// The operands have the dtypes that the elementwise op takes and gives, and it is defined on them.
bool OperandsFit(Graph& g, const Match& m);
// The same, and nothing is of dtype index.
bool MachineOperandsFit(Graph& g, const Match& m);
// The dtype is that of source 0.
bool KeepsDType(Graph& g, const Match& m);
// The dtype is that of every source.
bool SourcesKeepDType(Graph& g, const Match& m);
// The dtype is that of the value that is reduced, and has the operation.
bool ReducesItsDType(Graph& g, const Match& m);
// A dtype that lies in memory.
bool IsStorable(Graph& g, const Match& m);
// Named, and min <= max.
bool IsNamedVariable(Graph& g, const Match& m);
// The arg's text is not empty.
bool IsNamed(Graph& g, const Match& m);

// ** memory and control **

// Source 0 is a PARAM, perhaps after effects, and the dtype is its.
bool IsPlaceInParam(Graph& g, const Match& m);
// The value has the dtype of the place; then come a gate, if any, and ranges.
bool StoresItsDType(Graph& g, const Match& m);
// Every source is an effect; every one from the second on.
bool AllEffects(Graph& g, const Match& m);
bool EffectsFollow(Graph& g, const Match& m);

// ** graphs as a whole **

// One PARAM per number, and one RANGE per axis id.
absl::Status CheckNumbering(absl::Span<const Ref> nodes, std::string_view level);

}  // namespace kiln::rewrite::internal
