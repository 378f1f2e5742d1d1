// Normal forms of products, maxima, conjunctions and disjunctions. See sum.h.
#include <algorithm>

#include "absl/container/flat_hash_set.h"

#include "core/dtype/cast.h"
#include "core/symbolic/nary.h"
#include "core/symbolic/order.h"

namespace kiln::symbolic {
namespace {

bool Before(Ref a, Ref b) { return Compare(a, b) < 0; }

Int128 Value(Ref constant) { return constant->arg.scalar().AsWide(constant->dtype); }

// What is left of the operands when those that can never be the largest are dropped.
void DropDominated(Graph& g, std::vector<Ref>& operands) {
  size_t best = 0;
  for (size_t i = 1; i < operands.size(); ++i) {
    if (SafeBoundsOf(g, operands[i]).lo > SafeBoundsOf(g, operands[best]).lo) best = i;
  }
  const Int128 floor = SafeBoundsOf(g, operands[best]).lo;
  size_t kept = 0;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (i == best || SafeBoundsOf(g, operands[i]).hi > floor) operands[kept++] = operands[i];
  }
  operands.resize(kept);
}

// Sorts, and merges conditionals with one condition where that leaves a branch constant: max(c ? a : 0, c ? b : 1) is
// c ? max(a, b) : 1.
void SortAndMerge(Graph& g, Op op, std::vector<Ref>& operands) {
  std::sort(operands.begin(), operands.end(), Before);
  bool merged = false;
  for (size_t i = 0; i < operands.size(); ++i) {
    Ref& a = operands[i];
    if (a->op != Op::kWhere) continue;
    for (size_t j = operands.size(); j-- > i + 1;) {
      Ref b = operands[j];
      if (b->op != Op::kWhere || b->src(0) != a->src(0)) continue;
      const bool folds = (a->src(1)->IsConst() && b->src(1)->IsConst()) ||
                         (a->src(2)->IsConst() && b->src(2)->IsConst());
      if (!folds) continue;
      a = g.Where(a->src(0), g.Binary(op, a->src(1), b->src(1)),
                  g.Binary(op, a->src(2), b->src(2)));
      operands.erase(operands.begin() + static_cast<ptrdiff_t>(j));
      merged = true;
    }
  }
  if (merged) std::sort(operands.begin(), operands.end(), Before);
}

Int128 AllOnes(DType d) {
  return d == DType::kBool ? 1 : dtype::IsUnsigned(d) ? dtype::MaxValue(d) : -1;
}

}  // namespace

Ref MakeProduct(Graph& g, DType d, absl::Span<const Ref> factors) {
  Int128 constant = 1;
  std::vector<Ref> rest;
  for (Ref f : factors) {
    if (!f->IsConst()) {
      rest.push_back(f);
      continue;
    }
    const auto product =
        static_cast<Int128>(static_cast<UInt128>(constant) * static_cast<UInt128>(Value(f)));
    const std::optional<Scalar> wrapped = dtype::WrapInteger(product, d);
    if (!wrapped) return nullptr;
    constant = wrapped->AsWide(d);
  }
  if (constant == 0 || rest.empty()) return IntConst(g, d, constant);
  SortAndMerge(g, Op::kMul, rest);
  if (constant != 1) rest.push_back(IntConst(g, d, constant));
  return MakeChain(g, Op::kMul, rest);
}

Ref MakeMaximum(Graph& g, DType, absl::Span<const Ref> operands) {
  std::vector<Ref> rest(operands.begin(), operands.end());
  SortAndMerge(g, Op::kMax, rest);
  rest.erase(std::unique(rest.begin(), rest.end()), rest.end());
  DropDominated(g, rest);
  return MakeChain(g, Op::kMax, rest);
}

Ref MakeClauses(Graph& g, Op op, DType d, absl::Span<const Ref> operands) {
  const bool is_and = op == Op::kAnd;
  const Int128 neutral = is_and ? AllOnes(d) : 0, absorbing = is_and ? 0 : AllOnes(d);
  Int128 constant = neutral;
  absl::flat_hash_set<Ref> seen;
  std::vector<Ref> rest;
  for (Ref n : operands) {
    if (n->IsConst()) {
      constant = is_and ? constant & Value(n) : constant | Value(n);
    } else if (seen.insert(n).second) {
      rest.push_back(n);
    }
  }
  const bool contradicts = std::any_of(
      rest.begin(), rest.end(), [&](Ref n) { return IsNegation(n) && seen.contains(n->src(0)); });
  if (contradicts) constant = absorbing;
  if (constant == absorbing || rest.empty()) return IntConst(g, d, constant);
  if (d != DType::kBool) std::sort(rest.begin(), rest.end(), Before);
  if (constant != neutral) rest.push_back(IntConst(g, d, constant));
  return MakeChain(g, op, rest);
}

}  // namespace kiln::symbolic
