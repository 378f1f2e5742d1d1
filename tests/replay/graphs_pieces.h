// Values on several devices, taken apart: one value of the builder per device.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

#include "core/tensor/graph_builder.h"

namespace kiln::replay {

// A value of a fixture: one on one device, or one per device of a list. With an axis (MULTI) they are
// the shards of one logical array. A constant on the default device has no device: it goes with any.
struct Pieces {
  std::vector<tensor::Value> on;
  std::vector<std::string> devices;  // As many as `on`; empty string: anywhere.
  std::optional<size_t> axis;

  bool is_list() const { return on.size() > 1; }
  const std::string& DeviceOf(size_t i) const { return devices[i < devices.size() ? i : 0]; }
};

// The ops of the fixtures on such values. Confined to one thread; borrows the builder.
class PieceOps {
 public:
  using Sizes = std::vector<tensor::Dim>;
  // The sizes of an op on device i.
  using SizesOn = absl::FunctionRef<absl::StatusOr<Sizes>(size_t i)>;
  using Make =
      absl::FunctionRef<absl::StatusOr<tensor::Value>(size_t i, absl::Span<const tensor::Value>)>;

  explicit PieceOps(tensor::GraphBuilder& builder) : b_(builder) {}

  // `make` on each device, on operands that were brought together: shards along one axis, others
  // cut to match, single values copied to where they are needed.
  absl::StatusOr<Pieces> Each(absl::Span<const Pieces* const> src, Make make);

  // ** movement ** (of a MULTI: sizes are those of the logical array)
  absl::StatusOr<Pieces> Reshape(const Pieces& x, SizesOn sizes);
  absl::StatusOr<Pieces> Expand(const Pieces& x, SizesOn sizes);
  absl::StatusOr<Pieces> Permute(const Pieces& x, absl::Span<const int64_t> axes);
  absl::StatusOr<Pieces> Flip(const Pieces& x, absl::Span<const int64_t> axes);
  absl::StatusOr<Pieces> Pad(const Pieces& x, SizesOn pairs);
  absl::StatusOr<Pieces> Shrink(const Pieces& x, SizesOn pairs);

  // ** others **
  absl::StatusOr<Pieces> Reduce(Op op, const Pieces& x, absl::Span<const int64_t> axes);
  absl::StatusOr<Pieces> Assign(const Pieces& target, const Pieces& value);
  absl::StatusOr<Pieces> CopyTo(const Pieces& x, const std::vector<std::string>& devices);
  absl::StatusOr<Pieces> CopyTo(const Pieces& x, const std::string& device);
  // Every piece combined, on each of the devices.
  absl::StatusOr<Pieces> Combine(Op op, const Pieces& x, const std::vector<std::string>& devices);

 private:
  // Piece i on `device`.
  absl::StatusOr<tensor::Value> On(const Pieces& x, size_t i, const std::string& device);
  // The logical array of a MULTI on one device; on each.
  absl::StatusOr<tensor::Value> Whole(const Pieces& x, const std::string& device);
  absl::StatusOr<Pieces> WholeOnEach(const Pieces& x);
  // Where the pieces begin along the axis, and where the last ends.
  absl::StatusOr<std::vector<int64_t>> Bounds(const Pieces& x) const;
  absl::StatusOr<std::vector<int64_t>> LogicalShape(const Pieces& x) const;
  absl::StatusOr<size_t> Rank(const Pieces& x) const;
  // begin_i, end_i of the axis and all of the others.
  absl::StatusOr<tensor::Value> Cut(tensor::Value v, size_t axis, int64_t begin, int64_t end);

  tensor::GraphBuilder& b_;
};

}  // namespace kiln::replay
