// EvalAlu for one kind of dtype each. For the .cc files of this folder; pre: IsDefined(op, d), one
// operand each.
#pragma once

#include "absl/types/span.h"

#include "core/dtype/alu_op.h"
#include "core/dtype/scalar.h"

namespace kiln::dtype::internal {

// Pre: IsFloat(d).
Scalar EvalFloat(AluOp op, DType d, absl::Span<const Scalar> operands);

// Pre: d is bool or a fixed-width integer.
Scalar EvalFixedWidth(AluOp op, DType d, absl::Span<const Scalar> operands);

}  // namespace kiln::dtype::internal
