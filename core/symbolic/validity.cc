#include "core/symbolic/validity.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"

#include "core/dtype/status.h"
#include "core/symbolic/knowledge.h"
#include "core/symbolic/nary.h"
#include "core/symbolic/simplify.h"
#include "core/uop/walk.h"

namespace kiln::symbolic {
namespace {

// Each clause is simplified given all others: of long conjunctions, which cost the square, only contradictions are looked for.
constexpr size_t kMaxClauses = 32;
constexpr int kMaxRounds = 4;
// Ways to satisfy all "not all are zero" conditions together.
constexpr size_t kMaxCases = 16;

// Fewer nodes is better, then fewer divisions. A strict order, so that simplifying again and again ends.
struct Cost {
  int64_t nodes = 0, divisions = 0;
  friend auto operator<=>(const Cost&, const Cost&) = default;
};
Cost CostOf(Ref n) {
  Cost c;
  uop::Visit(n, [&c](Ref m) {
    ++c.nodes;
    c.divisions += m->op == Op::kIDiv || m->op == Op::kMod;
    return true;
  });
  return c;
}

// Divisions whose divisor is not known to differ from 0. Where the condition does not hold, the expression may still be
// computed: it must not come to divide by zero there.
int64_t OpenDivisions(Graph& g, Ref n) {
  int64_t count = 0;
  uop::Visit(n, [&](Ref m) {
    const bool divides = m->op == Op::kIDiv || m->op == Op::kMod;
    count += divides && SafeBoundsOf(g, m->src(1)).Contains(Int128{0});
    return true;
  });
  return count;
}

// `n` as far as bounds simplify it. NOTE: not Effort::kFull, which comes here: nesting would be as deep as the graph.
absl::StatusOr<Ref> ByBounds(Graph& g, Ref n) { return Simplify(g, n, Effort::kSymbolic); }

// Equal to `n` wherever what is known holds; may be larger.
absl::StatusOr<Ref> Apply(Graph& g, Ref n, const Knowledge& known) {
  StandIns stand_ins(g, known, n);
  Ref m = stand_ins.Substitute(n);
  if (m == n) return n;
  KILN_ASSIGN_OR_RETURN(m, ByBounds(g, m));
  return ByBounds(g, stand_ins.Restore(m));
}

// a + b >= 1 of terms >= 0 says that one of them is at least 1. All ways to choose one of each such sum.
struct Cases {
  std::vector<Knowledge> known;
};
Cases CasesOf(Graph& g, const Knowledge& known) {
  Cases cases{{known}};
  cases.known[0].sums.clear();
  for (const KnownSum& s : known.sums) {
    const bool is_positive = std::all_of(s.sum.terms.begin(), s.sum.terms.end(),
                                         [](const Term& t) { return t.coef > 0; });
    const bool splits = is_positive && s.bounds.lo > BoundsOf(g, s.sum).lo &&
                        cases.known.size() * s.sum.terms.size() <= kMaxCases;
    std::vector<Knowledge> next;
    for (const Knowledge& k : cases.known) {
      for (const Term& t : s.sum.terms) {
        Knowledge one = k;
        if (!splits) {
          one.sums.push_back(s);
          next.push_back(std::move(one));
          break;
        }
        if (one.Tighten(g, t.base, {SafeBoundsOf(g, t.base).lo + 1, Bounds::kPosInf}))
          next.push_back(std::move(one));
      }
    }
    cases.known = std::move(next);
  }
  return cases;
}

// What `n` is in every case, or `n`.
absl::StatusOr<Ref> ApplyCases(Graph& g, Ref n, const Knowledge& known) {
  const Cases cases = CasesOf(g, known);
  if (cases.known.size() < 2) return n;
  Ref common = nullptr;
  for (const Knowledge& k : cases.known) {
    KILN_ASSIGN_OR_RETURN(Ref m, Apply(g, n, k));
    if (common != nullptr && m != common) return n;
    common = m;
  }
  return common;
}

// Equal to `n` by what is known of its variables alone. Of a node with variables below it of which bounds are known, too, these may
// tell more than its own bounds do: i % 19 is i - 57 where 57 <= i < 76, whatever else is known of i % 19.
absl::StatusOr<Ref> ApplyVariables(Graph& g, Ref n, const Knowledge& known) {
  Knowledge variables;
  for (const BoundedNode& b : known.nodes) {
    if (!uop::IsAlu(b.node->op)) variables.Tighten(g, b.node, b.bounds);
  }
  // Where that is all there is to know, or nothing, Apply does it.
  if (variables.nodes.empty() || variables.nodes.size() == known.nodes.size()) return n;
  return Apply(g, n, variables);
}

absl::StatusOr<Ref> SimplifyKnowing(Graph& g, Ref n, const Knowledge& known) {
  Cost cost = CostOf(n);
  for (int round = 0; round < kMaxRounds && !n->IsConst(); ++round) {
    Ref best = n;
    for (auto* apply : {&Apply, &ApplyCases, &ApplyVariables}) {
      KILN_ASSIGN_OR_RETURN(Ref m, (*apply)(g, best, known));
      if (m == best) continue;
      const Cost c = CostOf(m);
      if (c < cost && (c.divisions == 0 || OpenDivisions(g, m) <= OpenDivisions(g, n))) {
        best = m;
        cost = c;
      }
    }
    if (best == n) break;
    n = best;
  }
  return n;
}

// A conjunction of `clauses`, leaving one out.
Ref AllBut(Graph& g, const std::vector<Ref>& clauses, size_t left_out) {
  Ref all = nullptr;
  for (size_t i = 0; i < clauses.size(); ++i) {
    if (i != left_out) all = all == nullptr ? clauses[i] : g.And(all, clauses[i]);
  }
  return all != nullptr ? all : g.Bool(true);
}

// The clauses of `condition` in the order in which they are written; of more than `limit`, the first ones.
std::vector<Ref> ClausesOf(Ref condition, size_t limit = std::numeric_limits<size_t>::max()) {
  std::vector<Ref> out, stack = {condition};
  absl::flat_hash_set<Ref> seen;
  while (!stack.empty()) {
    Ref n = stack.back();
    stack.pop_back();
    if (!seen.insert(n).second) continue;
    if (n->op == Op::kAnd) {
      stack.insert(stack.end(), {n->src(1), n->src(0)});
    } else {
      out.push_back(n);
      if (out.size() > limit) break;
    }
  }
  return out;
}

}  // namespace

absl::StatusOr<Ref> SimplifyGiven(Graph& g, Ref n, Ref condition) {
  KILN_ASSIGN_OR_RETURN(n, Simplify(g, n));
  const std::optional<Knowledge> known = KnowledgeOf(g, condition);
  if (!known) return nullptr;
  return SimplifyKnowing(g, n, *known);
}

absl::StatusOr<Ref> SimplifyConjunction(Graph& g, Ref condition) {
  if (!KnowledgeOf(g, condition)) return g.Bool(false);
  std::vector<Ref> clauses = ClausesOf(condition, kMaxClauses);
  if (clauses.size() < 2 || clauses.size() > kMaxClauses) return condition;
  bool changed = false;
  // Replacing one clause at a time keeps the conjunction equal: two clauses that imply each other are not both dropped.
  for (size_t i = 0; i < clauses.size();) {
    const std::optional<Knowledge> known = KnowledgeOf(g, AllBut(g, clauses, i));
    if (!known) return g.Bool(false);
    KILN_ASSIGN_OR_RETURN(Ref clause, SimplifyKnowing(g, clauses[i], *known));
    if (IsIntConst(clause, 0)) return clause;
    changed |= clause != clauses[i];
    const auto at = clauses.begin() + static_cast<ptrdiff_t>(i);
    if (IsIntConst(clause, 1)) {
      clauses.erase(at);
    } else if (clause->op == Op::kAnd) {
      // Its parts are clauses in their own right. They are smaller than what they came of: this ends.
      const std::vector<Ref> parts = ClausesOf(clause);
      clauses.insert(clauses.erase(at), parts.begin(), parts.end());
      if (clauses.size() > kMaxClauses) i += parts.size();
    } else {
      clauses[i++] = clause;
    }
  }
  if (!changed) return condition;
  return MakeClauses(g, Op::kAnd, DType::kBool, clauses);
}

}  // namespace kiln::symbolic
