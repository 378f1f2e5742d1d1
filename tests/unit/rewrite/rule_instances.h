// Nodes that the left side of a rule matches, by chance.
#pragma once

#include <string_view>

#include "core/rewrite/rule.h"
#include "core/symbolic/evaluate.h"
#include "tests/support/random.h"

namespace kiln::rewrite {

// Operands for instances: variables with bounds of all kinds, small expressions of few variables (so
// that conditions about bounds, factors and equal terms have a chance), and constants, the edges of
// the dtype more often than what lies between. Confined to the graph's thread.
class RandomSource final : public InstanceSource {
 public:
  RandomSource(uint64_t seed, Domain domain) : random_(seed), domain_(domain) {}

  // What the next instance is about: a dtype of the domain.
  DType NextDType();

  Ref Leaf(Graph& g, DType d) override;
  Ref Constant(Graph& g, DType d) override;
  DType PickDType(bool (*accepts)(DType)) override;
  int Pick(int n) override { return static_cast<int>(random_.Uniform(0, n - 1)); }

  Ref Variable(Graph& g, DType d);
  bool Chance(int numerator, int denominator) { return random_.Chance(numerator, denominator); }
  support::Random& random() { return random_; }

 private:
  Ref IntegerVariable(Graph& g, DType d);
  Ref IndexExpression(Graph& g);
  Ref Expression(Graph& g, DType d);
  Ref Load(Graph& g, DType d);

  support::Random random_;
  const Domain domain_;
  DType current_ = DType::kIndex;
};

// A value of dtype `d` within [lo, hi], the ends more often than what lies between.
Scalar RandomScalar(support::Random& random, DType d, Scalar lo, Scalar hi);

// Values for all variables, counters and launch indices below `n`, and for the memory that it loads.
symbolic::Bindings RandomBindings(support::Random& random, Ref n);

// An instance for rules whose left side can't write one: those with any number of sources, or with an
// arg. Null if there is no builder for a rule of this table with this text.
using InstanceBuilder = Ref (*)(Graph& g, RandomSource& source);
InstanceBuilder BuilderFor(std::string_view table, std::string_view rule_text);

}  // namespace kiln::rewrite
