#include "core/schedule/order.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <queue>

#include "absl/status/status.h"

#include "core/uop/walk.h"

namespace kiln::schedule::internal {
namespace {

Ref Get(const absl::flat_hash_map<Ref, Ref>& map, Ref key) {
  const auto it = map.find(key);
  return it == map.end() ? nullptr : it->second;
}

// Edges go from a task to those that must come after it.
using Edges = std::vector<std::vector<int32_t>>;

class Orderer {
 public:
  Orderer(const States& states, const std::vector<Task>& tasks)
      : states_(states), tasks_(tasks), after_(tasks.size()) {
    for (size_t t = 0; t < tasks.size(); ++t) writer_[tasks[t].writes] = static_cast<int32_t>(t);
    for (size_t t = 0; t < tasks.size(); ++t) {
      const auto task = static_cast<int32_t>(t);
      for (Ref read : tasks[t].reads) {
        AddEdge(Writer(read), task);
        AddEdge(task, NextWriter(read));
      }
      AddEdge(Writer(states_.Before(tasks[t].writes)), task);
    }
  }

  // All tasks in order, or as many as can run.
  std::vector<int32_t> Run() {
    std::vector<int32_t> waits(tasks_.size());
    for (const auto& targets : after_) {
      for (int32_t t : targets) ++waits[static_cast<size_t>(t)];
    }
    std::priority_queue<int32_t, std::vector<int32_t>, std::greater<>> ready;
    for (size_t t = 0; t < tasks_.size(); ++t) {
      if (waits[t] == 0) ready.push(static_cast<int32_t>(t));
    }
    std::vector<int32_t> order;
    while (!ready.empty()) {
      const int32_t task = ready.top();
      ready.pop();
      order.push_back(task);
      for (int32_t t : after_[static_cast<size_t>(task)]) {
        if (--waits[static_cast<size_t>(t)] == 0) ready.push(t);
      }
    }
    return order;
  }

  // A task that needs a state which is overwritten by what it waits for. Pre: Run stopped early.
  struct Conflict {
    int32_t task;
    Ref state;
  };
  std::optional<Conflict> FindConflict() const {
    for (size_t t = 0; t < tasks_.size(); ++t) {
      const auto task = static_cast<int32_t>(t);
      for (Ref read : tasks_[t].reads) {
        const int32_t next = NextWriter(read);
        if (next != kNone && Reaches(next, task)) return Conflict{task, read};
      }
    }
    return std::nullopt;
  }

 private:
  static constexpr int32_t kNone = -1;
  int32_t Writer(Ref state) const {
    const auto it = writer_.find(state);
    return state == nullptr || it == writer_.end() ? kNone : it->second;
  }
  int32_t NextWriter(Ref state) const { return Writer(states_.After(state)); }
  void AddEdge(int32_t from, int32_t to) {
    if (from != kNone && to != kNone && from != to) after_[static_cast<size_t>(from)].push_back(to);
  }
  bool Reaches(int32_t from, int32_t to) const {
    std::vector<bool> seen(tasks_.size());
    std::vector<int32_t> open = {from};
    while (!open.empty()) {
      const int32_t t = open.back();
      open.pop_back();
      if (t == to) return true;
      if (seen[static_cast<size_t>(t)]) continue;
      seen[static_cast<size_t>(t)] = true;
      for (int32_t next : after_[static_cast<size_t>(t)]) open.push_back(next);
    }
    return false;
  }

  const States& states_;
  const std::vector<Task>& tasks_;
  absl::flat_hash_map<Ref, int32_t> writer_;
  Edges after_;
};

}  // namespace

States::States(Ref sink) {
  absl::flat_hash_map<Ref, Ref> last;  // By input.
  for (Ref n : uop::Toposort(sink)) {
    if (n->op == Op::kInput) {
      input_[n] = last[n] = n;
    } else if (n->op == Op::kAssign) {
      Ref target = n->src(0);
      while (target->op != Op::kInput) target = target->src(0);
      input_[n] = target;
      before_[n] = last[target];
      after_[last[target]] = n;
      last[target] = n;
    }
  }
}

Ref States::InputOf(Ref state) const { return Get(input_, state); }
Ref States::Before(Ref state) const { return Get(before_, state); }
Ref States::After(Ref state) const { return Get(after_, state); }

absl::StatusOr<Order> OrderTasks(Graph& g, const States& states, std::vector<Task>& tasks) {
  Order result;
  while (true) {
    Orderer orderer(states, tasks);
    result.tasks = orderer.Run();
    if (result.tasks.size() == tasks.size()) return result;
    const auto conflict = orderer.FindConflict();
    if (!conflict.has_value()) return absl::InternalError("kernels wait for each other");
    // Numbered so that no node of the graph is the same one, nor the copy that an output is.
    Ref saved =
        g.Make(Op::kCopy, conflict->state->dtype, {conflict->state}, g.PayloadArg("", {-1}));
    std::vector<Ref>& reads = tasks[static_cast<size_t>(conflict->task)].reads;
    std::replace(reads.begin(), reads.end(), conflict->state, saved);
    if (std::find(result.saved.begin(), result.saved.end(), saved) == result.saved.end()) {
      result.saved.push_back(saved);
      tasks.push_back({.writes = saved, .reads = {conflict->state}});
    }
  }
}

}  // namespace kiln::schedule::internal
