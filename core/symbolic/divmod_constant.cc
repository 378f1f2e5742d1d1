// Quotients and remainders by a constant c > 0. Each rule is a function that returns null for "no";
// FoldByConstant has the order.
//
// Where the numerator is >= 0, truncating is rounding down, and with x = c*q + r:
//   x // c = q + floor(r / c),   x % c = r mod c,   whatever r is.
// Where its sign is open, only common divisors are safe: (g*x) // (g*c) = x // c.
#include <algorithm>
#include <functional>
#include <optional>
#include <vector>

#include "core/symbolic/division.h"
#include "core/symbolic/sum.h"

namespace kiln::symbolic {
namespace {

// x = quotient * divisor + rest, with the terms whose coefficients `divisor` divides in the
// quotient and 0 <= rest.constant < divisor.
struct Split {
  Affine quotient, rest;
};
Split SplitBy(const Affine& x, Int128 divisor) {
  Split s;
  for (const Term& t : x.terms) {
    if (t.coef % divisor == 0) {
      s.quotient.terms.push_back({t.base, t.coef / divisor});
    } else {
      s.rest.terms.push_back(t);
    }
  }
  s.rest.constant = FloorMod(x.constant, divisor);
  s.quotient.constant = (x.constant - s.rest.constant) / divisor;
  return s;
}

// A single term that takes two values: both results are known, and a line goes through them.
Ref FoldTwoValues(const Division& d, Int128 c) {
  if (d.x.terms.size() != 1) return nullptr;
  const Term t = d.x.terms[0];
  const Bounds b = SafeBoundsOf(d.g, t.base);
  if (b.hi - b.lo != 1) return nullptr;
  const auto at = [&](Int128 v) {
    const Int128 x = t.coef * v + d.x.constant;
    return d.is_mod() ? x % c : x / c;
  };
  const Int128 slope = at(b.hi) - at(b.lo);
  return MakeSum(d.g, d.dtype(), {{t.base, slope}}, at(b.lo) - slope * b.lo);
}

enum class Residue { kLeast, kNonNegative, kSameSign };

Int128 ResidueOf(Int128 v, Int128 c, Residue kind) {
  const Int128 r = FloorMod(v, c);
  switch (kind) {
    case Residue::kLeast:
      return 2 * r > c ? r - c : r;
    case Residue::kNonNegative:
      return r;
    case Residue::kSameSign:
      return v % c;
  }
  return r;
}

// What is congruent to x modulo c. The constant is in [0, c).
Affine Reduced(const Affine& x, Int128 c, Residue kind) {
  Affine r;
  for (const Term& t : x.terms) {
    if (const Int128 coef = ResidueOf(t.coef, c, kind); coef != 0)
      r.terms.push_back({t.base, coef});
  }
  r.constant = FloorMod(x.constant, c);
  return r;
}

// Coefficients modulo c that leave something within one period: no division is left.
Ref FoldCongruence(const Division& d, Int128 c) {
  if (!d.IsNonNegative()) return nullptr;
  for (Residue kind : {Residue::kLeast, Residue::kNonNegative, Residue::kSameSign}) {
    Affine rest = Reduced(d.x, c, kind);
    const Bounds b = BoundsOf(d.g, rest);
    if (!IsFinite(b) || FloorDiv(b.lo, c) != FloorDiv(b.hi, c)) continue;
    rest.constant -= FloorDiv(b.lo, c) * c;
    if (d.is_mod()) return MakeSum(d.g, d.dtype(), rest.terms, rest.constant);
    const Affine quotient = DivideExactly(Combine(d.x, 1, rest, -1), c);
    return MakeSum(d.g, d.dtype(), quotient.terms, quotient.constant);
  }
  return nullptr;
}

// (x*g + r) // (c*g) -> x // c and (x*g + r) % (c*g) -> (x%c)*g + r for 0 <= r < g: exact for any
// sign where r is 0.
Ref FoldCommonDivisor(const Division& d, Int128 c) {
  const Int128 gcd = GcdOfCoefs(d.x, c);
  if (gcd <= 1) return nullptr;
  const Split s = SplitBy(d.x, gcd);
  if (s.rest.constant != 0 && !d.IsNonNegative()) return nullptr;
  return Assemble(d, d.is_mod() ? s.rest : Affine(), s.quotient, c / gcd, d.is_mod() ? gcd : 1);
}

// (x*c + r) // c -> x + r//c.
Ref SplitQuotient(const Division& d, Int128 c) {
  if (!d.IsNonNegative() || d.is_mod()) return nullptr;
  Split s = SplitBy(d.x, c);
  const bool has_terms = !s.quotient.terms.empty();
  const Bounds b = BoundsOf(d.g, s.rest);
  if (b.lo >= 0) {
    return has_terms || s.quotient.constant != 0 ? Assemble(d, s.quotient, s.rest, c) : nullptr;
  }
  const bool all_negative = std::all_of(s.rest.terms.begin(), s.rest.terms.end(),
                                        [](const Term& t) { return t.coef < 0; });
  if (all_negative) {
    // floor((k - p) / c) = -floor((p - k + c-1) / c), and the constant again into [0, c).
    Affine flipped = Scale(s.rest, -1);
    flipped.constant += c - 1;
    const Split again = SplitBy(flipped, c);
    flipped.constant = again.rest.constant;
    if (BoundsOf(d.g, flipped).lo >= 0) {
      s.quotient.constant -= again.quotient.constant;
      return Assemble(d, s.quotient, flipped, c, -1);
    }
  }
  if (!has_terms || !IsFinite(b)) return nullptr;
  const Int128 periods = CeilDiv(-b.lo, c);
  s.rest.constant += periods * c;
  s.quotient.constant -= periods;
  return Assemble(d, s.quotient, s.rest, c);
}

// Coefficients and constant modulo c.
Ref ReduceRemainder(const Division& d, Int128 c) {
  if (!d.IsNonNegative() || !d.is_mod()) return nullptr;
  const auto changed = [&](const Affine& r) {
    return r.terms.size() != d.x.terms.size() ||
           !std::equal(r.terms.begin(), r.terms.end(), d.x.terms.begin(),
                       [](const Term& a, const Term& b) { return a.coef == b.coef; });
  };
  Affine same_sign = Reduced(d.x, c, Residue::kSameSign);
  const Bounds b = BoundsOf(d.g, same_sign);
  if (b.lo >= 0) {
    return changed(same_sign) || same_sign.constant != d.x.constant ? Assemble(d, {}, same_sign, c)
                                                                    : nullptr;
  }
  if (const Affine r = Reduced(d.x, c, Residue::kNonNegative);
      changed(r) && BoundsOf(d.g, r).lo >= 0) {
    return Assemble(d, {}, r, c);
  }
  if (!changed(same_sign) || !IsFinite(b)) return nullptr;
  same_sign.constant += CeilDiv(-b.lo, c) * c;
  return Assemble(d, {}, same_sign, c);
}

// Divisors > 1 that c shares with some coefficient, from the largest; not more than matter in
// practice.
std::vector<Int128> CommonDivisors(const Affine& x, Int128 c) {
  constexpr size_t kMaxDivisors = 16;
  std::vector<Int128> divisors;
  for (const Term& t : x.terms) {
    const Int128 gcd = CommonDivisor(t.coef, c);
    if (gcd <= 1 || std::find(divisors.begin(), divisors.end(), gcd) != divisors.end()) continue;
    divisors.push_back(gcd);
    if (divisors.size() == kMaxDivisors) break;
  }
  std::sort(divisors.begin(), divisors.end(), std::greater<>());
  return divisors;
}

// Terms that together are smaller than a common divisor of c and of all others don't reach the
// quotient.
Ref DropSmallTerms(const Division& d, Int128 c) {
  if (!d.IsNonNegative()) return nullptr;
  for (Int128 gcd : CommonDivisors(d.x, c)) {
    Split s = SplitBy(d.x, gcd);
    const Bounds b = BoundsOf(d.g, s.rest);
    if (!IsFinite(b) || FloorDiv(b.lo, gcd) != FloorDiv(b.hi, gcd)) continue;
    const Int128 moved = FloorDiv(b.lo, gcd);
    s.quotient.constant += moved;
    s.rest.constant -= moved * gcd;
    return Assemble(d, d.is_mod() ? s.rest : Affine(), s.quotient, c / gcd, d.is_mod() ? gcd : 1);
  }
  return nullptr;
}

// (x//a + k) // c -> (x + k*a) // (a*c).
Ref FoldNestedQuotient(const Division& d, Int128 c) {
  if (d.is_mod() || d.x.terms.size() != 1) return nullptr;
  const Term t = d.x.terms[0];
  if (t.coef != 1 || t.base->op != Op::kIDiv || !t.base->src(1)->IsConst()) return nullptr;
  Ref x = t.base->src(0);
  const Int128 a = t.base->src(1)->arg.scalar().AsWide(d.dtype());
  if (a <= 0 || !FitsInt64(a) || !FitsInt64(a * c)) return nullptr;
  const Int128 k = d.x.constant;
  if (k != 0 && (!d.IsNonNegative() || SafeBoundsOf(d.g, x).lo < 0)) return nullptr;
  std::optional<Affine> numerator = AffineOf(d.g, x);
  if (!numerator) return nullptr;
  numerator->constant += k * a;
  return Assemble(d, {}, *numerator, a * c);
}

// (x%m + y) % c -> (x + y) % c where c divides m.
Ref FoldNestedRemainder(const Division& d, Int128 c) {
  if (!d.is_mod()) return nullptr;
  Affine opened;
  opened.constant = d.x.constant;
  bool changed = false;
  for (const Term& t : d.x.terms) {
    std::optional<Affine> inner;
    if (t.base->op == Op::kMod && t.base->src(1)->IsConst()) {
      const Int128 m = t.base->src(1)->arg.scalar().AsWide(d.dtype());
      if (m != 0 && t.coef * m % c == 0) inner = AffineOf(d.g, t.base->src(0));
    }
    if (!inner) {
      opened.terms.push_back(t);
      continue;
    }
    for (const Term& u : inner->terms) opened.terms.push_back({u.base, u.coef * t.coef});
    opened.constant += inner->constant * t.coef;
    changed = true;
  }
  if (!changed) return nullptr;
  opened.MergeLikeTerms();
  // The sign of the numerator is the sign of the result. Of a remainder alone it stays.
  const bool is_alone = d.x.terms.size() == 1 && d.x.constant == 0;
  if (!is_alone && (!d.IsNonNegative() || BoundsOf(d.g, opened).lo < 0)) return nullptr;
  return Assemble(d, {}, opened, c);
}

// x // (f*c) -> (x // f) // c, where no division is left in x // f.
Ref NestByFactor(const Division& d, Int128 c) {
  if (d.is_mod() || !d.IsNonNegative()) return nullptr;
  for (Int128 factor : CommonDivisors(d.x, c)) {
    if (factor == c) continue;
    const Split s = SplitBy(d.x, factor);
    if (s.rest.terms.empty() || BoundsOf(d.g, s.rest).lo < 0) continue;
    const Division rest{d.g, d.n, s.rest, BoundsOf(d.g, s.rest)};
    Ref quotient = FoldTwoValues(rest, factor);
    if (quotient == nullptr) quotient = FoldCongruence(rest, factor);
    const std::optional<Affine> folded =
        quotient != nullptr ? AffineOf(d.g, quotient) : std::nullopt;
    if (!folded) continue;
    return Assemble(d, {}, Combine(s.quotient, 1, *folded, 1), c / factor);
  }
  return nullptr;
}

}  // namespace

Ref FoldByConstant(const Division& d, Int128 c) {
  if (c == 1 || d.x.IsConstant()) return Assemble(d, {}, d.x, c);
  // Specific before general: what leaves no division, then what makes it smaller.
  constexpr Ref (*kRules[])(const Division&, Int128) = {
      FoldTwoValues,   FoldCongruence, FoldNestedRemainder, FoldCommonDivisor, SplitQuotient,
      ReduceRemainder, DropSmallTerms, FoldNestedQuotient,  NestByFactor,
  };
  for (auto* rule : kRules) {
    if (Ref result = rule(d, c); result != nullptr && result != d.n) return result;
  }
  return nullptr;
}

}  // namespace kiln::symbolic
