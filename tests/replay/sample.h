// Values of expressions at sampled points: a check of rewrites that needs no expectation.
#pragma once

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

#include "core/symbolic/evaluate.h"
#include "core/uop/graph.h"

namespace kiln::replay {

inline constexpr int kSamplePoints = 60;

// Calls `visit` at points within the bounds of the variables, launch indices and ranges below
// `root`, the same ones each time: corners first, then random ones. Stops at the first error and
// returns it.
absl::Status ForEachSample(Graph& g, Ref root, int points,
                           absl::FunctionRef<absl::Status(const symbolic::Bindings&)> visit);

// Whether `after` has the value of `before` at sampled points where that has one.
// Internal, with the point, if not. Expressions that read memory are not judged.
absl::Status CheckSameValue(Graph& g, Ref before, Ref after, int points = kSamplePoints);

// The point as text: "i=3, ridx0=1".
std::string ToText(const symbolic::Bindings& bindings);

}  // namespace kiln::replay
