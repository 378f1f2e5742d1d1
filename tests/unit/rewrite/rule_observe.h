// What can be seen of a node: the value of a scalar, of every element of a value with a shape, the element that a place is, what
// effects write.
#pragma once

#include <vector>

#include "absl/status/statusor.h"

#include "core/symbolic/evaluate.h"

namespace kiln::rewrite {

// Whether every elementwise op below `root` has operands of dtypes that it takes, and shapes go together: an instance of
// a rule need not be a legal graph.
bool MakesSense(Graph& g, Ref root);

// Two nodes for which this gives the same are the same to any user. An error where something has no value.
absl::StatusOr<std::vector<Scalar>> Observe(Graph& g, Ref root, const symbolic::Bindings& bindings);

// How far apart rounding may put two results of float arithmetic below `root`: a few units in the last place of the largest value
// below it, scaled by how often it is added and multiplied. Infinite if something is not finite there: then
// nothing can be said.
double RoundingOf(Graph& g, Ref root, const symbolic::Bindings& bindings);

// Whether an integer is divided by zero below `root`.
bool DividesByZero(Graph& g, Ref root, const symbolic::Bindings& bindings);

// Whether bits that mean NaN are read as a float or the other way round below `root`: which NaN, rules may change.
bool SeesNanPayload(Graph& g, Ref root, const symbolic::Bindings& bindings);

}  // namespace kiln::rewrite
