// One quotient or remainder under consideration. For divmod*.cc.
#pragma once

#include "core/symbolic/affine.h"

namespace kiln::symbolic {

struct Division {
  Graph& g;
  Ref n;          // IDIV or MOD.
  Affine x;       // The numerator.
  Bounds bounds;  // Of the numerator.

  DType dtype() const { return n->dtype; }
  bool is_mod() const { return n->op == Op::kMod; }
  bool IsNonNegative() const { return bounds.lo >= 0; }
};

// outer + ((inner op divisor) * coef), with op that of `d`; null if a number does not fit. `inner
// op divisor` is folded where it is a constant or the divisor is 1.
Ref Assemble(const Division& d, const Affine& outer, const Affine& inner, Int128 divisor,
             Int128 coef = 1);

// Rules for a divisor that is the constant c > 0.
Ref FoldByConstant(const Division& d, Int128 c);
// Rules for other divisors.
Ref FoldByVariable(const Division& d);

}  // namespace kiln::symbolic
