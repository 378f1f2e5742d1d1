#include "core/symbolic/factor.h"

#include <numeric>
#include <optional>
#include <vector>

#include "core/dtype/check.h"
#include "core/dtype/int128.h"
#include "core/symbolic/exact.h"
#include "core/uop/node_map.h"

namespace kiln::symbolic {
namespace {

uint64_t Magnitude(int64_t v) {
  return v < 0 ? -static_cast<uint64_t>(v) : static_cast<uint64_t>(v);
}

// Pre: op is kMul. The constant operand and the other one; nullopt if there is no constant.
struct Scaled {
  Ref factor, rest;
};
std::optional<Scaled> SplitProduct(Ref n) {
  if (n->src(0)->IsConst()) return Scaled{n->src(0), n->src(1)};
  if (n->src(1)->IsConst()) return Scaled{n->src(1), n->src(0)};
  return std::nullopt;
}

// 1 for the large ones of uint64.
int64_t ConstantFactor(Ref n) {
  const Int128 value = n->arg.scalar().AsWide(n->dtype);
  return FitsInt64(value) ? static_cast<int64_t>(value) : 1;
}

int64_t ProductFactor(Ref n) {
  Int128 result = 1;
  while (n->op == Op::kMul) {
    const std::optional<Scaled> scaled = SplitProduct(n);
    if (!scaled) break;
    const Int128 product = result * ConstantFactor(scaled->factor);
    if (!FitsInt64(product)) break;
    result = product;
    n = scaled->rest;
  }
  return static_cast<int64_t>(result);
}

// Of what is not a sum of integers; sums of bools are none.
int64_t TermFactor(Ref n) {
  if (n->IsConst()) return ConstantFactor(n);
  return n->op == Op::kMul && dtype::IsInteger(n->dtype) ? ProductFactor(n) : 1;
}

struct Quotient {
  bool known = false;
  Ref value = nullptr;  // Null: not exact.
};

Quotient DivideConst(Graph& g, Ref n, int64_t d) {
  const Int128 value = n->arg.scalar().AsWide(n->dtype);
  const Int128 quotient = value / d;
  const bool exact = quotient * d == value && FitsInt64(quotient) &&
                     (n->dtype == DType::kIndex || (dtype::MinValue(n->dtype) <= quotient &&
                                                    quotient <= dtype::MaxValue(n->dtype)));
  return {true, exact ? g.Int(n->dtype, static_cast<int64_t>(quotient)) : nullptr};
}

// The quotient of a sum or product as far as those of its operands, in `known`, decide it. If they
// do not yet, not known; `*missing` is then the operand to look at next.
Quotient DivideOperation(Graph& g, Ref n, const uop::NodeMap<Quotient>& known, Ref* missing) {
  const Quotient left = known.Get(n->src(0));
  if (!left.known) {
    *missing = n->src(0);
    return {};
  }
  const bool is_sum = n->op == Op::kAdd;
  if (!is_sum && left.value != nullptr) return {true, g.Mul(left.value, n->src(1))};
  if (is_sum && left.value == nullptr) return {true, nullptr};
  const Quotient right = known.Get(n->src(1));
  if (!right.known) {
    *missing = n->src(1);
    return {};
  }
  if (right.value == nullptr) return {true, nullptr};
  return {true, is_sum ? g.Add(left.value, right.value) : g.Mul(n->src(0), right.value)};
}

}  // namespace

int64_t Gcd(int64_t a, int64_t b) {
  const uint64_t gcd = std::gcd(Magnitude(a), Magnitude(b));
  return gcd <= INT64_MAX ? static_cast<int64_t>(gcd) : 1;
}

int64_t ConstFactor(Ref n) {
  if (n->op != Op::kAdd || !dtype::IsInteger(n->dtype)) return TermFactor(n);
  // The terms of the sum, in whatever nesting.
  int64_t factor = 0;
  std::vector<Ref> terms = {n};
  uop::NodeMap<bool> seen;
  while (!terms.empty() && factor != 1) {
    const Ref term = terms.back();
    terms.pop_back();
    if (seen.Get(term)) continue;
    seen[term] = true;
    if (term->op == Op::kAdd) {
      terms.insert(terms.end(), term->src().begin(), term->src().end());
    } else {
      factor = Gcd(factor, TermFactor(term));
    }
  }
  return factor;
}

Ref Divide(Graph& g, Ref n, int64_t d) {
  KILN_DCHECK(d != 0);
  if (d == 1) return n;
  if (!dtype::IsInteger(n->dtype)) return nullptr;
  if (n->op == Op::kMul && IsIntConst(n->src(1), d) && IsExact(g, n)) return n->src(0);
  uop::NodeMap<Quotient> known;
  std::vector<Ref> stack = {n};
  while (!stack.empty()) {
    const Ref top = stack.back();
    Quotient quotient = {true, nullptr};
    Ref missing = nullptr;
    if (top->IsConst()) {
      quotient = DivideConst(g, top, d);
    } else if ((top->op == Op::kAdd || top->op == Op::kMul) && IsExact(g, top)) {
      quotient = DivideOperation(g, top, known, &missing);
    }
    if (quotient.known) {
      known[top] = quotient;
      stack.pop_back();
    } else {
      stack.push_back(missing);
    }
  }
  return known.Get(n).value;
}

bool IsIncreasing(Ref n) {
  std::vector<Ref> stack = {n};
  uop::NodeMap<bool> seen;
  while (!stack.empty()) {
    const Ref m = stack.back();
    stack.pop_back();
    if (seen.Get(m)) continue;
    seen[m] = true;
    switch (m->op) {
      case Op::kConst:
      case Op::kVariable:
      case Op::kBind:
      case Op::kRange:
      case Op::kSpecial:
        break;
      case Op::kAdd:
        stack.insert(stack.end(), m->src().begin(), m->src().end());
        break;
      case Op::kMul:
      case Op::kIDiv:
        if (!IsIntConst(m->src(1)) || m->src(1)->IntValue() < (m->op == Op::kMul ? 0 : 1))
          return false;
        stack.push_back(m->src(0));
        break;
      default:
        return false;
    }
  }
  return true;
}

}  // namespace kiln::symbolic
