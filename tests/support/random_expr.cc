#include "tests/support/random_expr.h"

#include <string>

#include "absl/strings/str_cat.h"

#include "core/dtype/check.h"
#include "core/uop/facts.h"

namespace kiln::support {
namespace {

constexpr Int128 kMaxMagnitude = Int128{1} << 40;

bool IsSmall(Graph& g, Ref n) {
  const Bounds& b = BoundsOf(g, n);
  return -kMaxMagnitude <= b.lo && b.hi <= kMaxMagnitude;
}

}  // namespace

RandomExpressions::RandomExpressions(Graph& g, uint64_t seed,
                                     const RandomExpressionOptions& options)
    : g_(g), options_(options), random_(seed) {
  for (int i = 0; i < options_.num_variables; ++i) {
    const int64_t extent = random_.Uniform(0, options_.max_extent);
    const int64_t lo = random_.Chance(1, 2) ? random_.Uniform(-extent, 3) : 0;
    leaves_.push_back(g_.Variable(absl::StrCat("v", i), lo, lo + extent));
  }
  for (int i = 0; i < options_.num_ranges; ++i) {
    leaves_.push_back(g_.Range(random_.Uniform(1, options_.max_extent), i));
  }
  for (int i = 0; i < options_.num_specials; ++i) {
    const Ref end = g_.Index(random_.Uniform(1, options_.max_extent));
    leaves_.push_back(g_.Special(absl::StrCat("gidx", i), end));
  }
  KILN_CHECK(!leaves_.empty());
}

symbolic::Bindings RandomExpressions::Values() {
  symbolic::Bindings bindings;
  for (Ref leaf : leaves_) {
    const Bounds& b = BoundsOf(g_, leaf);
    const auto lo = static_cast<int64_t>(b.lo), hi = static_cast<int64_t>(b.hi);
    const int64_t v = random_.Chance(1, 6)   ? lo
                      : random_.Chance(1, 5) ? hi
                                             : random_.Uniform(lo, hi);
    switch (leaf->op) {
      case Op::kVariable:
        bindings.variables[std::string(uop::VariableOf(leaf).name)] = Scalar::Int(v);
        break;
      case Op::kSpecial:
        bindings.variables[std::string(leaf->arg.payload().text)] = Scalar::Int(v);
        break;
      default:
        bindings.ranges[leaf->arg.range().axis_id] = v;
    }
  }
  return bindings;
}

Ref RandomExpressions::Leaf() { return random_.Pick(absl::MakeConstSpan(leaves_)); }

Ref RandomExpressions::Constant() {
  // Powers of two and multiples of each other are what indexing is made of.
  const int64_t c = random_.Chance(1, 2) ? int64_t{1} << random_.Uniform(0, 4)
                                         : random_.Uniform(0, options_.max_constant);
  return g_.Index(random_.Chance(1, 4) ? -c : c);
}

// NOLINTBEGIN(misc-no-recursion): as deep as the options say.
Ref RandomExpressions::Index(int depth) {
  if (depth <= 0) return random_.Chance(1, 4) ? Constant() : Leaf();
  const int64_t kind = random_.Uniform(0, 19);
  if (kind < 2) return Leaf();
  if (kind < 4) return g_.Add(Index(depth - 1), Constant());
  if (kind < 8) return g_.Add(Index(depth - 1), Index(depth - 1));
  if (kind < 12) return Product(depth);
  if (kind < 15) return Quotient(Op::kIDiv, depth);
  if (kind < 18) return Quotient(Op::kMod, depth);
  if (kind < 19) return g_.Max(Index(depth - 1), Index(depth - 1));
  return g_.Where(Bool(depth - 1), Index(depth - 1), Index(depth - 1));
}

Ref RandomExpressions::Product(int depth) {
  const Ref x = Index(depth - 1);
  const Ref product = g_.Mul(x, random_.Chance(7, 8) ? Constant() : Index(depth - 1));
  return IsSmall(g_, product) ? product : x;
}

Ref RandomExpressions::Quotient(Op op, int depth) {
  const Ref x = Index(depth - 1);
  return g_.Binary(op, x, Divisor(depth));
}

Ref RandomExpressions::Divisor(int depth) {
  if (options_.divide_by_expressions && random_.Chance(1, 10)) {
    return g_.Max(Index(depth - 2), g_.Index(random_.Uniform(1, 4)));
  }
  const Ref c = Constant();
  return IsIntConst(c, 0) ? g_.Index(3) : c;
}

Ref RandomExpressions::Comparison(int depth) {
  const Ref x = Index(depth - 1);
  const Ref y = random_.Chance(2, 3) ? Constant() : Index(depth - 1);
  return random_.Chance(3, 4) ? g_.Lt(x, y) : g_.Ne(x, y);
}

Ref RandomExpressions::Bool(int depth) {
  if (depth <= 0) return random_.Chance(1, 4) ? g_.Bool(random_.Chance(1, 2)) : Comparison(0);
  switch (random_.Uniform(0, 9)) {
    case 0:
      return g_.And(Bool(depth - 1), Bool(depth - 1));
    case 1:
      return g_.Or(Bool(depth - 1), Bool(depth - 1));
    case 2:
      return g_.Not(Bool(depth - 1));
    case 3:
      return g_.Where(Bool(depth - 1), Bool(depth - 1), Bool(depth - 1));
    default:
      return Comparison(depth);
  }
}

// NOLINTEND(misc-no-recursion)

}  // namespace kiln::support
