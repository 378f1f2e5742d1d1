// Known divisors of integer expressions, and exact division.
//
// On fixed-width integers all of this speaks of the mathematical value: it holds where nothing
// wraps.
#pragma once

#include <cstdint>

#include "core/uop/graph.h"

namespace kiln::symbolic {

// An integer that divides `n` wherever its variables are within their bounds:
// - a constant: itself, also 0 and negative ones;
// - a sum: the greatest common divisor of both sides' (0 only if both are);
// - a product with a constant: the constant, times what is known of the other side if that is a
//   product too; of two constants the first;
// - anything else: 1.
// Not the largest there is. Pre: the dtype is bool, integer or index.
int64_t ConstFactor(Ref n);

// n / d if that is exact by construction, else null. Not simplified further, but for n = x * d,
// which is x. Null where a fixed-width integer may wrap on the way. Pre: d != 0; as ConstFactor.
Ref Divide(Graph& g, Ref n, int64_t d);

// The greatest common divisor of two known divisors, >= 0; Gcd(0, x) = |x|. 1 if it is 2^63.
int64_t Gcd(int64_t a, int64_t b);

// Whether `n` is provably non-decreasing in every variable, range and launch index: those,
// constants, sums of such, and their products with a constant >= 0 and quotients by a constant > 0.
bool IsIncreasing(Ref n);

}  // namespace kiln::symbolic
