// The fields of one node of a stranger's graph, read and checked. For import.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"

#include "core/dtype/scalar.h"
#include "core/tensor/graph_builder.h"
#include "kiln/v1/graph.pb.h"
#include "server/pb.h"

namespace kiln::server {

// What an op needs besides its dtype.
struct OpForm {
  std::optional<Op> alu;  // The elementwise op that it is.
  int min_src = 0, max_src = 0;
  pb::Node::ArgCase arg = pb::Node::ARG_NOT_SET;
  bool needs_dtype = false;
};
// Null for what is no op.
std::optional<OpForm> FormOf(pb::Op op);

// "reduce"; "op 99" for what is no op.
std::string OpName(pb::Op op);

// `text` without what is beyond `bytes` bytes, cut between characters.
std::string_view CutText(std::string_view text, size_t bytes);

// How much may still be read: what lists become is larger than their bytes.
struct ReadBudget {
  int64_t entries;  // Sources, axes, sizes and other entries of lists, in the whole graph.
  const int64_t most = entries;
};

// Confined to one thread. Borrows everything.
class NodeReader {
 public:
  NodeReader(const pb::Node& node, uint32_t number, absl::Span<const tensor::Value> earlier,
             const tensor::GraphLimits& limits, ReadBudget& budget)
      : node_(node), number_(number), earlier_(earlier), limits_(limits), budget_(budget) {}

  template <typename... Parts>
  absl::Status Wrong(std::string_view field, const Parts&... parts) const {
    return absl::InvalidArgumentError(Message(field, absl::StrCat(parts...)));
  }
  // "node 7 "layer1" (add)".
  std::string Name() const;

  // Op, dtype, number of sources, kind of arg.
  absl::StatusOr<OpForm> CheckForm() const;
  // The dtype that the node gives; null if it gives none.
  absl::StatusOr<std::optional<DType>> GivenDType() const;
  absl::StatusOr<std::vector<tensor::Source>> Sources() const;

  using DimList = google::protobuf::RepeatedPtrField<pb::Dim>;
  absl::StatusOr<std::vector<tensor::Dim>> Dims(std::string_view field, const DimList& dims) const;
  absl::StatusOr<std::vector<int64_t>> Axes(
      std::string_view field, const google::protobuf::RepeatedField<int32_t>& axes) const;
  absl::StatusOr<Op> Reduction() const;
  absl::StatusOr<Scalar> Constant(DType dtype) const;
  absl::StatusOr<std::vector<std::string>> Devices() const;

  // The inputs of a CALL in the order of the schema.
  absl::StatusOr<std::vector<std::optional<tensor::Source>>> CallInputs(
      const std::vector<tensor::Source>& sources) const;
  // By name.
  absl::StatusOr<std::vector<tensor::Attribute>> CallAttributes() const;

 private:
  std::string Message(std::string_view field, std::string_view what) const;
  absl::Status Spend(std::string_view field, int64_t entries) const;
  // A name of at most the limit's bytes, which messages may repeat.
  absl::Status CheckName(std::string_view field, std::string_view name) const;
  absl::StatusOr<tensor::Value> Earlier(std::string_view field, uint32_t node) const;
  absl::StatusOr<tensor::AttributeValue> Attribute(std::string_view field,
                                                   const pb::AttributeValue& value) const;

  const pb::Node& node_;
  const uint32_t number_;
  const absl::Span<const tensor::Value> earlier_;
  const tensor::GraphLimits& limits_;
  ReadBudget& budget_;
};

}  // namespace kiln::server
