// A graph as it is sent: kiln.v1.Graph, serialised once.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "kiln/v1/graph.pb.h"

namespace kiln {

// Immutable; copies are cheap. What is sent to a session before is named by its hash afterwards.
class EncodedGraph {
 public:
  explicit EncodedGraph(const v1::Graph& graph);
  // The bytes of a v1::Graph.
  explicit EncodedGraph(std::string bytes);

  const std::string& bytes() const { return state_->bytes; }
  // SHA-256 of the bytes, 32 bytes.
  const std::string& hash() const { return state_->hash; }

 private:
  struct State {
    std::string bytes, hash;
  };
  std::shared_ptr<const State> state_;
};

}  // namespace kiln
