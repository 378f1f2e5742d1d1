#include "tests/replay/chain_json.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/dtype/status.h"

namespace kiln::replay {
namespace {

using tensor::Movement;

absl::Status Bad(absl::string_view message) { return absl::InvalidArgumentError(message); }

absl::StatusOr<Ref> ParseSize(RecordGraph& nodes, const Json& json) {
  if (json.is_object()) {
    KILN_ASSIGN_OR_RETURN(Ref n, nodes.At(json.at("u")));
    if (n->dtype != DType::kIndex) return Bad("a size that is not an index");
    return n;
  }
  KILN_ASSIGN_OR_RETURN(const int64_t size, ParseInt64(json));
  return nodes.graph().Index(size);
}

// [[a, b], ...] to a, b, ...
absl::StatusOr<std::vector<Ref>> ParsePairs(RecordGraph& nodes, const Json& json) {
  if (!json.is_array()) return Bad("not a list of pairs");
  std::vector<Ref> sizes;
  for (const Json& pair : json) {
    if (!pair.is_array() || pair.size() != 2) return Bad("not a pair");
    for (const Json& end : pair) {
      KILN_ASSIGN_OR_RETURN(Ref size, ParseSize(nodes, end));
      sizes.push_back(size);
    }
  }
  return sizes;
}

absl::StatusOr<std::vector<int64_t>> ParseInts(const Json& json) {
  if (!json.is_array()) return Bad("not a list of integers");
  std::vector<int64_t> values;
  for (const Json& value : json) {
    KILN_ASSIGN_OR_RETURN(const int64_t v, ParseInt64(value));
    values.push_back(v);
  }
  return values;
}

absl::StatusOr<Movement> ParseStep(RecordGraph& nodes, const Json& json) {
  if (!json.is_array() || json.size() != 2) return Bad("not [op, arg]");
  const std::string& op = json[0].get_ref<const std::string&>();
  const Json& arg = json[1];
  if (op == "RESHAPE" || op == "EXPAND") {
    KILN_ASSIGN_OR_RETURN(std::vector<Ref> shape, ParseSizes(nodes, arg));
    return op == "EXPAND" ? Movement::Expand(std::move(shape))
                          : Movement::Reshape(std::move(shape));
  }
  if (op == "PAD" || op == "SHRINK") {
    KILN_ASSIGN_OR_RETURN(std::vector<Ref> pairs, ParsePairs(nodes, arg));
    return op == "PAD" ? Movement::Pad(std::move(pairs)) : Movement::Shrink(std::move(pairs));
  }
  if (op == "PERMUTE") {
    KILN_ASSIGN_OR_RETURN(std::vector<int64_t> order, ParseInts(arg));
    return Movement::Permute(std::move(order));
  }
  if (op != "FLIP") return Bad(absl::StrCat("unknown op ", op));
  if (!arg.is_array() || arg.size() > tensor::kMaxRank) return Bad("not a list of axes");
  uint64_t flipped = 0;
  for (size_t i = 0; i < arg.size(); ++i) flipped |= uint64_t{arg[i].get<bool>()} << i;
  return Movement::Flip(flipped);
}

absl::StatusOr<std::vector<int64_t>> Coordinates(absl::Span<const int64_t> shape, int64_t flat) {
  std::vector<int64_t> coordinates(shape.size());
  for (size_t i = shape.size(); i-- > 0;) {
    coordinates[i] = flat % shape[i];
    flat /= shape[i];
  }
  if (flat != 0) return Bad("an element beyond the shape");
  return coordinates;
}

}  // namespace

absl::StatusOr<std::vector<Ref>> ParseSizes(RecordGraph& nodes, const Json& json) {
  if (!json.is_array()) return Bad("not a list of sizes");
  std::vector<Ref> sizes;
  for (const Json& size : json) {
    KILN_ASSIGN_OR_RETURN(Ref n, ParseSize(nodes, size));
    sizes.push_back(n);
  }
  return sizes;
}

absl::StatusOr<std::vector<Movement>> ParseChain(RecordGraph& nodes, const Json& json) {
  if (!json.is_array()) return Bad("ops is not a list");
  std::vector<Movement> chain;
  for (const Json& step : json) {
    KILN_ASSIGN_OR_RETURN(Movement movement, ParseStep(nodes, step), _ << Shorten(step));
    chain.push_back(std::move(movement));
  }
  return chain;
}

absl::StatusOr<Elements> ParseElements(const Json& json) {
  Elements elements;
  KILN_ASSIGN_OR_RETURN(elements.shape, ParseInts(json.at("shape")));
  KILN_ASSIGN_OR_RETURN(elements.offsets, ParseInts(json.at("offsets")));
  Int128 size = 1;
  for (int64_t dim : elements.shape) {
    if (dim < 0 || (dim != 0 && size > INT64_MAX / dim)) return Bad("a shape that is too large");
    size *= dim;
  }
  std::vector<int64_t> at;
  if (json.contains("at")) {
    KILN_ASSIGN_OR_RETURN(at, ParseInts(json.at("at")));
    elements.all = at.size() == size;
  } else {
    for (size_t i = 0; i < elements.offsets.size(); ++i) at.push_back(static_cast<int64_t>(i));
    if (size != static_cast<Int128>(at.size())) return Bad("not one offset per element");
  }
  if (at.size() != elements.offsets.size()) return Bad("not one offset per element");
  if (size == 0 && !at.empty()) return Bad("elements of an empty shape");
  for (int64_t flat : at) {
    if (flat < 0) return Bad("a negative element");
    KILN_ASSIGN_OR_RETURN(std::vector<int64_t> coordinates, Coordinates(elements.shape, flat));
    elements.coordinates.push_back(std::move(coordinates));
  }
  return elements;
}

}  // namespace kiln::replay
