#include "core/uop/substitute.h"

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include "core/uop/node_map.h"
#include "core/uop/text.h"

namespace kiln::uop {
namespace {

class Substitution {
 public:
  Substitution(Graph& g, absl::Span<const Replacement> replacements) : g_(g) {
    for (const auto& [from, to] : replacements) to_.Set(from, from == to ? nullptr : to);
  }

  absl::StatusOr<Ref> Run(Ref root) {
    stack_.push_back(root);
    while (!stack_.empty()) {
      Ref n = stack_.back();
      State& state = state_[n];
      if (state.result != nullptr) {  // Reached on two paths.
        stack_.pop_back();
        continue;
      }
      if (!state.entered) {
        state.entered = true;
        state.becomes = to_.Get(n);
      }
      const size_t depth = stack_.size();
      if (!(state.becomes != nullptr ? Await(state.becomes) : AwaitSources(n))) {
        return NeverEnds(stack_.back());
      }
      if (stack_.size() != depth) continue;
      if (state.becomes != nullptr) {
        state.result = state_[state.becomes].result;
      } else if (Ref rebuilt = Rebuild(n); rebuilt == n) {
        state.result = n;
      } else {
        state.becomes = rebuilt;
      }
    }
    return state_[root].result;
  }

 private:
  struct State {
    Ref result;   // Final.
    Ref becomes;  // What `n` is replaced by or rebuilt as: its result is that of `n`.
    bool entered;
  };

  // Has `n` dealt with first, unless it is. False if it waits for the node on top of the stack.
  bool Await(Ref n) {
    const State& state = state_[n];
    if (state.result != nullptr) return true;
    stack_.push_back(n);
    return !state.entered;
  }
  bool AwaitSources(Ref n) {
    for (Ref s : n->src()) {
      if (!Await(s)) return false;
    }
    return true;
  }

  Ref Rebuild(Ref n) {
    sources_.clear();
    bool changed = false;
    for (Ref s : n->src()) {
      sources_.push_back(state_[s].result);
      changed = changed || sources_.back() != s;
    }
    return changed ? g_.WithSources(n, sources_) : n;
  }

  static absl::Status NeverEnds(Ref n) {
    return absl::InvalidArgumentError(
        absl::StrCat("the substitution never ends: node ", n->id,
                     " comes back below its own replacement: ", Excerpt(n)));
  }

  Graph& g_;
  NodeMap<Ref> to_;
  NodeMap<State> state_;
  std::vector<Ref> stack_;
  std::vector<Ref> sources_;
};

}  // namespace

absl::StatusOr<Ref> Substitute(Graph& g, Ref root, absl::Span<const Replacement> replacements) {
  return Substitution(g, replacements).Run(root);
}

Ref SubstituteOnce(Graph& g, Ref root, absl::Span<const Replacement> replacements) {
  NodeMap<Ref> result;
  for (const auto& [from, to] : replacements) result.Set(from, to);
  std::vector<Ref> stack = {root}, sources;
  while (!stack.empty()) {
    Ref n = stack.back();
    if (result.Get(n) != nullptr) {
      stack.pop_back();
      continue;
    }
    const size_t depth = stack.size();
    for (Ref s : n->src()) {
      if (result.Get(s) == nullptr) stack.push_back(s);
    }
    if (stack.size() != depth) continue;
    sources.clear();
    for (Ref s : n->src()) sources.push_back(result.Get(s));
    const bool changed = n->src() != absl::MakeConstSpan(sources);
    result.Set(n, changed ? g.WithSources(n, sources) : n);
    stack.pop_back();
  }
  return result.Get(root);
}

}  // namespace kiln::uop
