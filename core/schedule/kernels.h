// Kernels: what each stored node and each ASSIGN computes. For the .cc files of this folder.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "core/schedule/order.h"
#include "core/schedule/storage.h"
#include "core/uop/graph.h"

namespace kiln::schedule::internal {

struct Kernel {
  Ref root;                 // The node that it stores.
  Ref sink;                 // Its body.
  std::vector<Ref> states;  // By number of PARAM; the first is `root`, the rest is read.
  std::string name;
  Ref crowded =
      nullptr;  // If not null, there is no kernel, because this node has to be stored first.
};

// "e_16_32" for loops over 16 and 32, "r_..." with the reductions' sizes if there are any, "v" for
// symbolic sizes.
std::string NameOf(Ref sink);

// The kernel that stores `root`, an ASSIGN or a stored node with elements.
absl::StatusOr<Kernel> MakeKernel(Graph& g, const Storage& storage, const States& states, Ref root);

// Whether an ASSIGN's kernel reads the input that it writes at other elements than the one it writes: then the
// value has to be stored first.
bool ReadsElsewhere(const Kernel& kernel);

}  // namespace kiln::schedule::internal
