#include "core/symbolic/nary.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

#include "core/dtype/cast.h"
#include "core/symbolic/order.h"

namespace kiln::symbolic {
namespace {

// A product may name one factor many times; a chain of squares would have exponentially many.
constexpr Int128 kMaxFactors = 64;

// An operand of a tree, and how often it occurs (modulo 2^64 in a sum of a fixed width).
using Operand = Term;

bool IsTree(Ref n) {
  switch (n->op) {
    case Op::kAdd:
    case Op::kMul:
    case Op::kMax:
      return dtype::IsInteger(n->dtype);
    case Op::kAnd:
    case Op::kOr:
      return dtype::IsInteger(n->dtype) || n->dtype == DType::kBool;
    default:
      return false;
  }
}
bool IsTreeOf(Ref n, Op op) { return n->op == op; }
bool IsNormal(Ref n) { return (n->normal_marks & kNormalTree) != 0; }

// The distinct operands, from the youngest to the oldest. Pre: IsTree(n).
std::vector<Operand> CountOperands(Ref n) {
  const auto by_id = [](const Operand& a, const Operand& b) { return a.base->id < b.base->id; };
  std::vector<Operand> heap = {{n, 1}}, result;
  const auto pop = [&] {
    std::pop_heap(heap.begin(), heap.end(), by_id);
    const Operand t = heap.back();
    heap.pop_back();
    return t;
  };
  while (!heap.empty()) {
    Operand t = pop();
    while (!heap.empty() && heap.front().base == t.base) t.coef += pop().coef;
    // Exact below 2^64. Beyond, only sums of fixed width go on, and those are modulo 2^64.
    const bool is_modular = n->op == Op::kAdd && n->dtype != DType::kIndex;
    if (t.coef >> 64 != 0) t.coef = (t.coef & UINT64_MAX) + (is_modular ? 0 : Int128{1} << 64);
    if (!IsTreeOf(t.base, n->op)) {
      result.push_back(t);
      continue;
    }
    for (Ref s : t.base->src()) {
      heap.push_back({s, t.coef});
      std::push_heap(heap.begin(), heap.end(), by_id);
    }
  }
  return result;
}

// The distinct operands of AND and OR, each where it comes first. Pre: IsTree(n).
void OrderedOperands(Ref n, std::vector<Ref>& out) {
  absl::flat_hash_set<Ref> seen;
  std::vector<Ref> stack = {n};
  while (!stack.empty()) {
    Ref m = stack.back();
    stack.pop_back();
    if (!seen.insert(m).second) continue;
    if (IsTreeOf(m, n->op)) {
      stack.push_back(m->src(1));
      stack.push_back(m->src(0));
    } else {
      out.push_back(m);
    }
  }
}

bool KeepsOrder(Op op) { return op == Op::kAnd || op == Op::kOr; }

bool TooManyFactors(Op op, absl::Span<const Operand> operands) {
  if (op != Op::kMul) return false;
  Int128 sum = 0;
  for (const Operand& t : operands) sum += t.coef;
  return sum > kMaxFactors;
}

// The tree of `n` over other operands, with its own structure; for what has no normal form. Marked,
// so that it stays.
Ref Transplant(Graph& g, Ref n, absl::Span<const Ref> from, absl::Span<const Ref> to) {
  absl::flat_hash_map<Ref, Ref> map;
  for (size_t i = 0; i < from.size(); ++i) map[from[i]] = to[i];
  std::vector<Ref> stack = {n};
  while (!stack.empty()) {
    Ref m = stack.back();
    Ref ready[2] = {nullptr, nullptr};
    for (int i = 0; i < 2; ++i) {
      if (auto it = map.find(m->src(i)); it != map.end()) {
        ready[i] = it->second;
      } else {
        stack.push_back(m->src(i));
      }
    }
    if (ready[0] == nullptr || ready[1] == nullptr) continue;
    stack.pop_back();
    Ref copy = g.WithSources(m, ready);
    copy->normal_marks |= kNormalTree;
    map[m] = copy;
  }
  return map[n];
}

// Replaces trees of `op` among the operands by their operands.
std::vector<Ref> Flatten(Op op, absl::Span<const Ref> operands) {
  std::vector<Ref> flat;
  for (Ref n : operands) {
    if (!IsTreeOf(n, op)) {
      flat.push_back(n);
    } else if (KeepsOrder(op)) {
      OrderedOperands(n, flat);
    } else {
      for (const Operand& t : CountOperands(n)) {
        const Int128 times = op == Op::kMul ? std::min(t.coef, kMaxFactors + 1) : 1;
        flat.insert(flat.end(), static_cast<size_t>(times), t.base);
      }
    }
  }
  return flat;
}

}  // namespace

Ref MakeChain(Graph& g, Op op, absl::Span<const Ref> operands) {
  Ref chain = operands[0];
  for (Ref n : operands.subspan(1)) {
    chain = g.Binary(op, chain, n);
    chain->normal_marks |= kNormalTree;
  }
  return chain;
}

bool NaryOperands(Ref n, std::vector<Ref>& out) {
  if (!IsTree(n) || IsNormal(n)) return false;
  if (KeepsOrder(n->op)) {
    OrderedOperands(n, out);
    return true;
  }
  const std::vector<Operand> operands = CountOperands(n);
  if (TooManyFactors(n->op, operands)) return false;
  for (const Operand& t : operands) out.push_back(t.base);
  return true;
}

Ref RebuildNary(Graph& g, Ref n, absl::Span<const Ref> operands) {
  const Op op = n->op;
  std::vector<Ref> before;
  Ref result = nullptr;
  if (KeepsOrder(op)) {
    OrderedOperands(n, before);
    result = MakeClauses(g, op, n->dtype, Flatten(op, operands));
  } else {
    const std::vector<Operand> counts = CountOperands(n);
    std::vector<Term> terms;
    std::vector<Ref> factors;
    for (size_t i = 0; i < counts.size(); ++i) {
      before.push_back(counts[i].base);
      terms.push_back({operands[i], counts[i].coef});
      if (op == Op::kMul)
        factors.insert(factors.end(), static_cast<size_t>(counts[i].coef), operands[i]);
    }
    if (op == Op::kAdd) {
      result = MakeSum(g, n->dtype, terms, 0);
    } else if (op == Op::kMul) {
      factors = Flatten(op, factors);
      if (factors.size() <= static_cast<size_t>(kMaxFactors))
        result = MakeProduct(g, n->dtype, factors);
    } else {
      result = MakeMaximum(g, n->dtype, Flatten(op, operands));
    }
  }
  return result != nullptr ? result : Transplant(g, n, before, operands);
}

Ref Normalize(Graph& g, Ref n) {
  std::vector<Ref> operands;
  if (!NaryOperands(n, operands)) return nullptr;
  Ref result = RebuildNary(g, n, operands);
  return result == n ? nullptr : result;
}

}  // namespace kiln::symbolic
