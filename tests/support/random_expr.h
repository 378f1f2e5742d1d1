// Random expressions over a few variables, and values for these.
//
//   RandomExpressions random(g, /*seed=*/7, {.depth = 4});
//   Ref e = random.Index();
//   Evaluate(g, e, random.Values());
#pragma once

#include <cstdint>
#include <vector>

#include "core/symbolic/evaluate.h"
#include "core/uop/graph.h"
#include "tests/support/random.h"

namespace kiln::support {

struct RandomExpressionOptions {
  int depth = 4;              // Of operations above leaves; at most.
  int num_variables = 3;      // v0, v1...: bounds around, below and above 0.
  int num_ranges = 2;         // Axis ids 0, 1...: constant ends.
  int num_specials = 1;       // gidx0...
  int64_t max_extent = 40;    // Of the values of a leaf.
  int64_t max_constant = 20;  // Largest magnitude.
  // Divide by other things than constants, too; never by 0. MUL of two non-constants is made in any
  // case.
  bool divide_by_expressions = true;
};

// Confined to the graph's thread. Deterministic by seed. Every expression has a value for every
// binding: nothing divides by 0 or leaves int64.
class RandomExpressions {
 public:
  RandomExpressions(Graph& g, uint64_t seed, const RandomExpressionOptions& options = {});

  // Of dtype index; from ADD MUL IDIV MOD MAX WHERE.
  Ref Index() { return Index(options_.depth); }
  // From CMPLT CMPNE AND OR WHERE and negation.
  Ref Bool() { return Bool(options_.depth); }
  // Values of all leaves, within their bounds; the ends are more likely than what lies between.
  symbolic::Bindings Values();

  absl::Span<const Ref> leaves() const { return leaves_; }

 private:
  Ref Index(int depth);
  Ref Bool(int depth);
  Ref Leaf();
  Ref Constant();
  Ref Product(int depth);
  Ref Quotient(Op op, int depth);
  Ref Divisor(int depth);
  Ref Comparison(int depth);

  Graph& g_;
  const RandomExpressionOptions options_;
  Random random_;
  std::vector<Ref> leaves_;
};

}  // namespace kiln::support
