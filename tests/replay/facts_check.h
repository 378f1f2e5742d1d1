// The fact language of rewrite records: what `expect` says about the result of a rewrite.
#pragma once

#include "absl/status/status.h"

#include "core/uop/graph.h"
#include "tests/replay/graph_json.h"
#include "tests/replay/record.h"

namespace kiln::replay {

// Whether `facts`, a JSON object as in tests/fixtures/README.md, holds for `result`, a node of
// record.graph(). FailedPrecondition says which fact does not hold, where, and what is there;
// InvalidArgument if a fact is malformed or unknown.
absl::Status CheckFacts(RecordGraph& record, const Json& facts, Ref result);

// The same for the fact `eval` only, where there is one.
absl::Status CheckEvalFacts(RecordGraph& record, const Json& facts, Ref result);

}  // namespace kiln::replay
