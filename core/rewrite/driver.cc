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

// What a node's memo entry is while the run of that nesting depth is working on it: no node has an
// address so low. So one comparison tells a result from both "in progress" and "not known".
Ref InProgress(int nesting) { return reinterpret_cast<Ref>(static_cast<uintptr_t>(nesting + 1)); }
bool IsResult(Ref memo) { return reinterpret_cast<uintptr_t>(memo) > kMaxNesting; }

// Above this many nodes in the graph, the memory of a run is given back after it.
constexpr uint32_t kLargeGraph = 1u << 20;

thread_local int thread_nesting = 0;
thread_local RewriteCounters thread_counters;

bool IsMemoised(const Pass& pass) {
  return pass.rules.memo_slot != RuleSet::kNotMemoised && pass.order == Order::kSourcesFirst &&
         pass.context.empty();
}
uint16_t FinalBit(int slot) { return static_cast<uint16_t>(1u << slot); }

// What a run before this one made of `root`; null if that is not known.
Ref Remembered(Graph& g, Ref root, const Pass& pass) {
  if (!IsMemoised(pass)) return nullptr;
  if ((root->final_marks & FinalBit(pass.rules.memo_slot)) != 0) return root;
  Ref memo = g.memo(pass.rules.memo_slot).Get(root);
  return IsResult(memo) ? memo : nullptr;
}

