#include "core/schedule/merge_kernels.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"

#include "core/schedule/storage.h"
#include "core/uop/substitute.h"
#include "core/uop/walk.h"

namespace kiln::schedule::internal {
namespace {

// How many groups with the right loops are looked at for each kernel, the last ones first.
constexpr int kGroupsTried = 8;
// What one kernel may write and what it may work on, so that addresses and values stay in registers.
constexpr size_t kMaxWritten = 8, kMaxStates = 24;
// With so many elements, a kernel takes about as long to run as to start.
constexpr int64_t kSmallElems = 4096;

Ref StoreOf(const Kernel& kernel) { return kernel.sink->src(0); }
absl::Span<const Ref> LoopsOf(const Kernel& kernel) { return StoreOf(kernel)->src().subspan(2); }

bool IsSmall(const Kernel& kernel) {
  int64_t elems = 1;
  for (Ref loop : LoopsOf(kernel)) {
    if (!loop->src(0)->IsConst() || loop->src(0)->IntValue() > kSmallElems / elems) return false;
    elems *= loop->src(0)->IntValue();
  }
  return true;
}

// What a kernel works on, in terms that can be compared with another's.
struct Accesses {
  struct Load {
    Ref state, position;
    friend bool operator==(const Load&, const Load&) = default;
    template <typename H>
    friend H AbslHashValue(H h, const Load& l) {
      return H::combine(std::move(h), l.state, l.position);
    }
  };
  std::vector<Load> loads;
  std::vector<std::pair<Ref, Ref>>
      params;  // Where each state is (its input, or itself), its PARAM.
  bool reduces = false;
};

class Merger {
 public:
  Merger(const States& states, const MergeInput& input)
      : states_(states), in_(input), position_(input.tasks.size()) {
    for (size_t t = 0; t < in_.tasks.size(); ++t) {
      const auto task = static_cast<int32_t>(t);
      writer_[in_.tasks[t].writes] = task;
      for (Ref read : in_.tasks[t].reads) readers_[read].push_back(task);
    }
  }

  std::vector<std::vector<int32_t>> Run() {
    for (int32_t task : in_.order) {
      const auto t = static_cast<size_t>(task);
      std::optional<size_t> at;
      if (t < in_.kernels.size()) at = Place(task);
      if (!at.has_value()) {
        at = groups_.size();
        groups_.emplace_back();
      }
      groups_[*at].tasks.push_back(task);
      position_[t] = *at;
    }
    std::vector<std::vector<int32_t>> result;
    for (Group& group : groups_) result.push_back(std::move(group.tasks));
    return result;
  }

 private:
  struct Group {
    std::vector<int32_t> tasks;
    absl::flat_hash_set<Accesses::Load> loads;
    absl::flat_hash_map<Ref, Ref> params;  // By what the state is in.
    bool small = false;
  };
  struct Key {
    int32_t device;
    std::vector<Ref> loops;
    friend bool operator==(const Key&, const Key&) = default;
    template <typename H>
    friend H AbslHashValue(H h, const Key& k) {
      return H::combine(std::move(h), k.device, k.loops);
    }
  };

  const Task& TaskOf(int32_t task) const { return in_.tasks[static_cast<size_t>(task)]; }
  const Kernel& KernelOf(int32_t task) const { return in_.kernels[static_cast<size_t>(task)]; }
  size_t PositionOf(int32_t task) const { return position_[static_cast<size_t>(task)]; }

  // What a kernel's PARAM holds when it begins.
  Ref StateOf(int32_t task, int64_t param) const {
    const Task& t = TaskOf(task);
    if (param > 0) return t.reads[static_cast<size_t>(param - 1)];
    return t.writes->op == Op::kAssign ? states_.Before(t.writes) : t.writes;
  }

  Accesses AccessesOf(int32_t task) const {
    Accesses a;
    for (Ref n : uop::Toposort(KernelOf(task).sink)) {
      if (n->op == Op::kParam) {
        Ref state = StateOf(task, uop::ParamOf(n).number);
        a.params.emplace_back(IsState(state) ? states_.InputOf(state) : state, n);
      } else if (n->op == Op::kLoad) {
        Ref index = n->src(0);
        a.loads.push_back({StateOf(task, uop::ParamOf(index->src(0)).number), index->src(1)});
      } else if (n->op == Op::kReduce) {
        a.reduces = true;
      }
    }
    return a;
  }

