#include "core/symbolic/knowledge.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "core/symbolic/order.h"
#include "core/symbolic/sum.h"
#include "core/uop/interval.h"
#include "core/uop/walk.h"

namespace kiln::symbolic {
namespace {

// The conditions that all hold where `condition` does, in the order in which they are written: also those of not(p or q).
std::vector<Ref> ClausesOf(Graph& g, Ref condition) {
  std::vector<Ref> clauses, stack = {condition};
  absl::flat_hash_set<Ref> seen;
  while (!stack.empty()) {
    Ref n = stack.back();
    stack.pop_back();
    if (!seen.insert(n).second) continue;
    Ref negated = IsNegation(n) ? n->src(0) : nullptr;
    if (n->op == Op::kAnd) {
      stack.insert(stack.end(), {n->src(1), n->src(0)});
    } else if (negated != nullptr && negated->op == Op::kOr) {
      stack.insert(stack.end(), {g.Not(negated->src(1)), g.Not(negated->src(0))});
    } else if (negated != nullptr && IsNegation(negated)) {
      stack.push_back(negated->src(0));
    } else {
      clauses.push_back(n);
    }
  }
  return clauses;
}

// The sum of intervals, less one of them.
class SumOfOthers {
 public:
  void Add(const Bounds& b) {
    AddEnd(b.lo, finite_.lo, infinite_lo_);
    AddEnd(b.hi, finite_.hi, infinite_hi_);
  }
  Bounds Without(const Bounds& b) const {
    const bool has_lo = infinite_lo_ == (b.lo == Bounds::kNegInf ? 1 : 0);
    const bool has_hi = infinite_hi_ == (b.hi == Bounds::kPosInf ? 1 : 0);
    return {has_lo ? finite_.lo - (b.lo == Bounds::kNegInf ? 0 : b.lo) : Bounds::kNegInf,
            has_hi ? finite_.hi - (b.hi == Bounds::kPosInf ? 0 : b.hi) : Bounds::kPosInf};
  }

