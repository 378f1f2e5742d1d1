// Simplification keeps the value of random expressions of all dtypes: integers that wrap, floats with NaN, infinities and
// signed zeros, truth values, and casts between them.
#include <cmath>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/dtype/alu.h"
#include "core/symbolic/evaluate.h"
#include "core/symbolic/simplify.h"
#include "core/uop/facts.h"
#include "core/uop/text.h"
#include "core/uop/walk.h"
#include "tests/support/copy_graph.h"
#include "tests/support/minimise.h"
#include "tests/support/random.h"
#include "tests/support/random_runs.h"
#include "tests/unit/rewrite/rule_instances.h"
#include "tests/unit/rewrite/rule_observe.h"

namespace kiln::symbolic {
namespace {

constexpr int kValuesPerExpression = 12;
constexpr int kFailuresShown = 5;

constexpr DType kIntegers[] = {DType::kInt8,  DType::kUInt8,  DType::kInt16, DType::kUInt16,
                               DType::kInt32, DType::kUInt32, DType::kInt64, DType::kUInt64};
constexpr DType kFloats[] = {DType::kFp8E4M3,  DType::kFp8E5M2, DType::kFloat16,
                             DType::kBFloat16, DType::kFloat32, DType::kFloat64};
constexpr Op kUnaryOps[] = {Op::kNeg,  Op::kRecip, Op::kSqrt, Op::kExp2,
                            Op::kLog2, Op::kSin,   Op::kTrunc};
// Those that many rules are about are in here more than once.
constexpr Op kBinaryOps[] = {Op::kAdd, Op::kAdd,  Op::kAdd,  Op::kMul,  Op::kMul,     Op::kMul,
                             Op::kSub, Op::kMax,  Op::kMax,  Op::kFDiv, Op::kPow,     Op::kMod,
                             Op::kMod, Op::kIDiv, Op::kIDiv, Op::kAnd,  Op::kAnd,     Op::kOr,
                             Op::kOr,  Op::kXor,  Op::kShl,  Op::kShr,  Op::kThreefry};
constexpr Op kComparisons[] = {Op::kCmpLt, Op::kCmpLt, Op::kCmpLt,
                               Op::kCmpNe, Op::kCmpNe, Op::kCmpEq};

// Expressions over leaves of all kinds, parts of which occur more than once. Confined to the graph's thread.
class TypedExpressions {
 public:
  TypedExpressions(Graph& g, uint64_t seed)
      : g_(g), source_(seed, rewrite::Domain::kAny), depth_(2 + static_cast<int>(seed % 4)) {}

  Ref Make(DType d) { return Make(d, depth_); }
  support::Random& random() { return source_.random(); }

 private:
  // NOLINTBEGIN(misc-no-recursion): as deep as `depth`.
  Ref Make(DType d, int depth) {
    if (Ref again = MadeBefore(d); again != nullptr && Chance(1, 5)) return again;
    made_.push_back(depth <= 0 ? source_.Leaf(g_, d) : Operation(d, depth - 1));
    return made_.back();
  }

  Ref Operation(DType d, int depth) {
    const int64_t kind = random().Uniform(0, 19);
    if (kind < 2) return g_.Where(Make(DType::kBool, depth), Make(d, depth), Make(d, depth));
    if (kind < 4) return Conversion(d, depth);
    if (d == DType::kIndex) return source_.Leaf(g_, d);
    if (d == DType::kBool && kind < 12) return Comparison(depth);
    if (d == DType::kBool && kind < 14) return g_.Not(Make(d, depth));
    if (kind < 5) {
      return g_.Make(Op::kMulAcc, d, {Make(d, depth), Operand(d, depth), Operand(d, depth)});
    }
    if (kind < 8) {
      const Op op = Pick(kUnaryOps);
      return IsDefined(op, d) ? g_.Unary(op, Make(d, depth)) : Make(d, depth);
    }
    Op op = Pick(kBinaryOps);
    while (!IsDefined(op, d)) op = Pick(kBinaryOps);
    return g_.Binary(op, Make(d, depth), Operand(d, depth));
  }

