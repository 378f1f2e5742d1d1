// Single ops in terms of others. For the .cc files of this folder; decompose.cc decides which
// apply.
#pragma once

#include "core/codegen/expr.h"
#include "core/uop/facts.h"

namespace kiln::codegen::internal {

// ** integer_division.cc **: x / d and x % d by multiplication, shift and mask, exact for every x
// within its bounds, d = 0 included. Pre: x is a fixed-width integer, and d a value of its dtype.
Ref DivideByConstant(Graph& g, Ref x, Int128 d);
Ref RemainderByConstant(Graph& g, Ref x, Int128 d);

// ** integer_ops.cc **. Pre: fixed-width integers.
// By products with and quotients by powers of two. Shifts out of range included.
Ref ShiftLeft(Graph& g, Ref x, Ref count);
Ref ShiftRight(Graph& g, Ref x, Ref count);
// x^y by squaring; of a negative y, the truncated fraction.
Ref IntegerPow(Graph& g, Ref x, Ref y);
// Threefry-2x32 with 20 rounds. Pre: uint64.
Ref Threefry(Graph& g, Ref counter, Ref key);

// ** float_ops.cc **
// By comparison. NaN if either is.
Ref Max(Graph& g, Ref x, Ref y);
// Rounds toward zero; keeps the sign of zero, infinities and NaN.
Ref Trunc(Graph& g, Ref x);

}  // namespace kiln::codegen::internal
