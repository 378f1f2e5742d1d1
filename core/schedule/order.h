// In which order kernels and copies run. For the .cc files of this folder.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"

#include "core/uop/graph.h"

namespace kiln::schedule::internal {

// The contents of one input, as they change: the INPUT, then each ASSIGN that writes to it, in order. A state is
// one of these nodes.
class States {
 public:
  explicit States(Ref sink);
  Ref InputOf(Ref state) const;
  // The state before ASSIGN `state`; the one after `state`, null if it is the last. A stored node, which never
  // changes, has neither.
  Ref Before(Ref state) const;
  Ref After(Ref state) const;

 private:
  absl::flat_hash_map<Ref, Ref> input_, before_, after_;
};

// A kernel or a copy.
struct Task {
  Ref writes;  // The state or stored node that exists after it.
  // States and stored nodes. One that it overwrites in place is not among them.
  std::vector<Ref> reads;
};

struct Order {
  std::vector<int32_t> tasks;  // Indices, in an order in which each reads what it means to.
  // Copies to be made of states that are overwritten before all who need them could read them: tasks at
  // the end of the list, added to it, each of which writes a COPY of the state.
  std::vector<Ref> saved;
};

// Reads of saved states are replaced in `tasks`, and the copies appended to it. Internal if there is a cycle.
absl::StatusOr<Order> OrderTasks(Graph& g, const States& states, std::vector<Task>& tasks);

}  // namespace kiln::schedule::internal