  // The group that the kernel joins, which may be a new one; none if it stays alone.
  std::optional<size_t> Place(int32_t task) {
    const Kernel& kernel = KernelOf(task);
    const Accesses a = AccessesOf(task);
    if (a.reduces) return std::nullopt;
    const bool small = IsSmall(kernel);
    const absl::Span<const Ref> loops = LoopsOf(kernel);
    std::vector<size_t>& open =
        open_[Key{in_.devices[static_cast<size_t>(task)], {loops.begin(), loops.end()}}];
    const size_t first = EarliestOf(task);
    int tried = 0;
    for (auto it = open.rbegin(); it != open.rend() && *it >= first && tried < kGroupsTried;
         ++it, ++tried) {
      Group& group = groups_[*it];
      const bool pays = (small && group.small) || SharesLoads(group, a);
      if (pays && Fits(group, a) && OverwritesOwnElements(task, *it)) {
        Add(a, group);
        return *it;
      }
    }
    open.push_back(groups_.size());
    Group& group = groups_.emplace_back();
    group.small = small;
    Add(a, group);
    return open.back();
  }

  // The first group that a kernel can be in, if what it overwrites is read there as it should be.
  size_t EarliestOf(int32_t task) const {
    size_t first = 0;
    const auto after = [&](Ref state) {
      const auto writer = writer_.find(state);
      if (writer != writer_.end()) first = std::max(first, PositionOf(writer->second) + 1);
    };
    for (Ref read : TaskOf(task).reads) after(read);
    if (Ref before = states_.Before(TaskOf(task).writes); before != nullptr) {
      after(before);
      for (int32_t reader : ReadersOf(before)) {
        if (reader != task) first = std::max(first, PositionOf(reader));
      }
    }
    return first;
  }

  absl::Span<const int32_t> ReadersOf(Ref state) const {
    const auto found = readers_.find(state);
    if (found == readers_.end()) return {};
    return found->second;
  }

  bool SharesLoads(const Group& group, const Accesses& a) const {
    return std::any_of(a.loads.begin(), a.loads.end(),
                       [&](const auto& load) { return group.loads.contains(load); });
  }

  // Whether all can be PARAMs of one kernel.
  bool Fits(const Group& group, const Accesses& a) const {
    if (group.tasks.size() >= kMaxWritten) return false;
    size_t more = 0;
    for (const auto& [state, param] : a.params) {
      const auto found = group.params.find(state);
      if (found == group.params.end()) {
        ++more;
      } else if (found->second->dtype != param->dtype ||
                 uop::ParamOf(found->second).elems != uop::ParamOf(param).elems) {
        return false;
      }
    }
    return group.params.size() + more <= kMaxStates;
  }

  // Whether those in the group that read what the kernel overwrites read just the element that it
  // then writes. (A kernel loads everything before it stores to the same memory.)
  bool OverwritesOwnElements(int32_t task, size_t at) const {
    Ref before = states_.Before(TaskOf(task).writes);
    if (before == nullptr) return true;
    Ref written = StoreOf(KernelOf(task))->src(0);
    for (int32_t reader : ReadersOf(before)) {
      if (PositionOf(reader) != at || reader == task) continue;
      if (written->num_src > 2) return false;  // Where it is not stored, it may be anywhere.
      for (const Accesses::Load& load : AccessesOf(reader).loads) {
        if (load.state == before && load.position != written->src(1)) return false;
      }
    }
    return true;
  }

  static void Add(const Accesses& a, Group& group) {
    group.loads.insert(a.loads.begin(), a.loads.end());
    group.params.insert(a.params.begin(), a.params.end());
  }

  const States& states_;
  const MergeInput in_;
  absl::flat_hash_map<Ref, int32_t> writer_;
  absl::flat_hash_map<Ref, std::vector<int32_t>> readers_;
  std::vector<size_t> position_;  // Of each task, in groups_.
  std::vector<Group> groups_;
  absl::flat_hash_map<Key, std::vector<size_t>> open_;
};

}  // namespace

std::vector<std::vector<int32_t>> MergeTasks(const States& states, const MergeInput& input) {
  return Merger(states, input).Run();
}

Ref MergeSinks(Graph& g, absl::Span<const Ref> sinks,
               absl::Span<const std::vector<int32_t>> numbers) {
  std::vector<Ref> stores;
  for (size_t i = 0; i < sinks.size(); ++i) {
    std::vector<uop::Replacement> params;
    for (Ref n : uop::Toposort(sinks[i])) {
      if (n->op != Op::kParam) continue;
      const int64_t number = numbers[i][static_cast<size_t>(uop::ParamOf(n).number)];
      params.emplace_back(n, g.Param(n->dtype, absl::StrCat("data", number), number,
                                     uop::ParamOf(n).elems, uop::ParamOf(n).space));
    }
    Ref sink = uop::SubstituteOnce(g, sinks[i], params);
    stores.insert(stores.end(), sink->src().begin(), sink->src().end());
  }
  return g.Make(Op::kSink, DType::kVoid, stores);
}

}  // namespace kiln::schedule::internal
