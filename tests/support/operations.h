// How large an expression is, whatever normal form its constants have.
#pragma once

#include <unordered_map>

#include "core/uop/walk.h"

namespace kiln::support {

// The operations of an expression as it is written out, so that it does not matter what is shared.
// Sums and products with a constant don't count: x + x -> x*2, (x + y)*c -> x*c + y*c, x / -c -> (x
// / c)*-1 and (x + 5) / 2 -> (x + 1) / 2 + 2 are normal forms with more of these.
inline double Operations(Ref root) {
  std::unordered_map<Ref, double> operations;
  for (Ref n : uop::Toposort(root)) {
    const bool is_linear = (n->Is(Op::kAdd) || n->Is(Op::kMul)) && n->src(1)->IsConst();
    double count = n->num_src > 0 && !is_linear ? 1 : 0;
    for (Ref s : n->src()) count += operations[s];
    operations[n] = count;
  }
  return operations[root];
}

}  // namespace kiln::support