  Ref Operand(DType d, int depth) {
    return Chance(1, 2) ? source_.Constant(g_, d) : Make(d, depth);
  }

  Ref Comparison(int depth) {
    const DType d = AnyDType();
    Ref x = Make(d, depth);
    return g_.Binary(Pick(kComparisons), x, Operand(d, depth));
  }

  Ref Conversion(DType d, int depth) {
    const DType from = AnyDType();
    // What does not fit index has no value there.
    if (d == DType::kIndex && (dtype::IsFloat(from) || dtype::SizeBits(from) > 32))
      return Make(d, depth);
    Ref x = Make(from, depth);
    const bool same_size = from != DType::kBool && d != DType::kBool && d != DType::kIndex &&
                           dtype::SizeBits(from) == dtype::SizeBits(d);
    return same_size && Chance(1, 2) ? g_.Make(Op::kBitcast, d, {x}) : g_.Cast(x, d);
  }
  // NOLINTEND(misc-no-recursion)

  DType AnyDType() {
    const int64_t kind = random().Uniform(0, 9);
    return kind < 5   ? Pick(kIntegers)
           : kind < 7 ? Pick(kFloats)
           : kind < 8 ? DType::kBool
                      : DType::kIndex;
  }
  Ref MadeBefore(DType d) {
    for (int tries = 0; tries < 4 && !made_.empty(); ++tries) {
      Ref n = random().Pick(absl::MakeConstSpan(made_));
      if (n->dtype == d) return n;
    }
    return nullptr;
  }
  static bool IsDefined(Op op, DType d) { return dtype::IsDefined(uop::ToAlu(op), d); }
  bool Chance(int numerator, int denominator) { return source_.Chance(numerator, denominator); }
  template <typename T, size_t n>
  T Pick(const T (&choices)[n]) {
    return random().Pick(absl::MakeConstSpan(choices));
  }

