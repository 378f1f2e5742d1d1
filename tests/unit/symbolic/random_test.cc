// Properties of simplification on random expressions.
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/dtype/int128.h"
#include "core/symbolic/evaluate.h"
#include "core/symbolic/render.h"
#include "core/symbolic/simplify.h"
#include "core/symbolic/validity.h"
#include "core/uop/facts.h"
#include "core/uop/walk.h"
#include "tests/support/copy_graph.h"
#include "tests/support/minimise.h"
#include "tests/support/operations.h"
#include "tests/support/random_expr.h"
#include "tests/support/random_runs.h"

namespace kiln::symbolic {
namespace {

constexpr int kValuesPerExpression = 8;
constexpr int kFailuresShown = 5;

// What is wrong with an expression, or nothing. It has no division by 0 in it, or else nothing is
// wrong.
using Problem = std::optional<std::string>;

std::string Text(Ref n) { return Render(n, 2000); }

std::string Text(Scalar value) { return absl::StrCat(value.AsInt()); }

std::string Text(const Bindings& values) {
  std::string text;
  for (const auto& [name, value] : values.variables)
    absl::StrAppend(&text, name, "=", value.AsInt(), " ");
  for (const auto& [axis, value] : values.ranges)
    absl::StrAppend(&text, "ridx", axis, "=", value, " ");
  return text;
}

// Values of the leaves of one expression. Deterministic by seed.
Bindings RandomValues(Graph& g, Ref root, support::Random& random) {
  Bindings values;
  for (Ref n : uop::Toposort(root)) {
    const bool is_leaf = n->Is(Op::kVariable) || n->Is(Op::kRange) || n->Is(Op::kSpecial);
    if (!is_leaf) continue;
    const Bounds& b = BoundsOf(g, n);
    const auto lo = static_cast<int64_t>(b.lo);
    const auto hi = static_cast<int64_t>(b.hi);
    if (lo > hi) continue;
    const int64_t v =
        random.Chance(1, 3) ? (random.Chance(1, 2) ? lo : hi) : random.Uniform(lo, hi);
    if (n->Is(Op::kRange)) {
      values.ranges[n->arg.range().axis_id] = v;
    } else if (n->Is(Op::kSpecial)) {
      values.variables[std::string(n->arg.payload().text)] = Scalar::Int(v);
    } else {
      values.variables[std::string(uop::VariableOf(n).name)] = Scalar::Int(v);
    }
  }
  return values;
}

// "v0 in [0, 3] ridx1 in [0, 7]"
std::string LeafBounds(Graph& g, Ref root) {
  std::string text;
  for (Ref n : uop::Toposort(root)) {
    if (!n->Is(Op::kVariable) && !n->Is(Op::kRange) && !n->Is(Op::kSpecial)) continue;
    const Bounds& b = BoundsOf(g, n);
    absl::StrAppend(&text, Text(n), " in [", ToString(b.lo), ", ", ToString(b.hi), "] ");
  }
  return text;
}

Problem OutsideBounds(Graph& g, Ref n, Scalar value, const Bindings& values) {
  const Bounds& b = BoundsOf(g, n);
  if (b.Contains(value.AsInt())) return std::nullopt;
  return absl::StrCat(Text(n), " is ", Text(value), " at ", Text(values), "but has bounds [",
                      ToString(b.lo), ", ", ToString(b.hi), "]");
}

// The values of `root` and `simplified` at random points, given `condition` if there is one.
Problem ValuesDiffer(Graph& g, Ref root, Ref simplified, Ref condition, uint64_t seed) {
  support::Random random(seed);
  for (int k = 0; k < kValuesPerExpression; ++k) {
    const Bindings values = RandomValues(g, root, random);
    const absl::StatusOr<Scalar> want = Evaluate(g, root, values);
    if (!want.ok()) return std::nullopt;
    if (condition != nullptr) {
      const absl::StatusOr<Scalar> holds = Evaluate(g, condition, values);
      if (!holds.ok() || !holds->AsBool()) continue;
    }
    const absl::StatusOr<Scalar> got = Evaluate(g, simplified, values);
    if (!got.ok())
      return absl::StrCat(Text(simplified), " at ", Text(values), ": ", got.status().message());
    if (*got != *want) {
      return absl::StrCat(Text(simplified), " is ", Text(*got), " at ", Text(values), "not ",
                          Text(*want));
    }
    if (const Problem p = OutsideBounds(g, root, *want, values)) return p;
    if (const Problem p = OutsideBounds(g, simplified, *want, values)) return p;
  }
  return std::nullopt;
}

// Division by 0 is the one error that simplification may report, and only where it may happen.
Problem ErrorOf(Graph& g, Ref root, const absl::Status& status) {
  if (status.code() == absl::StatusCode::kInvalidArgument) {
    for (Ref n : uop::Toposort(root)) {
      const bool divides = n->Is(Op::kIDiv) || n->Is(Op::kMod);
      if (divides && BoundsOf(g, n->src(1)).Contains(0)) return std::nullopt;
    }
  }
  return absl::StrCat("error: ", std::string(status.message()));
}

Problem ValueChanges(Graph& g, Ref root, uint64_t seed) {
  const absl::StatusOr<Ref> simplified = Simplify(g, root);
  if (!simplified.ok()) return ErrorOf(g, root, simplified.status());
  return ValuesDiffer(g, root, *simplified, nullptr, seed);
}

Problem Grows(Graph& g, Ref root, uint64_t) {
  for (Effort effort : {Effort::kFold, Effort::kSymbolic, Effort::kFull}) {
    const absl::StatusOr<Ref> simplified = Simplify(g, root, effort);
    if (!simplified.ok()) return std::nullopt;
    const double before = support::Operations(root);
    const double after = support::Operations(*simplified);
    if (after > before) {
      return absl::StrCat("effort ", static_cast<int>(effort), ": ", before, " operations became ",
                          after, ": ", Text(*simplified));
    }
  }
  return std::nullopt;
}

Problem IsNotIdempotent(Graph& g, Ref root, uint64_t) {
  const absl::StatusOr<Ref> once = Simplify(g, root);
  if (!once.ok()) return std::nullopt;
  // In a graph that remembers nothing of the first time.
  Graph fresh;
  support::Random random(1);
  Ref copy = support::CopyShuffled(fresh, *once, random);
  const absl::StatusOr<Ref> twice = Simplify(fresh, copy);
  if (!twice.ok()) return absl::StrCat("error: ", twice.status().message());
  if (*twice == copy) return std::nullopt;
  return absl::StrCat(Text(copy), " became ", Text(*twice));
}

Problem DependsOnOrder(Graph& g, Ref root, uint64_t seed) {
  const absl::StatusOr<Ref> here = Simplify(g, root);
  if (!here.ok()) return std::nullopt;
  Graph other;
  support::Random random(seed);
  const absl::StatusOr<Ref> there = Simplify(other, support::CopyShuffled(other, root, random));
  if (!there.ok()) return absl::StrCat("error: ", there.status().message());
  if (uop::KeyOf(g, *here) == uop::KeyOf(other, *there)) return std::nullopt;
  return absl::StrCat(Text(*here), " here, ", Text(*there), " elsewhere");
}

Problem ConjunctionChanges(Graph& g, Ref condition, uint64_t seed) {
  const absl::StatusOr<Ref> simplified = SimplifyConjunction(g, condition);
  if (!simplified.ok()) return ErrorOf(g, condition, simplified.status());
  return ValuesDiffer(g, condition, *simplified, nullptr, seed);
}

// `root` is WHERE(condition, x, y): x is to be simplified given the condition.
Problem GivenChanges(Graph& g, Ref root, uint64_t seed) {
  if (!root->Is(Op::kWhere)) return std::nullopt;
  Ref condition = root->src(0);
  Ref x = root->src(1);
  const absl::StatusOr<Ref> simplified = SimplifyGiven(g, x, condition);
  if (!simplified.ok()) return ErrorOf(g, root, simplified.status());
  if (*simplified == nullptr) return ValuesDiffer(g, condition, g.Bool(false), nullptr, seed);
  // So that the values are those of all leaves.
  return ValuesDiffer(g, root, *simplified, condition, seed);
}

// Kernels compute an index before they look at its gate: no division by 0 may come in, not even
// where the condition is false.
Problem GivenDividesByZero(Graph& g, Ref root, uint64_t seed) {
  if (!root->Is(Op::kWhere)) return std::nullopt;
  Ref x = root->src(1);
  const absl::StatusOr<Ref> simplified = SimplifyGiven(g, x, root->src(0));
  if (!simplified.ok() || *simplified == nullptr) return std::nullopt;
  support::Random random(seed);
  for (int k = 0; k < kValuesPerExpression; ++k) {
    const Bindings values = RandomValues(g, root, random);
    if (!Evaluate(g, x, values).ok()) return std::nullopt;
    const absl::StatusOr<Scalar> got = Evaluate(g, *simplified, values);
    if (!got.ok()) {
      return absl::StrCat(Text(*simplified), " at ", Text(values), ": ",
                          std::string(got.status().message()));
    }
  }
  return std::nullopt;
}

enum class Shape { kIndex, kBool, kConjunction, kWhere };

Ref RandomRoot(Graph& g, Shape shape, uint64_t seed) {
  support::RandomExpressions random(g, seed, {.depth = 2 + static_cast<int>(seed % 4)});
  switch (shape) {
    case Shape::kIndex:
      return random.Index();
    case Shape::kBool:
      return random.Bool();
    case Shape::kConjunction:
      return g.And(random.Bool(), g.And(random.Bool(), random.Bool()));
    default:
      return g.Where(g.And(random.Bool(), random.Bool()), random.Index(), g.Index(0));
  }
}

// Tries random expressions and shows the smallest ones that have a problem.
void ExpectNone(Problem (*problem)(Graph&, Ref, uint64_t), Shape shape) {
  const support::RandomRuns runs = support::RandomRunsFromEnvironment();
  uint64_t failures = 0;
  for (uint64_t seed = runs.first_seed; seed < runs.first_seed + runs.count; ++seed) {
    Graph g;
    Ref root = RandomRoot(g, shape, seed);
    if (!problem(g, root, seed).has_value()) continue;
    if (++failures > kFailuresShown) continue;
    root = support::Minimise(g, root, [&](Ref n) { return problem(g, n, seed).has_value(); });
    ADD_FAILURE() << "seed " << seed << ": " << Text(root) << "\n  " << *problem(g, root, seed)
                  << "\n  with " << LeafBounds(g, root);
  }
  EXPECT_EQ(failures, 0) << "of " << runs.count;
}

TEST(RandomExpressions, IndexKeepsItsValueWithinBounds) { ExpectNone(ValueChanges, Shape::kIndex); }
TEST(RandomExpressions, BoolKeepsItsValueWithinBounds) { ExpectNone(ValueChanges, Shape::kBool); }
TEST(RandomExpressions, IndexDoesNotGrow) { ExpectNone(Grows, Shape::kIndex); }
TEST(RandomExpressions, BoolDoesNotGrow) { ExpectNone(Grows, Shape::kBool); }
TEST(RandomExpressions, SimplifyingAgainChangesNothing) {
  ExpectNone(IsNotIdempotent, Shape::kIndex);
}
TEST(RandomExpressions, SimplifyingBoolAgainChangesNothing) {
  ExpectNone(IsNotIdempotent, Shape::kBool);
}
TEST(RandomExpressions, IndexDoesNotDependOnTheOrderOfNodes) {
  ExpectNone(DependsOnOrder, Shape::kIndex);
}
TEST(RandomExpressions, BoolDoesNotDependOnTheOrderOfNodes) {
  ExpectNone(DependsOnOrder, Shape::kBool);
}
TEST(RandomExpressions, ConjunctionKeepsItsValue) {
  ExpectNone(ConjunctionChanges, Shape::kConjunction);
}
TEST(RandomExpressions, GivenAConditionTheValueIsKept) { ExpectNone(GivenChanges, Shape::kWhere); }

TEST(RandomExpressions, GivenAConditionNoDivisionByZeroComesIn) {
  ExpectNone(GivenDividesByZero, Shape::kWhere);
}

}  // namespace
}  // namespace kiln::symbolic
