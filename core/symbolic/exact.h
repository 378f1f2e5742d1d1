// Where machine integers are as good as integers.
#pragma once

#include "core/uop/facts.h"
#include "core/uop/graph.h"
#include "core/uop/interval.h"

namespace kiln::symbolic {

// Whether a sum or product is that of its operands' values as integers, whatever these are: always
// on index, and on fixed-width integers if the bounds say that it does not wrap. Pre: kAdd or kMul
// of integers.
inline bool IsExact(Graph& g, Ref n) {
  if (n->dtype == DType::kIndex) return true;
  const Bounds a = SafeBoundsOf(g, n->src(0)), b = SafeBoundsOf(g, n->src(1));
  const Bounds result = n->op == Op::kAdd ? uop::internal::Add(a, b) : uop::internal::Mul(a, b);
  return uop::FullBounds(n->dtype).Contains(result);
}

}  // namespace kiln::symbolic
