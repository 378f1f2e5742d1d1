#include "core/symbolic/sum.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"

#include "core/dtype/cast.h"
#include "core/symbolic/nary.h"
#include "core/symbolic/order.h"
#include "core/symbolic/recombine.h"

namespace kiln::symbolic {
namespace {

// An operand on its way into the sum. An atom is not taken apart.
struct Item {
  Ref base;
  Int128 coef;
  bool is_atom;
};

// Sources have smaller ids than users: taking the largest id first, and an atom after what may
// still become it, meets every node once, with its whole coefficient.
struct ById {
  bool operator()(const Item& a, const Item& b) const {
    return a.base->id != b.base->id ? a.base->id < b.base->id : a.is_atom > b.is_atom;
  }
};

// Merges like terms of items that come in any order. Confined to one call of MakeSum.
class Collector {
 public:
  explicit Collector(DType d) : dtype_(d) {}

  void Push(Ref base, Int128 coef, bool is_atom) {
    items_.push_back({base, coef, is_atom});
    std::push_heap(items_.begin(), items_.end(), ById());
  }

  // False if a number does not fit index.
  bool Run(SumParts& sum) {
    while (!items_.empty()) {
      Item t = Pop();
      // No more than 2^32 times 64 bits.
      while (!items_.empty() && items_.front().base == t.base &&
             items_.front().is_atom == t.is_atom)
        t.coef += Pop().coef;
      if (!Reduce(t.coef)) return false;
      if (t.coef == 0) continue;
      if (t.base->IsConst()) {
        sum.constant += Product(t.coef, t.base->arg.scalar().AsWide(dtype_));
        if (!Reduce(sum.constant)) return false;
      } else if (t.is_atom) {
        sum.terms.push_back({t.base, t.coef});
      } else if (t.base->op == Op::kAdd) {
        Push(t.base->src(0), t.coef, false);
        Push(t.base->src(1), t.coef, false);
      } else {
        const std::optional<Term> factor = SplitFactor(t.base);
        if (!factor) return false;
        if (factor->coef == 0) continue;
        Int128 coef = Product(t.coef, factor->coef);
        if (!Reduce(coef)) return false;
        if (coef != 0) Push(factor->base, coef, true);
      }
    }
    return true;
  }

 private:
  Item Pop() {
    std::pop_heap(items_.begin(), items_.end(), ById());
    const Item t = items_.back();
    items_.pop_back();
    return t;
  }
  // Only the low 64 bits matter on fixed widths, and those are right in unsigned arithmetic.
  static Int128 Product(Int128 a, Int128 b) {
    return static_cast<Int128>(static_cast<UInt128>(a) * static_cast<UInt128>(b));
  }
  bool Reduce(Int128& v) const {
    const std::optional<Scalar> wrapped = dtype::WrapInteger(v, dtype_);
    if (!wrapped) return false;
    v = wrapped->AsWide(dtype_);
    return true;
  }

  DType dtype_;
  std::vector<Item> items_;
};

// Pre: the parts are in normal form but for their order.
Ref Chain(Graph& g, DType d, const SumParts& sum) {
  std::vector<Ref> terms;
  terms.reserve(sum.terms.size());
  for (const Term& t : sum.terms)
    terms.push_back(t.coef == 1 ? t.base : g.Mul(t.base, IntConst(g, d, t.coef)));
  std::sort(terms.begin(), terms.end(), [](Ref a, Ref b) { return Compare(a, b) < 0; });
  if (sum.constant != 0 || terms.empty()) terms.push_back(IntConst(g, d, sum.constant));
  return MakeChain(g, Op::kAdd, terms);
}

}  // namespace

Ref MakeSum(Graph& g, DType d, absl::Span<const Term> terms, Int128 constant) {
  SumParts sum;
  Collector collector(d);
  for (const Term& t : terms) collector.Push(t.base, t.coef, false);
  sum.constant = constant;
  if (!collector.Run(sum)) return nullptr;
  // Each round that goes on leaves fewer terms or fewer quotients.
  while (Recombine(g, d, sum)) {
    Collector again(d);
    for (const Term& t : sum.terms) again.Push(t.base, t.coef, false);
    sum.terms.clear();
    if (!again.Run(sum)) return nullptr;
  }
  if (!dtype::WrapInteger(sum.constant, d)) return nullptr;
  return Chain(g, d, sum);
}

}  // namespace kiln::symbolic