  Graph& g_;
  rewrite::RandomSource source_;
  const int depth_;
  std::vector<Ref> made_;
};

// What is wrong with an expression, or nothing.
using Problem = std::optional<std::string>;

std::string Text(DType d, Scalar v) {
  return dtype::IsFloat(d) ? absl::StrCat(v.AsFloat()) : ToString(v.AsWide(d));
}

std::string Text(Ref root, const Bindings& values) {
  std::string text;
  for (Ref n : uop::Toposort(root)) {
    if (n->op == Op::kVariable) {
      const std::string name(uop::VariableOf(n).name);
      absl::StrAppend(&text, name, " = ", Text(n->dtype, values.variables.at(name)), ", ");
    } else if (n->op == Op::kParam) {
      absl::StrAppend(&text, "a buffer of ", std::string(dtype::Name(n->dtype)), ": ");
      for (Scalar v : values.buffers.at(uop::ParamOf(n).number))
        absl::StrAppend(&text, Text(n->dtype, v), ", ");
    }
  }
  for (const auto& [axis, value] : values.ranges)
    absl::StrAppend(&text, "r", axis, " = ", value, ", ");
  return text;
}

// Whether the larger of -0 and 0 is asked for: either is right.
bool SeesMaximumOfZeros(Graph& g, Ref root, const Bindings& values) {
  for (Ref n : uop::Toposort(root)) {
    if (n->op != Op::kMax || !dtype::IsFloat(n->dtype)) continue;
    const absl::StatusOr<Scalar> a = Evaluate(g, n->src(0), values),
                                 b = Evaluate(g, n->src(1), values);
    if (a.ok() && b.ok() && a->AsFloat() == 0 && b->AsFloat() == 0 && *a != *b) return true;
  }
  return false;
}

// Whether an index leaves int64, be it in a branch that is not taken: rules look at all branches.
bool SeesIndexOverflow(Graph& g, Ref root, const Bindings& values) {
  for (Ref n : uop::Toposort(root)) {
    if (n->dtype == DType::kIndex && uop::IsAlu(n->op) && !Evaluate(g, n, values).ok()) return true;
  }
  return false;
}

bool IsWithinBounds(Graph& g, Ref n, Scalar v) {
  if (!dtype::IsFloat(n->dtype)) return SafeBoundsOf(g, n).Contains(v.AsWide(n->dtype));
  const uop::FloatBounds b = uop::FloatBoundsOf(g, n);
  const double d = v.AsFloat();
  return std::isnan(d) ? std::isinf(b.lo) && std::isinf(b.hi) : b.lo <= d && d <= b.hi;
}

Problem ValueChanges(Graph& g, Ref root, Ref simplified, uint64_t seed) {
  if (simplified->dtype != root->dtype)
    return absl::StrCat("became ", uop::ToText(simplified), " of another dtype");
  support::Random random(seed);
  for (int k = 0; k < kValuesPerExpression; ++k) {
    const Bindings values = rewrite::RandomBindings(random, root);
    const absl::StatusOr<Scalar> want = Evaluate(g, root, values);
    if (!want.ok()) return std::nullopt;
    if (rewrite::SeesNanPayload(g, root, values) || SeesMaximumOfZeros(g, root, values) ||
        SeesIndexOverflow(g, root, values)) {
      continue;
    }
    const absl::StatusOr<Scalar> got = Evaluate(g, simplified, values);
    if (!got.ok() || *got != *want) {
      return absl::StrCat("became ", uop::ToText(simplified), ",\n  which is ",
                          got.ok() ? Text(root->dtype, *got) : got.status().ToString(), ", not ",
                          Text(root->dtype, *want), ", where ", Text(root, values));
    }
    for (Ref n : {root, simplified}) {
      if (!IsWithinBounds(g, n, *want))
        return absl::StrCat(uop::ToText(n), " is ", Text(n->dtype, *want),
                            ": out of its bounds, where ", Text(root, values));
    }
  }
  return std::nullopt;
}

Problem ProblemOf(Graph& g, Ref root, uint64_t seed) {
  for (Effort effort : {Effort::kFold, Effort::kSymbolic, Effort::kFull}) {
    const std::string prefix = absl::StrCat("effort ", static_cast<int>(effort), ": ");
    const absl::StatusOr<Ref> simplified = Simplify(g, root, effort);
    if (!simplified.ok()) return prefix + simplified.status().ToString();
    if (const Problem p = ValueChanges(g, root, *simplified, seed)) return prefix + *p;
  }
  return std::nullopt;
}

// Tries random expressions and shows the smallest ones that have a problem.
void ExpectNone(absl::Span<const DType> dtypes,
                Problem (*problem)(Graph&, Ref, uint64_t) = ProblemOf) {
  const support::RandomRuns runs = support::RandomRunsFromEnvironment();
  uint64_t failures = 0;
  for (uint64_t seed = runs.first_seed; seed < runs.first_seed + runs.count; ++seed) {
    Graph g;
    TypedExpressions random(g, seed);
    Ref root = random.Make(random.random().Pick(dtypes));
    if (!problem(g, root, seed).has_value()) continue;
    if (++failures > kFailuresShown) continue;
    root = support::Minimise(g, root, [&](Ref n) { return problem(g, n, seed).has_value(); });
    ADD_FAILURE() << "seed " << seed << ": " << uop::ToText(root) << "\n  "
                  << *problem(g, root, seed);
  }
  EXPECT_EQ(failures, 0) << "of " << runs.count;
}

TEST(RandomTypedExpressions, IntegersKeepTheirValue) { ExpectNone(kIntegers); }
TEST(RandomTypedExpressions, FloatsKeepTheirValue) { ExpectNone(kFloats); }
TEST(RandomTypedExpressions, BoolsKeepTheirValue) { ExpectNone({DType::kBool}); }

}  // namespace
}  // namespace kiln::symbolic
