// Constants that stand for nothing.
#pragma once

#include "core/uop/graph.h"

namespace kiln::uop {

// 0, 0.0 or false. Pre: not void.
Ref ZeroOf(Graph& g, DType dtype);

// The value that does not change what it is reduced with, and what a reduction of nothing gives: 0, 1,
// the lowest value. Pre: `op` is kAdd, kMul or kMax, on a dtype that has it.
Ref ReduceIdentity(Graph& g, Op op, DType dtype);

}  // namespace kiln::uop

namespace kiln {
using uop::ReduceIdentity;
using uop::ZeroOf;
}  // namespace kiln
