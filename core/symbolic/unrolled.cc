// Sums of quotients that an unrolled loop leaves behind. See recombine.h.
//
// For every integer x and c > 0:  floor(x/c) + floor((x+1)/c) + ... + floor((x+c-1)/c) = x.
// Source: Graham, Knuth & Patashnik, "Concrete Mathematics", (3.26).
#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

#include "core/symbolic/recombine.h"

namespace kiln::symbolic {
namespace {

// Numbers of at most 64 bits, to look them up by.
uint64_t Bits(Int128 v) { return static_cast<uint64_t>(v); }

// Terms ((x + offset) // c) * coef with one x, c and coef.
struct Family {
  Ref x = nullptr;
  Int128 divisor = 0, coef = 0;
  struct Member {
    size_t term;
    Int128 offset;
  };
  std::vector<Member> members;  // One for each remainder of the offset.
  absl::flat_hash_set<uint64_t> remainders;
};

std::vector<Family> FamiliesOf(Graph& g, const SumParts& sum) {
  std::vector<Family> families;
  absl::flat_hash_map<std::tuple<Ref, uint64_t, uint64_t>, size_t> index;
  for (size_t i = 0; i < sum.terms.size(); ++i) {
    Ref n = sum.terms[i].base;
    if (n->op != Op::kIDiv || !n->src(1)->IsConst()) continue;
    const Int128 divisor = n->src(1)->arg.scalar().AsWide(n->dtype);
    // Truncated and rounded down are the same from 0 up.
    if (divisor <= 1 || SafeBoundsOf(g, n->src(0)).lo < 0) continue;
    Ref x = n->src(0);
    Int128 offset = 0;
    if (x->op == Op::kAdd && x->src(1)->IsConst()) {
      // As a signed number; what matters is that the sum does not wrap.
      offset = x->src(1)->arg.scalar().AsWide(n->dtype);
      x = x->src(0);
      const Bounds b = SafeBoundsOf(g, x);
      if (!FitsDType(n->dtype, {b.lo + offset, b.hi + offset})) continue;
    }
    const auto [it, is_new] =
        index.try_emplace({x, Bits(divisor), Bits(sum.terms[i].coef)}, families.size());
    if (is_new)
      families.push_back(
          {.x = x, .divisor = divisor, .coef = sum.terms[i].coef, .members = {}, .remainders = {}});
    Family& f = families[it->second];
    if (f.remainders.insert(Bits(FloorMod(offset, divisor))).second)
      f.members.push_back({i, offset});
  }
  return families;
}

// What the members add up to, less x. Null if members are missing that are not constant.
std::optional<Int128> Excess(Graph& g, const Family& f) {
  const auto present = static_cast<Int128>(f.members.size());
  Int128 excess = 0;
  for (const Family::Member& m : f.members) excess += FloorDiv(m.offset, f.divisor);
  if (present == f.divisor) return excess;

  // floor((x + r) / c) is not constant iff a multiple of c lies in (lo + r, hi + r]: for r = -t
  // with lo < t <= hi.
  const Bounds b = SafeBoundsOf(g, f.x);
  if (!IsFinite(b) || b.hi - b.lo > present || b.hi - b.lo >= f.divisor) return std::nullopt;
  for (Int128 t = b.lo + 1; t <= b.hi; ++t) {
    if (!f.remainders.contains(Bits(FloorMod(-t, f.divisor)))) return std::nullopt;
  }
  // At x = lo all of the c quotients add up to lo; what the present ones do not give, the missing
  // ones do.
  Int128 missing = b.lo;
  for (const Family::Member& m : f.members)
    missing -= FloorDiv(b.lo + FloorMod(m.offset, f.divisor), f.divisor);
  return excess - missing;
}

}  // namespace

bool RecombineUnrolled(Graph& g, DType, SumParts& sum) {
  bool changed = false;
  for (const Family& f : FamiliesOf(g, sum)) {
    const std::optional<Int128> excess = Excess(g, f);
    if (!excess || !FitsInt64(*excess)) continue;
    const Int128 constant = sum.constant + *excess * f.coef;
    if (!FitsInt64(constant) && sum.terms[f.members[0].term].base->dtype == DType::kIndex) continue;
    sum.constant = constant;
    sum.terms[f.members[0].term].base = f.x;
    for (size_t i = 1; i < f.members.size(); ++i) sum.terms[f.members[i].term].coef = 0;
    changed = true;
  }
  if (!changed) return false;
  sum.terms.erase(
      std::remove_if(sum.terms.begin(), sum.terms.end(), [](const Term& t) { return t.coef == 0; }),
      sum.terms.end());
  return true;
}

}  // namespace kiln::symbolic