class Run {
 public:
  Run(Graph& g, const Pass& pass, Scratch& scratch)
      : g_(g),
        pass_(pass),
        rules_(pass.rules),
        nary_(pass.order == Order::kSourcesFirst ? rules_.nary : nullptr),
        scratch_(scratch),
        frames_(scratch.frames),
        memo_(IsMemoised(pass) ? g.memo(rules_.memo_slot) : scratch.memo),
        final_bit_(IsMemoised(pass) ? FinalBit(rules_.memo_slot) : 0),
        busy_(InProgress(thread_nesting)),
        first_stage_(pass.order == Order::kUsersFirst ? Frame::kOffer : Frame::kSources),
        max_hits_(pass.max_hits != 0 ? pass.max_hits : 10'000 + 16 * int64_t{g.size()}),
        scope_{.graph = g, .context = pass.context, .can_stop = pass.order == Order::kUsersFirst} {}
  ~Run() {
    thread_counters.offered += offered_;
    thread_counters.hits += hits_;
    scratch_.large = g_.size() > kLargeGraph;
  }

  [[gnu::noinline]] absl::StatusOr<Ref> Go(Ref root) {
    Ref* memo = nullptr;
    if (Ref known = Known(root, memo); known != nullptr) return known;
    Enter(root, *memo);
    Ref arrived = nullptr;
    while (!frames_.empty() && !failed_) arrived = Step(arrived);
    if (!failed_) return arrived;
    for (const Frame& f : frames_) *f.memo = nullptr;
    return error_;
  }

 private:
  // What `n` becomes, if that is known; if not, null, and `memo` is where it will be. A node without
  // sources that no rule of this set can match is itself, and takes no frame.
  KILN_ALWAYS_INLINE Ref Known(Ref n, Ref*& memo) {
    if ((n->final_marks & final_bit_) != 0) return n;
    memo = &memo_[n];
    if (IsResult(*memo)) return *memo;
    if (n->num_src == 0 && !rules_.HasRulesFor(n->op)) return *memo = n;
    return nullptr;
  }

  // Starts on `n`, whose result is not known and will be in `memo`.
  KILN_ALWAYS_INLINE void Enter(Ref n, Ref& memo) {
    if (memo == busy_) [[unlikely]] {
      Cycle(n);
      return;
    }
    memo = busy_;
    frames_.emplace_back(n, n, &memo, first_stage_);
    if (nary_ != nullptr && IsTree(n)) EnterTree();
  }

  // Whether to visit the tree under `n` as one operation; its operands are then in `one_tree`.
  [[gnu::noinline]] bool IsTree(Ref n) {
    scratch_.one_tree.clear();
    return nary_->leaves(n, scratch_.one_tree);
  }

  // The frame on top is about the tree in `one_tree`.
  [[gnu::noinline]] void EnterTree() {
    Frame& f = frames_.back();
    f.stage = Frame::kLeaves;
    f.leaves = static_cast<uint32_t>(scratch_.leaves.size());
    f.num_leaves = static_cast<uint32_t>(scratch_.one_tree.size());
    scratch_.leaves.insert(scratch_.leaves.end(), scratch_.one_tree.begin(),
                           scratch_.one_tree.end());
    f.values = static_cast<uint32_t>(scratch_.values.size());
    f.has_values = true;
  }

  // Goes on with the frame on top. `arrived` is the result of the frame that was above it, if that
  // was just now. Returns the frame's result if it is done, else null. What is called from here
  // does the same.
  Ref Step(Ref arrived) {
    Frame& f = frames_.back();
    const Frame::Stage stage = f.stage;
    if (stage == Frame::kResult) return Finish(arrived);
    if (stage == Frame::kOffer) {
      f.stage = Frame::kSources;
      if (Ref out = Offer(f.cur); out != nullptr) return Replace(out);
      if (failed_) return nullptr;
    }
    absl::Span<const Ref> operands = f.cur->src();
    if (stage == Frame::kLeaves) [[unlikely]] {
      operands = absl::MakeConstSpan(scratch_.leaves).subspan(f.leaves, f.num_leaves);
    }
    const Ref* s = operands.data() + f.next;
    if (arrived != nullptr) Collect(f, operands.data(), s++, arrived);
    for (; s != operands.end(); ++s) {
      Ref* memo = nullptr;
      Ref r = Known(*s, memo);
      if (r == nullptr) {
        f.next = static_cast<uint32_t>(s - operands.data());
        Enter(*s, *memo);  // Invalidates `f`.
        return nullptr;
      }
      Collect(f, operands.data(), s, r);
    }
    return stage == Frame::kLeaves ? LeavesDone(f) : SourcesDone(f);
  }

  // Operand `s` becomes `r`. Results are written down from the first that differs.
  KILN_ALWAYS_INLINE void Collect(Frame& f, const Ref* operands, const Ref* s, Ref r) {
    if (!f.has_values) {
      if (r == *s) return;
      FirstChange(f, operands, s);
    }
    scratch_.values.push_back(r);
  }
  [[gnu::noinline]] void FirstChange(Frame& f, const Ref* operands, const Ref* s) {
    f.has_values = true;
    f.values = static_cast<uint32_t>(scratch_.values.size());
    scratch_.values.insert(scratch_.values.end(), operands, s);
  }

  Ref SourcesDone(Frame& f) {
    Ref n = f.cur;
    if (f.has_values) {
      n = g_.WithSources(n, absl::MakeConstSpan(scratch_.values).subspan(f.values));
      scratch_.values.resize(f.values);
    }
    const bool changed = n != f.cur;
    if (changed && pass_.order == Order::kSourcesFirst) return Rebuilt(n);
    // Users first, the sources of a node that was rebuilt are results: they are not visited again,
    // so that what a rule wanted kept is; and what was not rebuilt was offered before them.
    Ref out = changed || pass_.order != Order::kUsersFirst ? Offer(n) : nullptr;
    if (failed_) return nullptr;
    if (pass_.order == Order::kOnce) return Finish(out != nullptr ? out : n);
    if (out != nullptr) return Replace(out);
    n->final_marks |= final_bit_;
    return Finish(n);
  }

  // Sources first: the frame on top becomes what `n` becomes, which has final sources.
  [[gnu::noinline]] Ref Rebuilt(Ref n) {
    Ref* memo = nullptr;
    if (Ref known = Known(n, memo); known != nullptr) return Finish(known);
    if (nary_ != nullptr && IsTree(n)) return Become(n, nullptr);
    if (*memo == busy_) {
      Cycle(n);
      return nullptr;
    }
    *memo = busy_;
    Ref out = Offer(n);
    if (failed_) {
      *memo = nullptr;
      return nullptr;
    }
    if (out == nullptr) {
      n->final_marks |= final_bit_;
      *memo = n;
      return Finish(n);
    }
    Await(n, nullptr);
    frames_.emplace_back(n, n, memo);
    return Become(out, scope_.fired);
  }

  [[gnu::noinline]] Ref LeavesDone(Frame& f) {
    const absl::Span<const Ref> results = absl::MakeConstSpan(scratch_.values).subspan(f.values);
    Ref n = nary_->rebuild(g_, f.cur, results);
    scratch_.values.resize(f.values);
    scratch_.leaves.resize(f.leaves);
    if (n != f.cur) return Spend(nullptr) ? Become(n, nullptr) : nullptr;
    // Its tree is in normal form now: an ordinary node.
    f.stage = Frame::kSources;
    f.has_values = false;
    f.next = 0;
    return nullptr;
  }

  // A rule replaced what the frame on top is about by `n`.
  Ref Replace(Ref n) {
    if (std::exchange(scope_.stop, false)) return Finish(n);
    return Become(n, scope_.fired);
  }

  // The frame on top becomes whatever `n` becomes.
  [[gnu::noinline]] Ref Become(Ref n, const RuleInfo* rule) {
    Ref* memo = nullptr;
    if (Ref known = Known(n, memo); known != nullptr) return Finish(known);
    Await(n, rule);
    Enter(n, *memo);
    return nullptr;
  }
  void Await(Ref n, const RuleInfo* rule) {
    Frame& f = frames_.back();
    f.cur = n;
    f.rule = rule;
    f.stage = Frame::kResult;
  }

  // The frame on top is done.
  Ref Finish(Ref r) {
    *frames_.back().memo = r;
    frames_.pop_back();
    return r;
  }

  // The replacement of `n`; null if no rule fires or there is an error.
  Ref Offer(Ref n) {
    ++offered_;
    Ref out = pass_.trace == nullptr ? TryFast(n) : TryTraced(n);
    if (!scope_.error.ok()) [[unlikely]]
      return RuleFailed();
    if (out == nullptr || !Spend(scope_.fired)) return nullptr;
    ++hits_;
    return out;
  }
  [[gnu::noinline]] Ref RuleFailed() {
    failed_ = true;
    error_ = absl::Status(scope_.error.code(), absl::StrCat(scope_.error.message(), ", in pass \"",
                                                            std::string(pass_.name), "\""));
    return nullptr;
  }

  Ref TryFast(Ref n) {
    for (const TryFn* t = rules_.TablesFor(n->op); *t != nullptr; ++t) {
      if (Ref out = (*t)(scope_, n); out != nullptr) return out;
      if (!scope_.error.ok()) [[unlikely]]
        return nullptr;
    }
    return nullptr;
  }

  [[gnu::noinline]] Ref TryTraced(Ref n) {
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
    if (++replacements_ <= max_hits_) [[likely]]
      return true;
    Endless();
    return false;
  }
  [[gnu::noinline]] void Endless() {
    failed_ = true;
    error_ = absl::InternalError(absl::StrCat(
        "pass \"", std::string(pass_.name), "\" made ", replacements_,
        " replacements without end; the last were by: ", internal::Describe(recent_.Get())));
  }

  // `n` would have to be finished before it can be finished.
  [[gnu::noinline]] void Cycle(Ref n) {
    failed_ = true;
    std::vector<const RuleInfo*> rules;
    for (size_t i = frames_.size(); i-- > 0;) {
      const Frame& f = frames_[i];
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
  const NaryHook* const nary_;  // Null in the other orders.
  Scratch& scratch_;
  std::vector<Frame>& frames_;
  uop::NodeMap<Ref>& memo_;
  const uint16_t final_bit_;
  const Ref busy_;
  const Frame::Stage first_stage_;
  const int64_t max_hits_;
  int64_t offered_ = 0, hits_ = 0, replacements_ = 0;
  Scope scope_;
  internal::RecentRules recent_;
  bool failed_ = false;
  absl::Status error_;
};

}  // namespace

absl::StatusOr<Ref> Rewrite(Graph& g, Ref root, const Pass& pass) {
  if (Ref known = Remembered(g, root, pass); known != nullptr) return known;
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
