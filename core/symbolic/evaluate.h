// The value of an expression, given values of its variables by name.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "core/dtype/scalar.h"
#include "core/uop/graph.h"

namespace kiln::symbolic {

// What a run knows. Names of variables and of launch indices (SPECIAL) share one map. Scalars are
// in canonical form for the dtype of the node that reads them.
struct Bindings {
  std::map<std::string, Scalar, std::less<>> variables = {};
  std::map<int32_t, int64_t> ranges = {};               // By axis id.
  std::map<int64_t, std::vector<Scalar>> buffers = {};  // By number of the PARAM: what LOAD reads.
};

// The value of `n` in canonical form for its dtype. Linear in the number of nodes below `n`; only
// what the value depends on is computed (the branch of a WHERE that is not taken, and a place whose
// gate is false, may be undefined). A BIND is the value given for its variable, or else its own. A
// load whose gate is false is its alternative value, or else 0. InvalidArgument: a variable, range
// or launch index that is missing or out of its bounds (named), a load outside its buffer, a
// division of an index by 0, an index value that leaves int64. Unimplemented: an op that has no
// scalar value of its own (a tensor op, say).
absl::StatusOr<Scalar> Evaluate(Graph& g, Ref n, const Bindings& bindings);

// Names of all variables below `n`, sorted, each once. Anonymous ones have none.
std::vector<std::string> VariableNames(Ref n);

}  // namespace kiln::symbolic
