// Elementary functions as graphs of primitive ops: what a target computes that has no instruction
// for them. Free of branches and of tables in memory, so they vectorise; right for every input:
// huge arguments, denormals, signed zeros, infinities, NaN.
//
// In float32 and float64 they need integers of 32 and 64 bits, but no wider float than their own;
// the narrower floats are computed in float32. They stay within their error whether or not the
// compiler fuses a multiplication with an addition: where the error of a product matters, the
// product is exact.
#pragma once

#include "core/uop/graph.h"

namespace kiln::codegen {

// Pre for all: the dtype is a float. Error in units in the last place of the result's dtype,
// against the exact value: at most 1 for float32 and narrower, at most 2 for float64. (Measured:
// see README.md.)
Ref Exp2(Graph& g, Ref x);
Ref Log2(Graph& g, Ref x);        // NaN below zero, -inf at zero.
Ref Sin(Graph& g, Ref x);         // NaN at infinity. Exact range reduction: any finite x.
Ref Pow(Graph& g, Ref x, Ref y);  // As C's pow: x^0 is 1 for any x, 1^y is 1 for any y.

// The correctly rounded square root.
Ref Sqrt(Graph& g, Ref x);

}  // namespace kiln::codegen
