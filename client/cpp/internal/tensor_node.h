// What a Tensor stands for: a leaf with memory, a placeholder, or an operation on others.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

#include "client/cpp/attribute.h"
#include "client/cpp/internal/known_results.h"
#include "client/cpp/tensor.h"
#include "kiln/v1/graph.pb.h"

namespace kiln::client {

using NodeRef = std::shared_ptr<const TensorNode>;

// Where a realized tensor lies, and what it is as far as that is known.
struct Realized {
  Buffer buffer;
  std::optional<TensorInfo> info;
  // Else it is output `index` of this run, of a graph known by `key`.
  std::optional<Future<v1::GraphResult>> run;
  KnownResults::Key key;
  int index = 0;
};

// Immutable, but for being realized. Thread-safe, once its public members are set.
struct TensorNode {
  TensorNode(std::shared_ptr<Core> c, std::vector<NodeRef> src)
      : core(std::move(c)), src_(std::move(src)) {}
  explicit TensorNode(std::shared_ptr<Core> c) : TensorNode(std::move(c), {}) {}
  ~TensorNode();
  TensorNode(const TensorNode& other);

  std::shared_ptr<Core> core;
  absl::Status error;  // What is wrong with it, if that is known already.
  v1::Node node;       // Without `src` and without sizes.
  // Sizes that may depend on variables: of attributes, by name; of an INPUT or a
  // movement, under "".
  std::vector<std::pair<std::string, Dims>> sizes;
  bool is_placeholder = false;

  // What it is computed from; none any more when it is realized.
  std::vector<NodeRef> src() const;
  std::optional<Realized> realized() const;
  void SetRealized(Realized r) const;
  // Of a realized one: waits for the server if need be.
  absl::StatusOr<TensorInfo> Info() const;

 private:
  static std::vector<NodeRef> TakeSources(const TensorNode& node);

  mutable absl::Mutex mu_;
  mutable std::vector<NodeRef> src_ ABSL_GUARDED_BY(mu_);
  mutable std::optional<Realized> realized_ ABSL_GUARDED_BY(mu_);
};

// A graph of nodes, as it is sent.
struct LoweredGraph {
  v1::Graph graph;
  std::vector<NodeRef> leaves;    // By slot; the placeholders first.
  std::vector<uint32_t> outputs;  // Node of each output.
};

// What computes `outputs` from what is realized and from `placeholders`, which get the first slots.
// The same expression gives the same graph. May wait for the server to say what a leaf is.
absl::StatusOr<LoweredGraph> Lower(const std::vector<NodeRef>& outputs,
                                   const std::vector<NodeRef>& placeholders);

TensorInfo FromProto(const v1::TensorInfo& proto);

// The leaf that an ASSIGN writes to as a whole; null otherwise.
NodeRef AssignedLeaf(const TensorNode& node);

}  // namespace kiln::client
