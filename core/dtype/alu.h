// The value of every ALU op on every dtype: what the constant folder computes and what every
// backend must agree with.
#pragma once

#include <optional>

#include "absl/types/span.h"

#include "core/dtype/alu_op.h"
#include "core/dtype/int128.h"
#include "core/dtype/scalar.h"

namespace kiln::dtype {

// Whether `op` is defined on operands of dtype `d` (comparisons: their operands' type; kWhere: that
// of its branches). False for kCast and kBitcast, which are about two dtypes: see cast.h.
bool IsDefined(AluOp op, DType d);

// The value of `op` on operands of dtype `d`, in canonical form for the result's dtype: bool for
// comparisons, else `d`. kWhere takes a bool first and then two of `d`. Total, except that it is
// null where the op is not defined on `d` or takes another number of operands, and on index where
// the result leaves int64 or the divisor is 0.
//
// Bool adds, multiplies and compares as the integers 0 and 1, where a sum of 2 is true. kPow of an
// integer to a negative power truncates: 0 unless the base is 1 or -1. kNeg, kMax, kTrunc and
// kWhere don't round, so they keep an infinity of fp8e5m2; all other float ops round once to `d`.
// They are correctly rounded, except kExp2, kLog2, kSin and kPow, which are rounded from a double
// (from a long double for float64).
std::optional<Scalar> EvalAlu(AluOp op, DType d, absl::Span<const Scalar> operands);

// The same on integers of any size, exactly: for index values on their way (bounds, products before
// a division). Comparisons give 0 or 1. Null where EvalAlu would be null on index, with int64
// replaced by Int128.
std::optional<Int128> EvalWide(AluOp op, absl::Span<const Int128> operands);

}  // namespace kiln::dtype
