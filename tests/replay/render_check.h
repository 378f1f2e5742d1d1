// Whether an expression reads as expected: with exactly that text, or equal to it and no larger.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"

#include "core/uop/graph.h"
#include "tests/replay/record.h"

namespace kiln::replay {

// Judges rendered texts and counts how it came to say yes. Confined to the main thread.
class RenderCheck {
 public:
  // OK if the text of `got` is one of `accepted` (JSON strings), or if `got` is proven equal to the
  // expression of one of them and has no more nodes. Names in those texts are leaves below `got` or
  // below `leaves_of`. FailedPrecondition says what `got` reads like and why it was refused.
  absl::Status Check(const std::string& id, Graph& g, Ref got, const Json& accepted, Ref leaves_of);

  // How many were exact and proven, and both texts of each of the latter.
  std::vector<std::string> Summary() const;

 private:
  int64_t exact_ = 0;
  std::vector<std::string> proven_;
};

}  // namespace kiln::replay
