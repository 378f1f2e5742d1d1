#include "core/symbolic/recombine.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"

#include "core/dtype/cast.h"
#include "core/symbolic/order.h"

namespace kiln::symbolic {
namespace {

// Terms that look alike are compared pair by pair; so many at most.
constexpr size_t kMaxPartners = 16;

// a * b as a coefficient of `d`: modulo 2^bits, or null if it does not fit index.
std::optional<Int128> CoefProduct(DType d, Int128 a, Int128 b) {
  const auto product = static_cast<Int128>(static_cast<UInt128>(a) * static_cast<UInt128>(b));
  const std::optional<Scalar> wrapped = dtype::WrapInteger(product, d);
  if (!wrapped) return std::nullopt;
  return wrapped->AsWide(d);
}

// A coefficient of one dtype by which to look it up.
uint64_t Bits(Int128 coef) { return static_cast<uint64_t>(coef); }

bool IsBy(Ref n, Op op) { return n->op == op && n->src(1)->IsConst(); }
// Pre: IsBy.
Int128 Divisor(Ref n) { return n->src(1)->arg.scalar().AsWide(n->dtype); }

void DropErased(SumParts& sum) {
  sum.terms.erase(
      std::remove_if(sum.terms.begin(), sum.terms.end(), [](const Term& t) { return t.coef == 0; }),
      sum.terms.end());
}

// Takes x % m for x where c divides m: what is left has the same remainder modulo c.
Affine WithoutRemainders(Graph& g, const Affine& a, Int128 c) {
  Affine result;
  result.constant = a.constant;
  for (const Term& t : a.terms) {
    const bool peel =
        IsBy(t.base, Op::kMod) && Divisor(t.base) > 0 && t.coef * Divisor(t.base) % c == 0;
    const std::optional<Affine> inner = peel ? AffineOf(g, t.base->src(0)) : std::nullopt;
    if (!inner) {
      result.terms.push_back(t);
      continue;
    }
    for (const Term& u : inner->terms) result.terms.push_back({u.base, u.coef * t.coef});
    result.constant += inner->constant * t.coef;
  }
  result.MergeLikeTerms();
  return result;
}

// Whether x and y are >= 0 and x % c == y % c whatever the variables are.
bool AreCongruent(Graph& g, Ref x, Ref y, Int128 c) {
  if (SafeBoundsOf(g, x).lo < 0 || SafeBoundsOf(g, y).lo < 0) return false;
  const std::optional<Affine> a = AffineOf(g, x), b = AffineOf(g, y);
  if (!a || !b) return false;
  const Affine difference =
      Combine(WithoutRemainders(g, *a, c), 1, WithoutRemainders(g, *b, c), -1);
  return GcdOfCoefs(difference, c) == c && difference.constant % c == 0;
}

// What quotient * (c*k) + (x % c) * k is a multiple of, by k; null if they do not belong together.
Ref WholeOf(Graph& g, Ref remainder, Ref quotient) {
  Ref x = remainder->src(0), y = quotient->src(0);
  const Int128 c = Divisor(remainder), e = Divisor(quotient);
  if (e == c) return x == y || AreCongruent(g, x, y, c) ? y : nullptr;
  // x = y // d, and y // (d*c) = x // c.
  if (IsBy(x, Op::kIDiv) && x->src(0) == y && Divisor(x) > 0 && Divisor(x) * c == e) return x;
  return nullptr;
}

// x // y * y for a divisor that is not constant, as a product.
bool IsQuotientTimesDivisor(Ref n, Ref x, Ref y) {
  if (n->op != Op::kMul) return false;
  for (int i = 0; i < 2; ++i) {
    Ref q = n->src(i);
    if (n->src(1 - i) == y && q->op == Op::kIDiv && q->src(0) == x && q->src(1) == y) return true;
  }
  return false;
}

// The term other than `i` with coefficient `coef` for which `make` gives a node, and that node.
struct Partner {
  size_t index = 0;
  Ref whole = nullptr;
};
class PartnerFinder {
 public:
  explicit PartnerFinder(const SumParts& sum) : sum_(sum) {
    for (size_t i = 0; i < sum.terms.size(); ++i) by_coef_[Bits(sum.terms[i].coef)].push_back(i);
  }
  template <typename Make>
  Partner Find(Int128 coef, size_t i, Make make) const {
    const auto it = by_coef_.find(Bits(coef));
    if (it == by_coef_.end()) return {};
    size_t tries = 0;
    for (size_t j : it->second) {
      if (j == i || sum_.terms[j].coef == 0 || tries++ == kMaxPartners) continue;
      if (Ref whole = make(sum_.terms[j].base); whole != nullptr) return {j, whole};
    }
    return {};
  }