 private:
  static void AddEnd(Int128 end, Int128& sum, int& infinite) {
    if (end == Bounds::kNegInf || end == Bounds::kPosInf) {
      ++infinite;
    } else {
      sum += end;
    }
  }
  Bounds finite_{0, 0};
  int infinite_lo_ = 0, infinite_hi_ = 0;
};

// What the bounds of a sum tell of each of its terms. False if they contradict what is known.
bool TightenTerms(Graph& g, const KnownSum& s, Knowledge& known) {
  // So many numbers of that size add up to less than kPosInf; what is larger may as well have no bound.
  constexpr size_t kMaxTerms = 4096;
  constexpr Int128 kLarge = Int128{1} << 110;
  if (s.sum.terms.size() > kMaxTerms) return true;
  const auto bounds_of = [&](const Term& t) {
    const Bounds b = uop::internal::Mul(known.BoundsOf(g, t.base), {t.coef, t.coef});
    return Bounds{b.lo < -kLarge ? Bounds::kNegInf : b.lo, b.hi > kLarge ? Bounds::kPosInf : b.hi};
  };
  SumOfOthers sum;
  std::vector<Bounds> own;
  for (const Term& t : s.sum.terms) {
    own.push_back(bounds_of(t));
    sum.Add(own.back());
  }
  for (size_t i = 0; i < own.size(); ++i) {
    // t.coef * t.base = s - others
    const Term& t = s.sum.terms[i];
    Bounds b = uop::internal::Sub(s.bounds, sum.Without(own[i]));
    if (t.coef < 0) b = uop::internal::Negate(b);
    const Int128 magnitude = t.coef < 0 ? -t.coef : t.coef;
    if (b.lo > Bounds::kNegInf) b.lo = CeilDiv(b.lo, magnitude);
    if (b.hi < Bounds::kPosInf) b.hi = FloorDiv(b.hi, magnitude);
    if (!known.Tighten(g, t.base, b)) return false;
  }
  return true;
}

// The node that `what` is; null if it has none.
Ref NodeOf(Graph& g, DType d, const Affine& what) {
  const bool is_node = what.constant == 0 && what.terms.size() == 1 && what.terms[0].coef == 1;
  return is_node ? what.terms[0].base : ToNode(g, d, what);
}

}  // namespace

Bounds Knowledge::BoundsOf(Graph& g, Ref n) const {
  const auto it = node_index.find(n);
  return it != node_index.end() ? nodes[it->second].bounds : SafeBoundsOf(g, n);
}

std::optional<bool> Knowledge::Tighten(Graph& g, Ref n, Bounds b) {
  const Bounds before = BoundsOf(g, n);
  b = {std::max(b.lo, before.lo), std::min(b.hi, before.hi)};
  if (b.lo > b.hi) return std::nullopt;
  if (b == before) return false;
  const auto [it, is_new] = node_index.try_emplace(n, nodes.size());
  if (is_new) nodes.push_back({n, b});
  nodes[it->second].bounds = b;
  return true;
}

std::optional<Knowledge> KnowledgeOf(Graph& g, Ref condition) {
  const std::vector<Ref> clauses = ClausesOf(g, condition);
  Ref conjunction = clauses.empty() ? g.Bool(true) : clauses[0];
  for (size_t i = 1; i < clauses.size(); ++i) conjunction = g.And(conjunction, clauses[i]);
  std::optional<std::vector<BoundedNode>> bounds = BoundsGiven(g, conjunction);
  if (!bounds) return std::nullopt;
  std::sort(bounds->begin(), bounds->end(),
            [](const BoundedNode& a, const BoundedNode& b) { return Compare(a.node, b.node) < 0; });

  Knowledge known;
  absl::flat_hash_map<Ref, bool> values;
  for (Ref clause : clauses) {
    if (clause->IsConst()) continue;
    const bool is_not = IsNegation(clause);
    Ref positive = is_not ? clause->src(0) : clause;
    const auto [it, is_new] = values.try_emplace(positive, !is_not);
    if (it->second == is_not) return std::nullopt;
    if (is_new) known.conditions.emplace_back(positive, !is_not);
  }
  for (const BoundedNode& b : *bounds) {
    const std::optional<Affine> sum = AffineOf(g, b.node);
    // Of x + c and x * c, x is known as well.
    if (!sum || sum->constant != 0 || sum->terms.empty()) continue;
    if (sum->terms.size() > 1) {
      known.sums.push_back({*sum, b.bounds});
    } else if (sum->terms[0].coef == 1 && !known.Tighten(g, sum->terms[0].base, b.bounds)) {
      return std::nullopt;
    }
  }
  std::stable_sort(known.sums.begin(), known.sums.end(), [](const KnownSum& a, const KnownSum& b) {
    return a.sum.terms.size() > b.sum.terms.size();
  });
  for (const KnownSum& s : known.sums) {
    if (!TightenTerms(g, s, known)) return std::nullopt;
  }
  return known;
}

StandIns::StandIns(Graph& g, const Knowledge& known, Ref n)
    : g_(g), known_(known), prefix_("given#") {
  // Variables are the same if their names are: none of `n` may begin like ours.
  uop::Visit(n, [this](Ref m) {
    if (m->op != Op::kVariable) return true;
    const std::string_view name = uop::VariableOf(m).name;
    while (name.substr(0, prefix_.size()) == prefix_) prefix_ += '#';
    return true;
  });
}

Ref StandIns::Make(const Affine& what, DType d, const Bounds& b) {
  if (!FitsInt64(b.lo) || !FitsInt64(b.hi) || !FitsDType(d, b)) return nullptr;
  if (b.IsPoint()) return IntConst(g_, d, b.lo);
  if (NodeOf(g_, d, what) == nullptr) return nullptr;  // It could not be put back.
  Ref v =
      g_.Variable(d, absl::StrCat(prefix_, made_.size()), Scalar::Int(static_cast<int64_t>(b.lo)),
                  Scalar::Int(static_cast<int64_t>(b.hi)));
  made_index_[v] = made_.size();
  made_.emplace_back(v, what);
  return v;
}

void StandIns::Match(const KnownSum& known, DType d, Affine& a) {
  // The multiple c of the known sum e that is in a, term by term. Where that differs, all must be positive (or all negative):
  // from L <= e <= H follows min(c_i/e_i) * L <= sum(c_i*t_i) <= max(c_i/e_i) * H, if nothing in it is negative.
  absl::flat_hash_map<Ref, Int128> coefs;
  for (const Term& t : a.terms) coefs[t.base] = t.coef;
  Affine part;
  bool is_multiple = true, is_positive = true;
  for (const Term& t : known.sum.terms) {
    const auto it = coefs.find(t.base);
    if (it == coefs.end() || t.base->dtype != d) return;
    part.terms.push_back({t.base, it->second});
  }
  const Term first = {known.sum.terms[0].base, part.terms[0].coef};
  const Int128 sign = first.coef < 0 ? -1 : 1;
  for (size_t i = 0; i < part.terms.size(); ++i) {
    const Int128 e = known.sum.terms[i].coef, c = part.terms[i].coef;
    is_multiple &= c * known.sum.terms[0].coef == first.coef * e && c % e == 0;
    is_positive &= e > 0 && c * sign > 0 && SafeBoundsOf(g_, part.terms[i].base).lo >= 0;
  }
  Affine what = known.sum;
  Bounds b = known.bounds;
  Int128 times = first.coef / known.sum.terms[0].coef;
  if (!is_multiple) {
    if (!is_positive || !IsFinite(b)) return;
    times = GcdOfCoefs(part) * sign;
    what = DivideExactly(part, times);
    Bounds scaled{Bounds::kPosInf, Bounds::kNegInf};
    for (size_t i = 0; i < what.terms.size(); ++i) {
      const Int128 e = known.sum.terms[i].coef, c = what.terms[i].coef;
      scaled.lo = std::min(scaled.lo, CeilDiv(c * std::max<Int128>(b.lo, 0), e));
      scaled.hi = std::max(scaled.hi, FloorDiv(c * b.hi, e));
    }
    const Bounds own = symbolic::BoundsOf(g_, what);
    if (scaled.Contains(own)) return;
    b = {std::max(scaled.lo, own.lo), std::min(scaled.hi, own.hi)};
    if (b.lo > b.hi) return;
  }
  Ref v = Make(what, d, b);
  if (v == nullptr) return;
  a = Combine(a, 1, what, -times);
  a = v->IsConst() ? Combine(a, 1, Affine{{}, b.lo}, times)
                   : Combine(a, 1, Affine{{{v, 1}}, 0}, times);
}

std::optional<Affine> StandIns::WithKnownSums(Ref n) {
  std::optional<Affine> a = AffineOf(g_, n);
  if (!a || (a->terms.size() == 1 && a->terms[0].base == n)) return std::nullopt;
  for (const KnownSum& s : known_.sums) Match(s, n->dtype, *a);
  return a;
}

std::optional<Affine> StandIns::WithMeanings(Ref n) {
  const std::optional<Affine> a = AffineOf(g_, n);
  if (!a || (a->terms.size() == 1 && a->terms[0].base == n)) return std::nullopt;
  Affine result;
  result.constant = a->constant;
  for (const Term& t : a->terms) {
    const auto it = made_index_.find(t.base);
    if (it == made_index_.end()) {
      result.terms.push_back(t);
      continue;
    }
    const Affine& what = made_[it->second].second;
    for (const Term& u : what.terms) result.terms.push_back({u.base, u.coef * t.coef});
    result.constant += what.constant * t.coef;
  }
  result.MergeLikeTerms();
  return result;
}

template <typename View>
Ref StandIns::Rebuild(Ref root, absl::flat_hash_map<Ref, Ref> replace, View view) {
  absl::flat_hash_map<Ref, std::optional<Affine>> views;
  std::vector<Ref> stack = {root}, sources;
  while (!stack.empty()) {
    Ref n = stack.back();
    if (replace.contains(n)) {
      stack.pop_back();
      continue;
    }
    // What memory holds does not depend on how its place is written; leaves have no parts.
    if (!uop::IsAlu(n->op)) {
      replace[n] = n;
      continue;
    }
    const bool is_sum = n->op == Op::kAdd || n->op == Op::kMul;
    auto [it, is_new] = views.try_emplace(n);
    if (is_new && is_sum && dtype::IsInteger(n->dtype)) it->second = view(n);
    const std::optional<Affine>& sum = it->second;
    sources.clear();
    if (sum) {
      for (const Term& t : sum->terms) sources.push_back(t.base);
    } else {
      sources.assign(n->src().begin(), n->src().end());
    }
    const size_t before = stack.size();
    for (Ref s : sources) {
      if (!replace.contains(s)) stack.push_back(s);
    }
    if (stack.size() != before) continue;
    Ref result = nullptr;
    if (sum) {
      Terms terms;
      for (const Term& t : sum->terms) terms.push_back({replace[t.base], t.coef});
      result = MakeSum(g_, n->dtype, terms, sum->constant);
      if (result == nullptr) {
        // A number does not fit: as any other operation, then.
        it->second.reset();
        continue;
      }
    } else {
      for (Ref& s : sources) s = replace[s];
      result = g_.WithSources(n, sources);
    }
    replace[n] = result;
    stack.pop_back();
  }
  return replace[root];
}

Ref StandIns::Substitute(Ref n) {
  absl::flat_hash_map<Ref, Ref> replace;
  for (const BoundedNode& b : known_.nodes) {
    if (Ref v = Make(Affine{{{b.node, 1}}, 0}, b.node->dtype, b.bounds); v != nullptr)
      replace[b.node] = v;
  }
  for (const auto& [condition, value] : known_.conditions) replace[condition] = g_.Bool(value);
  return Rebuild(n, std::move(replace), [this](Ref m) { return WithKnownSums(m); });
}

Ref StandIns::Restore(Ref n) {
  absl::flat_hash_map<Ref, Ref> replace;
  for (const auto& [v, what] : made_) replace[v] = NodeOf(g_, v->dtype, what);
  return Rebuild(n, std::move(replace), [this](Ref m) { return WithMeanings(m); });
}

}  // namespace kiln::symbolic
