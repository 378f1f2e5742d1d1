// What a condition tells about an expression, and putting it in. For validity.cc.
//
//   std::optional<Knowledge> k = KnowledgeOf(g, condition);  // !(a + b < 1) & (c < 3)
//   StandIns s(g, *k, n);
//   Ref m = s.Substitute(n);  // (a + b + 28)//30 + c  ->  (v0 + 28)//30 + v1 with 1 <= v0, v1 <= 2
//   ...                       // simplify
//   m = s.Restore(m);         // 1 + v1  ->  1 + c
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"

#include "core/symbolic/affine.h"
#include "core/symbolic/condition_bounds.h"

namespace kiln::symbolic {

// A sum of at least two terms, without a constant, and where its value lies.
struct KnownSum {
  Affine sum;
  Bounds bounds;
};

struct Knowledge {
  std::vector<KnownSum> sums;  // More terms first.
  std::vector<BoundedNode> nodes;
  absl::flat_hash_map<Ref, size_t> node_index;
  std::vector<std::pair<Ref, bool>> conditions;  // Those whose value is known; none is a negation.

  // What is known of `n`, or its own bounds.
  Bounds BoundsOf(Graph& g, Ref n) const;
  // Null if `n` can't lie within `b`. Otherwise whether that is news.
  std::optional<bool> Tighten(Graph& g, Ref n, Bounds b);
};

// Null if `condition` is never true.
std::optional<Knowledge> KnowledgeOf(Graph& g, Ref condition);

// Confined to the simplification of one expression. Variables that stand for subexpressions of which bounds are known.
class StandIns {
 public:
  // `n`: whose variables must not be mistaken for stand-ins. Borrows all three.
  StandIns(Graph& g, const Knowledge& known, Ref n);

  // `n` with everything that is known put in, apart from what is under loads. Sums are looked for in sums that contain them or a multiple of them.
  Ref Substitute(Ref n);
  // Puts back what the stand-ins stand for.
  Ref Restore(Ref n);

 private:
  // A variable of value `what`, which lies within `b`; a number if it is known. Null if a bound fits no variable of that dtype.
  Ref Make(const Affine& what, DType d, const Bounds& b);
  // Takes a multiple of a known sum out of `a`.
  void Match(const KnownSum& known, DType d, Affine& a);
  std::optional<Affine> WithKnownSums(Ref n);
  std::optional<Affine> WithMeanings(Ref n);
  // Rebuilds `n`: `replace` has what is final, `view` sums in other terms. Linear.
  template <typename View>
  Ref Rebuild(Ref n, absl::flat_hash_map<Ref, Ref> replace, View view);

  Graph& g_;
  const Knowledge& known_;
  std::string prefix_;
  std::vector<std::pair<Ref, Affine>> made_;  // Stand-ins and what they stand for.
  absl::flat_hash_map<Ref, size_t> made_index_;
};

}  // namespace kiln::symbolic
