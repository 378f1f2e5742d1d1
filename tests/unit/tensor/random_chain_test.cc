// Properties of accesses through random chains.
#include "tests/unit/tensor/random_chain.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/dtype/status.h"
#include "core/symbolic/render.h"
#include "core/tensor/invert.h"
#include "core/tensor/movement.h"
#include "core/uop/facts.h"
#include "tests/support/copy_graph.h"
#include "tests/support/operations.h"
#include "tests/support/random.h"
#include "tests/support/random_runs.h"
#include "tests/unit/tensor/position_array.h"

namespace kiln::tensor {
namespace {

constexpr int kRunsPerChain = 2;
constexpr int kElementsPerRun = 12;
constexpr int kFailuresShown = 5;

using Problem = std::optional<std::string>;

std::string Text(const Access& a) {
  return absl::StrCat(symbolic::Render(a.index, 2000), " if ", symbolic::Render(a.valid, 2000));
}

// A chain with what it is checked against.
struct Case {
  RandomChain chain;
  CheckedShape shape;
  Access access, simplified;
};

absl::StatusOr<Case> Prepare(Graph& g, const RandomChain& chain) {
  Case c{chain, {}, {}, {}};
  KILN_ASSIGN_OR_RETURN(c.shape, ShapeAfter(g, chain.base, chain.steps));
  KILN_ASSIGN_OR_RETURN(c.access,
                        AccessOf(g, chain.base, chain.steps, RangesOver(g, c.shape.dims)));
  KILN_ASSIGN_OR_RETURN(c.simplified, SimplifyAccess(g, c.access));
  return c;
}

PositionArray ArrayOf(Graph& g, const RandomChain& chain, const symbolic::Bindings& sizes) {
  PositionArray array = BaseArray(Values(g, chain.base, sizes));
  for (const Movement& step : chain.steps) array = Moved(g, array, step, sizes);
  return array;
}

// The same element of the array and of both forms of the access.
Problem ElementDiffers(Graph& g, const Case& c, const PositionArray& array, int64_t element,
                       symbolic::Bindings values) {
  BindCoordinates(array.shape, element, values);
  const int64_t want = array.at[static_cast<size_t>(element)];
  for (const Access& access : {c.access, c.simplified}) {
    const absl::StatusOr<int64_t> got = PositionOf(g, access, values);
    if (!got.ok())
      return absl::StrCat("element ", element, " of ", Text(access), ": ",
                          std::string(got.status().message()));
    if (*got != want)
      return absl::StrCat("element ", element, " is ", want, ", not ", *got, " as of ",
                          Text(access));
    if (want >= 0 && !BoundsOf(g, access.index).Contains(want)) {
      return absl::StrCat("element ", element, " is ", want, ", outside the bounds of ",
                          Text(access));
    }
  }
  return std::nullopt;
}

Problem MappingDiffers(Graph& g, const Case& c, uint64_t seed) {
  support::Random random(seed);
  for (int run = 0; run < kRunsPerChain; ++run) {
    const symbolic::Bindings sizes = RandomSizes(g, c.chain, random.Next());
    const PositionArray array = ArrayOf(g, c.chain, sizes);
    if (Values(g, c.shape.dims, sizes) != array.shape) return "the shape differs";
    const auto count = static_cast<int64_t>(array.at.size());
    for (int k = 0; k < kElementsPerRun && count > 0; ++k) {
      const int64_t element = k == 0 ? 0 : k == 1 ? count - 1 : random.Uniform(0, count - 1);
      if (const Problem p = ElementDiffers(g, c, array, element, sizes)) return p;
    }
  }
  return std::nullopt;
}

Problem HasConditions(Graph&, const Case& c, uint64_t) {
  if (c.shape.conditions.empty()) return std::nullopt;
  return absl::StrCat("not proven: ", symbolic::Render(c.shape.conditions[0]));
}

Problem Grows(Graph&, const Case& c, uint64_t) {
  for (auto [before, after] : {std::pair(c.access.index, c.simplified.index),
                               std::pair(c.access.valid, c.simplified.valid)}) {
    if (support::Operations(after) > support::Operations(before)) {
      return absl::StrCat(symbolic::Render(before, 2000), " became ",
                          symbolic::Render(after, 2000));
    }
  }
  return std::nullopt;
}

// One root for both parts of an access, so that they can be copied and compared together.
Ref Together(Graph& g, const Access& a) { return g.Where(a.valid, a.index, g.Index(-1)); }

Problem IsNotIdempotent(Graph& g, const Case& c, uint64_t seed) {
  Graph fresh;  // Remembers nothing of the first time.
  support::Random random(seed);
  Ref copy = support::CopyShuffled(fresh, Together(g, c.simplified), random);
  const Access once{copy->src(1), copy->src(0)};
  const absl::StatusOr<Access> twice = SimplifyAccess(fresh, once);
  if (!twice.ok()) return absl::StrCat("error: ", std::string(twice.status().message()));
  if (twice->index == once.index && twice->valid == once.valid) return std::nullopt;
  return absl::StrCat(Text(once), " became ", Text(*twice));
}

Problem DependsOnOrder(Graph& g, const Case& c, uint64_t seed) {
  Graph other;
  support::Random random(seed);
  Ref copy = support::CopyShuffled(other, Together(g, c.access), random);
  const absl::StatusOr<Access> there = SimplifyAccess(other, {copy->src(1), copy->src(0)});
  if (!there.ok()) return absl::StrCat("error: ", std::string(there.status().message()));
  if (uop::KeyOf(g, Together(g, c.simplified)) == uop::KeyOf(other, Together(other, *there)))
    return std::nullopt;
  return absl::StrCat(Text(c.simplified), " here, ", Text(*there), " elsewhere");
}

// An inverse finds every element of the base where the chain put it.
Problem InverseIsWrong(Graph& g, const Case& c, uint64_t seed) {
  const auto inverse = Invert(g, c.chain.base, c.chain.steps);
  if (!inverse.ok()) return absl::StrCat("error: ", std::string(inverse.status().message()));
  if (!inverse->has_value()) return std::nullopt;
  const auto access = AccessOf(g, c.shape.dims, **inverse, RangesOver(g, c.chain.base));
  if (!access.ok()) return absl::StrCat("error: ", std::string(access.status().message()));
  symbolic::Bindings values = RandomSizes(g, c.chain, seed);
  const PositionArray array = ArrayOf(g, c.chain, values);
  const std::vector<int64_t> base = Values(g, c.chain.base, values);
  int64_t count = 1;
  for (int64_t size : base) count *= size;
  int64_t valid = 0;
  for (int64_t at : array.at) valid += at >= 0;
  if (valid != count) return absl::StrCat(count, " elements, ", valid, " after the chain");
  for (int64_t element = 0; element < count; ++element) {
    BindCoordinates(base, element, values);
    const absl::StatusOr<int64_t> position = PositionOf(g, *access, values);
    if (!position.ok()) return absl::StrCat("error: ", std::string(position.status().message()));
    if (*position < 0 || array.at[static_cast<size_t>(*position)] != element) {
      return absl::StrCat("element ", element, " is looked for at ", *position);
    }
  }
  return std::nullopt;
}

Problem Find(Problem (*problem)(Graph&, const Case&, uint64_t), Graph& g, const RandomChain& chain,
             uint64_t seed) {
  const absl::StatusOr<Case> c = Prepare(g, chain);
  if (!c.ok()) return absl::StrCat("error: ", std::string(c.status().message()));
  return problem(g, *c, seed);
}

// Without the steps that the problem does not need.
RandomChain Minimise(Problem (*problem)(Graph&, const Case&, uint64_t), Graph& g, RandomChain chain,
                     uint64_t seed) {
  for (size_t k = 0; k < chain.steps.size();) {
    RandomChain shorter = chain;
    shorter.steps.erase(shorter.steps.begin() + static_cast<int64_t>(k));
    const absl::StatusOr<CheckedShape> shape = ShapeAfter(g, shorter.base, shorter.steps);
    const bool fails =
        shape.ok() && shape->conditions.empty() && Find(problem, g, shorter, seed).has_value();
    if (fails) {
      chain = std::move(shorter);
      k = 0;
    } else {
      ++k;
    }
  }
  return chain;
}

void ExpectNone(Problem (*problem)(Graph&, const Case&, uint64_t)) {
  const support::RandomRuns runs = support::RandomRunsFromEnvironment();
  uint64_t failures = 0;
  for (uint64_t seed = runs.first_seed; seed < runs.first_seed + runs.count; ++seed) {
    Graph g;
    RandomChain chain = MakeRandomChain(g, seed);
    if (!Find(problem, g, chain, seed).has_value()) continue;
    if (++failures > kFailuresShown) continue;
    chain = Minimise(problem, g, std::move(chain), seed);
    ADD_FAILURE() << "seed " << seed << ": " << ToString(chain) << "\n  "
                  << *Find(problem, g, chain, seed);
  }
  EXPECT_EQ(failures, 0) << "of " << runs.count;
}

TEST(RandomChains, AgreeWithArraysWithinBounds) { ExpectNone(MappingDiffers); }
TEST(RandomChains, AreProvenToFit) { ExpectNone(HasConditions); }
TEST(RandomChains, DoNotGrow) { ExpectNone(Grows); }
TEST(RandomChains, SimplifyingAgainChangesNothing) { ExpectNone(IsNotIdempotent); }
TEST(RandomChains, DoNotDependOnTheOrderOfNodes) { ExpectNone(DependsOnOrder); }
TEST(RandomChains, InversesFindEveryElement) { ExpectNone(InverseIsWrong); }

}  // namespace
}  // namespace kiln::tensor
