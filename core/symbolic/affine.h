// Integer expressions as sums of terms: what the rules for sums, quotients, comparisons and
// conditions compute with.
//
//   std::optional<Affine> a = AffineOf(g, n);   // i*4 + (j + 3)*2  ->  {i: 4, j: 2} + 6
//   Bounds b = BoundsOf(g, *a);
//   Ref m = ToNode(g, DType::kIndex, *a);       // ((i*4)+(j*2))+6; null where it cannot be written
#pragma once

#include <optional>

#include "absl/container/inlined_vector.h"

#include "core/dtype/int128.h"
#include "core/uop/facts.h"
#include "core/uop/graph.h"

namespace kiln::symbolic {

// base * coef. The coefficient is not 0; the base is not a constant.
struct Term {
  Ref base;
  Int128 coef;
};
using Terms = absl::InlinedVector<Term, 8>;

// The mathematical integer sum(terms) + constant. No base occurs twice.
struct Affine {
  Terms terms;
  Int128 constant = 0;

  bool IsConstant() const { return terms.empty(); }
  // The coefficient of `base`, 0 if it does not occur. Linear.
  Int128 CoefOf(Ref base) const;
  // For sums that are put together from parts in which a base occurs more than once: merges those
  // terms.
  void MergeLikeTerms();
};

// `n` as a sum, with constant factors distributed. Null if a coefficient leaves int64, or the dtype
// is not an integer. On a fixed-width integer only what provably does not wrap is taken apart, so
// that the view is exact there too. O(k log k) for k nodes in the tree of sums, however often they
// are shared.
std::optional<Affine> AffineOf(Graph& g, Ref n);

// The normal form of the sum, as an expression of dtype `d`. Null if a number does not fit index,
// or if the value may not fit a fixed width. (Where it fits, it does not matter that the machine
// may wrap on the way to it.)
Ref ToNode(Graph& g, DType d, const Affine& a);

// a * factor + b * other.
Affine Combine(const Affine& a, Int128 factor, const Affine& b, Int128 other);
inline Affine Scale(const Affine& a, Int128 factor) { return Combine(a, factor, {}, 0); }
// Pre: `d` divides all coefficients and the constant.
Affine DivideExactly(const Affine& a, Int128 d);

// By interval arithmetic on what holds for the bases.
Bounds BoundsOf(Graph& g, const Affine& a);
using uop::BoundsOf;

// The greatest common divisor of `g` (>= 0) and of all coefficients; the constant does not count.
Int128 GcdOfCoefs(const Affine& a, Int128 g = 0);

// Whether every value of `b` is one of `d`. Always true on index.
constexpr bool FitsDType(DType d, const Bounds& b) {
  return d == DType::kIndex || uop::FullBounds(d).Contains(b);
}

// The constant `v`; wraps on fixed widths, null if it does not fit index.
Ref IntConst(Graph& g, DType d, Int128 v);
// n = result.base * result.coef, with all constant factors in the coefficient. On fixed widths
// modulo 2^width, and the coefficient is a value of the dtype; null if it does not fit index.
std::optional<Term> SplitFactor(Ref n);

// ** integers **
Int128 FloorDiv(Int128 a, Int128 b);       // Pre: b > 0.
Int128 FloorMod(Int128 a, Int128 b);       // Pre: b > 0; in [0, b).
Int128 CeilDiv(Int128 a, Int128 b);        // Pre: b > 0.
Int128 CommonDivisor(Int128 a, Int128 b);  // The greatest; >= 0; of 0 and x: |x|.
constexpr bool IsFinite(const Bounds& b) {
  return Bounds::kNegInf < b.lo && b.hi < Bounds::kPosInf;
}

}  // namespace kiln::symbolic
