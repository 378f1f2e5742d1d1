// Our nodes in the words of the fixtures: the way back from graph_json.h.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

#include "core/symbolic/evaluate.h"
#include "core/uop/graph.h"
#include "tests/replay/fixture_dtype.h"
#include "tests/replay/record.h"

namespace kiln::replay {

// Whether the fixtures could call the op of `n` so. A STACK is a VECTORIZE; if its sources are
// constants a VCONST too, and if they are equal a CONST; if they are UNSTACKs of one node a GEP, and
// if they load consecutive elements a LOAD.
bool IsCalled(Ref n, absl::string_view fixture_op);

// InvalidArgument if the sources' shapes do not fit.
absl::StatusOr<FixtureDType> FixtureDTypeOf(Graph& g, Ref n);

// Whether `arg`, read as what the op of `n` has as its argument, is that of `n`.
bool HasArg(Ref n, const Json& arg);

// The sources of `n` less what graph_json.h adds: the value of an ungated load.
std::vector<Ref> FixtureSources(Ref n);

// The nodes below `root`, itself included. The lanes of a vector that is constant or loaded count as
// nodes of their own (VECTORIZE) or as part of it (VCONST, LOAD).
enum class Lanes { kNodes, kPart };
std::vector<Ref> NodesBelow(Ref root, Lanes lanes);

// Values by name from a JSON object, read as the dtypes of the variables and launch indices of that
// name among `nodes`; a name that none has counts as index.
absl::StatusOr<symbolic::Bindings> ParseBindings(const Json& var_vals, absl::Span<const Ref> nodes);

}  // namespace kiln::replay
