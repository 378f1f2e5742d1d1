// The rendered notation of the fixtures (README.md, "Rendered text") back to a node.
//
//   ParseRendered(g, "((a*4)+ridx0)", leaves, DType::kIndex)
#pragma once

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

#include "core/uop/graph.h"

namespace kiln::replay {

// Variables, launch indices and ranges below `roots` by the name that they have in rendered text.
// (A BIND reads as its variable.)
std::map<std::string, Ref> LeavesByName(absl::Span<const Ref> roots);

// The node that `text` is the rendering of. A constant has the dtype of what it is combined with;
// `dtype` is that of the whole where it does not follow from the parts. InvalidArgument, with the
// place in the text, if it is no such text or names a leaf that `leaves` lacks.
absl::StatusOr<Ref> ParseRendered(Graph& g, absl::string_view text,
                                  const std::map<std::string, Ref>& leaves, DType dtype);

}  // namespace kiln::replay