 private:
  const SumParts& sum_;
  absl::flat_hash_map<uint64_t, std::vector<size_t>> by_coef_;
};

// c ? a : b with a branch in which both are constants.
bool BranchFolds(Ref a, Ref b) {
  return (a->src(1)->IsConst() && b->src(1)->IsConst()) ||
         (a->src(2)->IsConst() && b->src(2)->IsConst());
}

}  // namespace

bool RecombineRemainders(Graph& g, DType d, SumParts& sum) {
  const PartnerFinder finder(sum);
  bool changed = false;
  for (size_t i = 0; i < sum.terms.size(); ++i) {
    const Term t = sum.terms[i];
    if (t.coef == 0 || t.base->op != Op::kMod) continue;
    Ref x = t.base->src(0), y = t.base->src(1);
    Partner partner;
    if (!y->IsConst()) {
      partner = finder.Find(t.coef, i,
                            [&](Ref q) { return IsQuotientTimesDivisor(q, x, y) ? x : nullptr; });
    } else if (const Int128 c = Divisor(t.base); c > 0) {
      const std::optional<Int128> coef = CoefProduct(d, t.coef, c);
      if (!coef) continue;
      partner = finder.Find(
          *coef, i, [&](Ref q) { return IsBy(q, Op::kIDiv) ? WholeOf(g, t.base, q) : nullptr; });
      if (partner.whole == nullptr) {
        partner = finder.Find(*coef, i, [&](Ref q) -> Ref {
          // q = x // c % b.
          if (!IsBy(q, Op::kMod) || Divisor(q) <= 0 || !IsBy(q->src(0), Op::kIDiv)) return nullptr;
          if (q->src(0)->src(0) != x || Divisor(q->src(0)) != c || !FitsInt64(c * Divisor(q)))
            return nullptr;
          if (d != DType::kIndex && c * Divisor(q) > dtype::MaxValue(d)) return nullptr;
          return g.Mod(x, IntConst(g, d, c * Divisor(q)));
        });
      }
    }
    if (partner.whole == nullptr) continue;
    sum.terms[i].base = partner.whole;
    sum.terms[partner.index].coef = 0;
    changed = true;
  }
  if (changed) DropErased(sum);
  return changed;
}

bool RecombineSelects(Graph& g, DType, SumParts& sum) {
  bool changed = false;
  for (size_t i = 0; i < sum.terms.size(); ++i) {
    for (size_t j = i + 1; j < sum.terms.size(); ++j) {
      Ref a = sum.terms[i].base, b = sum.terms[j].base;
      if (a->op != Op::kWhere || sum.terms[i].coef == 0) break;
      if (b->op != Op::kWhere || b->src(0) != a->src(0) || sum.terms[j].coef != sum.terms[i].coef)
        continue;
      if (!BranchFolds(a, b)) continue;
      Ref yes = MakeSum(g, a->dtype, {{a->src(1), 1}, {b->src(1), 1}}, 0);
      Ref no = MakeSum(g, a->dtype, {{a->src(2), 1}, {b->src(2), 1}}, 0);
      if (yes == nullptr || no == nullptr) continue;
      sum.terms[i].base = g.Where(a->src(0), yes, no);
      sum.terms[j].coef = 0;
      changed = true;
    }
  }
  if (changed) DropErased(sum);
  return changed;
}

bool Recombine(Graph& g, DType d, SumParts& sum) {
  size_t quotients = 0, products = 0, remainders = 0, selects = 0;
  for (const Term& t : sum.terms) {
    quotients += t.base->op == Op::kIDiv;
    products += t.base->op == Op::kMul;
    remainders += t.base->op == Op::kMod;
    selects += t.base->op == Op::kWhere;
  }
  const bool has_wholes = remainders > 0 && quotients + products + remainders > 1;
  if (!has_wholes && quotients == 0 && selects < 2) return false;
  // Which terms find each other must not depend on the order in which nodes were made.
  std::sort(sum.terms.begin(), sum.terms.end(),
            [](const Term& a, const Term& b) { return Compare(a.base, b.base) < 0; });
  if (has_wholes && RecombineRemainders(g, d, sum)) return true;
  if (quotients > 0 && RecombineUnrolled(g, d, sum)) return true;
  return selects > 1 && RecombineSelects(g, d, sum);
}

}  // namespace kiln::symbolic
