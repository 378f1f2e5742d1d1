// Ops that a target lacks, in terms of those it has; and cheaper forms of those it has.
//
//   const OpSupport target = {Op::kShl, Op::kShr, Op::kMulAcc, Op::kSqrt};
//   KILN_ASSIGN_OR_RETURN(root, Decompose(g, root, target));  // x / 7: a multiplication and a
//   shift
#pragma once

#include "absl/status/statusor.h"

#include "core/codegen/op_support.h"
#include "core/symbolic/simplify.h"
#include "core/uop/graph.h"

namespace kiln::codegen {

// A graph with the same values whose elementwise ops are those listed in `target` and what every
// target has (see OpSupport), and in which
// - quotients and remainders of fixed-width integers by constants are shifts, masks and
//   multiplications (if the target has SHR), exact on the whole range of the operand's bounds;
// - products of integers with powers of two are shifts (SHL);
// - x * -1, x + y * -1, !(x != y) and x * y + z are NEG, SUB, CMPEQ and MULACC where listed.
//
// The values are the same bits, but for what the IR leaves open (a multiplication fused with an
// addition) and the error of EXP2, LOG2, SIN and POW that core/codegen/transcendental.h states.
// With Math::kFast, x * RECIP(y) is one division. FDIV on a target that lists RECIP and not FDIV is
// a product, rounded twice. Arithmetic on dtype index is left alone: lower it first.
absl::StatusOr<Ref> Decompose(Graph& g, Ref root, const OpSupport& target,
                              symbolic::Math math = symbolic::Math::kExact);

}  // namespace kiln::codegen
