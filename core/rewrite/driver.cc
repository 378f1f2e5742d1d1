#include "core/rewrite/driver.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include "core/rewrite/endless.h"
#include "core/rewrite/scratch.h"
#include "core/uop/text.h"

namespace kiln::rewrite {
namespace {

using internal::Frame;
using internal::Scratch;

// Runs within runs: a rule function may rewrite something itself. Bounded, so that the stack is.
constexpr int kMaxNesting = 48;

// What a node's memo entry points to while the run of that nesting depth is working on it.
const UOp kInProgress[kMaxNesting] = {};

// Above this many nodes in the graph, the memory of a run is given back after it.
constexpr uint32_t kLargeGraph = 1u << 20;

thread_local int thread_nesting = 0;
thread_local RewriteCounters thread_counters;

class Run {
 public:
  Run(Graph& g, const Pass& pass, Scratch& scratch)
      : g_(g),
        pass_(pass),
        rules_(pass.rules),
        scratch_(scratch),
        memoised_(rules_.memo_slot != RuleSet::kNotMemoised && pass.order == Order::kSourcesFirst &&
                  pass.context.empty()),
        memo_(memoised_ ? g.memo(rules_.memo_slot) : scratch.memo),
        final_bit_(memoised_ ? static_cast<uint16_t>(1u << rules_.memo_slot) : 0),
        busy_(&kInProgress[thread_nesting]),
        max_hits_(pass.max_hits != 0 ? pass.max_hits : 10'000 + 16 * int64_t{g.size()}),
        scope_{.graph = g, .context = pass.context, .can_stop = pass.order == Order::kUsersFirst} {}
  ~Run() {
    thread_counters.offered += offered_;
    thread_counters.hits += hits_;
    scratch_.large = g_.size() > kLargeGraph;
  }

  absl::StatusOr<Ref> Go(Ref root) {
    if (Ref known = Known(root); known != nullptr) return known;
    Enter(root);
    while (!scratch_.frames.empty() && !failed_) Step();
    if (!failed_) return arrived_;
    for (const Frame& f : scratch_.frames) *f.memo = nullptr;
    return error_;
  }

 private:
  // What `n` becomes, if that is known. A node without sources that no rule of this set can match
  // is itself; it takes no frame and no memo.
  Ref Known(Ref n) const {
    if (n->num_src == 0 && !rules_.HasRulesFor(n->op)) return n;
    if ((n->final_marks & final_bit_) != 0) return n;
    Ref r = memo_.Get(n);
    return IsMarker(r) ? nullptr : r;
  }
  static bool IsMarker(Ref r) { return r >= kInProgress && r < kInProgress + kMaxNesting; }

  // Starts on `n`, whose result is not known.
  void Enter(Ref n) {
    Ref& memo = memo_[n];
    if (memo == busy_) {
      Cycle(n);
      return;
    }
    memo = busy_;
    Frame& f = scratch_.frames.emplace_back(Frame{.key = n, .cur = n, .memo = &memo});
    if (pass_.order == Order::kUsersFirst) {
      if (Ref out = Offer(n); out != nullptr) Replace(out);
    } else if (IsTree(n)) {
      f.stage = Frame::kLeaves;
      f.leaves = static_cast<uint32_t>(scratch_.leaves.size());
      f.num_leaves = static_cast<uint32_t>(scratch_.one_tree.size());
      scratch_.leaves.insert(scratch_.leaves.end(), scratch_.one_tree.begin(),
                             scratch_.one_tree.end());
      f.values = static_cast<uint32_t>(scratch_.values.size());
      f.has_values = true;
    }
  }

  // Whether to visit the tree under `n` as one operation; its operands are then in `one_tree`.
  bool IsTree(Ref n) {
    if (rules_.nary == nullptr || pass_.order != Order::kSourcesFirst) return false;
    scratch_.one_tree.clear();
    return rules_.nary->leaves(n, scratch_.one_tree);
  }

  // Goes on with the frame on top.
  void Step() {
    Frame& f = scratch_.frames.back();
    Ref arrived = std::exchange(arrived_, nullptr);  // What the last frame was for.
    if (f.stage == Frame::kResult) {
      if (arrived == nullptr) arrived = Known(f.cur);
      if (arrived != nullptr) {
        Finish(arrived);
      } else {
        Enter(f.cur);
      }
      return;
    }
    const bool in_tree = f.stage == Frame::kLeaves;
    const Ref* operands = in_tree ? scratch_.leaves.data() + f.leaves : f.cur->src().data();
    const uint32_t n = in_tree ? f.num_leaves : f.cur->num_src;
    for (; f.next < n; ++f.next) {
      Ref s = operands[f.next];
      Ref r = arrived != nullptr ? std::exchange(arrived, nullptr) : Known(s);
      if (r == nullptr) {
        Enter(s);  // Invalidates `f`.
        return;
      }
      if (r != s && !f.has_values) {
        f.has_values = true;
        f.values = static_cast<uint32_t>(scratch_.values.size());
        scratch_.values.insert(scratch_.values.end(), operands, operands + f.next);
      }
      if (f.has_values) scratch_.values.push_back(r);
    }
    if (in_tree) {
      LeavesDone(f);
    } else {
      SourcesDone(f);
    }
  }

  void SourcesDone(Frame& f) {
    Ref n = f.cur;
    if (f.has_values) {
      n = g_.WithSources(n, absl::MakeConstSpan(scratch_.values).subspan(f.values));
      scratch_.values.resize(f.values);
    }
    const bool changed = n != f.cur;
    switch (pass_.order) {
      case Order::kSourcesFirst:
        if (changed) {
          Rebuilt(n);
        } else if (Ref out = Offer(n); out != nullptr) {
          Replace(out);
        } else if (!failed_) {
          n->final_marks |= final_bit_;
          Finish(n);
        }
        break;
      case Order::kUsersFirst:
        // The sources of a node that was rebuilt are results: they are not visited again, so that
        // what a rule wanted kept is.
        if (Ref out = changed ? Offer(n) : nullptr; out != nullptr) {
          Replace(out);
        } else if (!failed_) {
          Finish(n);
        }
        break;
      case Order::kOnce:
        if (Ref out = Offer(n); !failed_) Finish(out != nullptr ? out : n);
        break;
    }
  }

  // Sources first: the frame on top becomes what `n` becomes, which has final sources.
  void Rebuilt(Ref n) {
    Ref known = Known(n);
    if (known == nullptr && !IsTree(n)) {
      Ref& memo = memo_[n];
      if (memo == busy_) {
        Cycle(n);
        return;
      }
      memo = busy_;
      Ref out = Offer(n);
      if (failed_) {
        memo = nullptr;
        return;
      }
      if (out != nullptr) {
        Become(n, nullptr);
        scratch_.frames.push_back(
            {.key = n, .cur = out, .memo = &memo, .rule = scope_.fired, .stage = Frame::kResult});
        return;
      }
      n->final_marks |= final_bit_;
      known = memo = n;
    }
    if (known != nullptr) {
      Finish(known);
    } else {
      Become(n, nullptr);
    }
  }

  void LeavesDone(Frame& f) {
    const absl::Span<const Ref> results = absl::MakeConstSpan(scratch_.values).subspan(f.values);
    Ref n = rules_.nary->rebuild(g_, f.cur, results);
    scratch_.values.resize(f.values);
    scratch_.leaves.resize(f.leaves);
    if (n != f.cur) {
      if (Spend(nullptr)) Become(n, nullptr);
      return;
    }
    // Its tree is in normal form now: an ordinary node.
    f.stage = Frame::kSources;
    f.has_values = false;
    f.next = 0;
  }

  // A rule replaced what the frame on top is about by `n`.
  void Replace(Ref n) {
    if (std::exchange(scope_.stop, false)) {
      Finish(n);
    } else {
      Become(n, scope_.fired);
    }
  }

  // The frame on top becomes whatever `n` becomes.
  void Become(Ref n, const RuleInfo* rule) {
    Frame& f = scratch_.frames.back();
    f.cur = n;
    f.rule = rule;
    f.stage = Frame::kResult;
  }

  // The frame on top is done.
  void Finish(Ref r) {
    *scratch_.frames.back().memo = r;
    scratch_.frames.pop_back();
    arrived_ = r;
  }

  // The replacement of `n`; null if no rule fires or there is an error.
  Ref Offer(Ref n) {
    ++offered_;
    Ref out = pass_.trace == nullptr ? TryFast(n) : TryTraced(n);
    if (__builtin_expect(!scope_.error.ok(), 0)) {
      failed_ = true;
      error_ = absl::Status(
          scope_.error.code(),
          absl::StrCat(scope_.error.message(), ", in pass \"", std::string(pass_.name), "\""));
      return nullptr;
    }
    if (out == nullptr || !Spend(scope_.fired)) return nullptr;
    ++hits_;
    return out;
  }

  Ref TryFast(Ref n) {
    for (const TryFn* t = rules_.TablesFor(n->op); *t != nullptr; ++t) {
      if (Ref out = (*t)(scope_, n); out != nullptr) return out;
      if (__builtin_expect(!scope_.error.ok(), 0)) return nullptr;
    }
    return nullptr;
  }

  Ref TryTraced(Ref n) {
    for (const RuleTable* table : rules_.all()) {
      for (const RuleInfo& rule : table->rules) {
        if (!rule.roots.Has(n->op)) continue;
        const uint64_t start = pass_.trace->Now();
        Ref out = rule.try_alone(scope_, n);
        pass_.trace->Add(rule, n, out, pass_.trace->Now() - start);
        if (!scope_.error.ok()) return nullptr;
        if (out != nullptr) {
          scope_.fired = &rule;
          return out;
        }
      }
    }
    return nullptr;
  }

  // Counts a replacement. False, with an error, when there have been more than can be meant.
  bool Spend(const RuleInfo* rule) {
    recent_.Add(rule);
    if (++replacements_ <= max_hits_) return true;
    failed_ = true;
    error_ = absl::InternalError(absl::StrCat(
        "pass \"", std::string(pass_.name), "\" made ", replacements_,
        " replacements without end; the last were by: ", internal::Describe(recent_.Get())));
    return false;
  }

  // `n` would have to be finished before it can be finished.
  void Cycle(Ref n) {
    failed_ = true;
    std::vector<const RuleInfo*> rules;
    for (size_t i = scratch_.frames.size(); i-- > 0;) {
      const Frame& f = scratch_.frames[i];
      if (f.rule != nullptr) rules.push_back(f.rule);
      if (f.key == n) break;
    }
    error_ = absl::InternalError(
        absl::StrCat("pass \"", std::string(pass_.name), "\" does not end: ", uop::Excerpt(n),
                     " leads back to itself by: ", internal::Describe(rules)));
  }

  Graph& g_;
  const Pass& pass_;
  const RuleSet& rules_;
  Scratch& scratch_;
  const bool memoised_;
  uop::NodeMap<Ref>& memo_;
  const uint16_t final_bit_;
  const Ref busy_;
  const int64_t max_hits_;
  int64_t offered_ = 0, hits_ = 0, replacements_ = 0;
  Scope scope_;
  internal::RecentRules recent_;
  Ref arrived_ = nullptr;  // The result of the frame that was last on top, if that was just now.
  bool failed_ = false;
  absl::Status error_;
};

}  // namespace

absl::StatusOr<Ref> Rewrite(Graph& g, Ref root, const Pass& pass) {
  if (thread_nesting >= kMaxNesting) {
    return absl::InternalError(absl::StrCat("pass \"", std::string(pass.name), "\" is nested ",
                                            thread_nesting, " deep, at ", uop::Excerpt(root)));
  }
  internal::ScratchLease scratch;
  Run run(g, pass, *scratch);
  ++thread_nesting;
  absl::StatusOr<Ref> result = run.Go(root);
  --thread_nesting;
  return result;
}

RewriteCounters ThreadCounters() { return thread_counters; }

}  // namespace kiln::rewrite
