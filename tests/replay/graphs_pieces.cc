#include "tests/replay/graphs_pieces.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/dtype/status.h"

namespace kiln::replay {
namespace {

using tensor::Dim;
using tensor::Value;

absl::Status TearsApart(const char* op, size_t axis) {
  return absl::UnimplementedError(
      absl::StrCat(op, " of a sharded array that does not respect the shards of axis ", axis));
}

int64_t Product(absl::Span<const int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
}

}  // namespace

// ** shapes **

absl::StatusOr<size_t> PieceOps::Rank(const Pieces& x) const {
  KILN_ASSIGN_OR_RETURN(const auto shape, b_.ShapeOf(x.on[0]));
  return shape.size();
}

absl::StatusOr<std::vector<int64_t>> PieceOps::Bounds(const Pieces& x) const {
  std::vector<int64_t> bounds = {0};
  for (Value v : x.on) {
    KILN_ASSIGN_OR_RETURN(const auto shape, b_.ShapeOf(v));
    if (*x.axis >= shape.size() || !shape[*x.axis]->IsConst()) {
      return absl::UnimplementedError(absl::StrCat("shards along an axis without size: ", *x.axis));
    }
    bounds.push_back(bounds.back() + shape[*x.axis]->IntValue());
  }
  return bounds;
}

absl::StatusOr<std::vector<int64_t>> PieceOps::LogicalShape(const Pieces& x) const {
  KILN_ASSIGN_OR_RETURN(const auto shape, b_.ShapeOf(x.on[0]));
  KILN_ASSIGN_OR_RETURN(const auto bounds, Bounds(x));
  std::vector<int64_t> sizes;
  for (Ref d : shape) {
    if (!d->IsConst()) return absl::UnimplementedError("a symbolic size beside a sharded axis");
    sizes.push_back(d->IntValue());
  }
  sizes[*x.axis] = bounds.back();
  return sizes;
}

absl::StatusOr<Value> PieceOps::Cut(Value v, size_t axis, int64_t begin, int64_t end) {
  KILN_ASSIGN_OR_RETURN(const auto shape, b_.ShapeOf(v));
  Sizes pairs;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i == axis) {
      pairs.insert(pairs.end(), {Dim(begin), Dim(end)});
    } else if (shape[i]->IsConst()) {
      pairs.insert(pairs.end(), {Dim(0), Dim(shape[i]->IntValue())});
    } else {
      return absl::UnimplementedError("a symbolic size beside a sharded axis");
    }
  }
  return b_.Shrink(v, pairs);
}

// ** between devices **

absl::StatusOr<Value> PieceOps::On(const Pieces& x, size_t i, const std::string& device) {
  const size_t k = i < x.on.size() ? i : 0;
  const std::string& from = x.DeviceOf(k);
  if (from.empty() || device.empty() || from == device) return x.on[k];
  return b_.Copy(x.on[k], device);
}

absl::StatusOr<Value> PieceOps::Whole(const Pieces& x, const std::string& device) {
  KILN_ASSIGN_OR_RETURN(const auto bounds, Bounds(x));
  KILN_ASSIGN_OR_RETURN(const size_t rank, Rank(x));
  absl::StatusOr<Value> sum = absl::InternalError("no pieces");
  for (size_t i = 0; i < x.on.size(); ++i) {
    Sizes pairs(2 * rank, Dim(0));
    pairs[2 * *x.axis] = Dim(bounds[i]);
    pairs[2 * *x.axis + 1] = Dim(bounds.back() - bounds[i + 1]);
    const auto padded = b_.Pad(On(x, i, device), pairs);
    sum = i == 0 ? padded : b_.Alu(Op::kAdd, {sum, padded});
  }
  return sum;
}

absl::StatusOr<Pieces> PieceOps::WholeOnEach(const Pieces& x) { return CopyTo(x, x.devices); }

absl::StatusOr<Pieces> PieceOps::CopyTo(const Pieces& x, const std::vector<std::string>& devices) {
  Pieces result{.on = {}, .devices = devices, .axis = {}};
  for (size_t i = 0; i < devices.size(); ++i) {
    KILN_ASSIGN_OR_RETURN(const Value v,
                          x.axis.has_value() ? Whole(x, devices[i]) : On(x, i, devices[i]));
    result.on.push_back(v);
  }
  return result;
}

absl::StatusOr<Pieces> PieceOps::CopyTo(const Pieces& x, const std::string& device) {
  KILN_ASSIGN_OR_RETURN(const Value v,
                        x.axis.has_value() ? Whole(x, device) : b_.Copy(x.on[0], device));
  return Pieces{.on = {v}, .devices = {device}, .axis = {}};
}

absl::StatusOr<Pieces> PieceOps::Combine(Op op, const Pieces& x,
                                         const std::vector<std::string>& devices) {
  Pieces result{.on = {}, .devices = devices, .axis = {}};
  for (const std::string& device : devices) {
    absl::StatusOr<Value> sum = On(x, 0, device);
    for (size_t i = 1; i < x.on.size(); ++i) sum = b_.Alu(op, {sum, On(x, i, device)});
    KILN_RETURN_IF_ERROR(sum.status());
    result.on.push_back(*sum);
  }
  return result;
}

// ** elementwise **

absl::StatusOr<Pieces> PieceOps::Each(absl::Span<const Pieces* const> src, Make make) {
  const Pieces* list = nullptr;     // Says on which devices.
  const Pieces* sharded = nullptr;  // Says along which axis.
  std::string device;
  for (const Pieces* x : src) {
    if (x->is_list() && list == nullptr) list = x;
    if (x->axis.has_value() && sharded == nullptr) sharded = x;
    if (device.empty()) device = x->DeviceOf(0);
  }
  Pieces result{
      .on = {}, .devices = list != nullptr ? list->devices : std::vector{device}, .axis = {}};
  std::vector<int64_t> bounds;
  std::vector<Pieces> operands;
  if (sharded != nullptr) {
    result.axis = sharded->axis;
    KILN_ASSIGN_OR_RETURN(bounds, Bounds(*sharded));
  }
  std::vector<bool> fits;
  for (const Pieces* x : src) {
    operands.push_back(*x);
    bool same = sharded == nullptr;
    if (x->axis.has_value()) {
      KILN_ASSIGN_OR_RETURN(const auto own, Bounds(*x));
      same = x->axis == result.axis && own == bounds;
      if (!same) {
        KILN_ASSIGN_OR_RETURN(operands.back(), WholeOnEach(*x));
      }
    }
    fits.push_back(same);
  }
  const size_t n = list != nullptr ? list->on.size() : 1;
  for (size_t i = 0; i < n; ++i) {
    std::vector<Value> values;
    for (size_t k = 0; k < operands.size(); ++k) {
      KILN_ASSIGN_OR_RETURN(Value v, On(operands[k], i, result.devices[i]));
      if (!fits[k]) {
        KILN_ASSIGN_OR_RETURN(v, Cut(v, *result.axis, bounds[i], bounds[i + 1]));
      }
      values.push_back(v);
    }
    KILN_ASSIGN_OR_RETURN(const Value made, make(i, values));
    result.on.push_back(made);
  }
  return result;
}

absl::StatusOr<Pieces> PieceOps::Assign(const Pieces& target, const Pieces& value) {
  Pieces fitting = value;
  if (!target.axis.has_value() && value.axis.has_value()) {
    KILN_ASSIGN_OR_RETURN(fitting, WholeOnEach(value));
  }
  return Each({&target, &fitting},
              [this](size_t, absl::Span<const Value> v) { return b_.Assign(v[0], v[1]); });
}

absl::StatusOr<Pieces> PieceOps::Reduce(Op op, const Pieces& x, absl::Span<const int64_t> axes) {
  KILN_ASSIGN_OR_RETURN(Pieces parts, Each({&x}, [&](size_t, absl::Span<const Value> v) {
                          return b_.Reduce(op, v[0], axes);
                        }));
  const bool across =
      x.axis.has_value() && std::count(axes.begin(), axes.end(), static_cast<int64_t>(*x.axis)) > 0;
  if (!across) return parts;
  parts.axis.reset();
  return Combine(op, parts, parts.devices);
}

// ** movement **

absl::StatusOr<Pieces> PieceOps::Reshape(const Pieces& x, SizesOn sizes) {
  if (!x.axis.has_value()) {
    return Each({&x}, [&](size_t i, absl::Span<const Value> v) -> absl::StatusOr<Value> {
      KILN_ASSIGN_OR_RETURN(const Sizes to, sizes(i));
      return b_.Reshape(v[0], to);
    });
  }
  KILN_ASSIGN_OR_RETURN(const std::vector<int64_t> from, LogicalShape(x));
  KILN_ASSIGN_OR_RETURN(const std::vector<int64_t> bounds, Bounds(x));
  KILN_ASSIGN_OR_RETURN(Sizes to, sizes(0));
  std::vector<int64_t> numbers;
  for (const Dim& d : to) {
    if (d.node().has_value()) return absl::UnimplementedError("a symbolic reshape of a MULTI");
    numbers.push_back(d.size());
  }
  const absl::Span<const int64_t> before(from), after(numbers);
  const int64_t outer = Product(before.subspan(0, *x.axis));
  const int64_t inner = Product(before.subspan(*x.axis + 1));
  for (size_t j = 0; j < after.size(); ++j) {
    const int64_t rest = Product(after.subspan(j + 1));
    if (Product(after.subspan(0, j)) != outer || rest == 0) continue;
    const bool whole =
        std::all_of(bounds.begin(), bounds.end(), [&](int64_t b) { return b * inner % rest == 0; });
    if (!whole) continue;
    Pieces result{.on = {}, .devices = x.devices, .axis = j};
    for (size_t i = 0; i < x.on.size(); ++i) {
      to[j] = Dim((bounds[i + 1] - bounds[i]) * inner / rest);
      KILN_ASSIGN_OR_RETURN(const Value v, b_.Reshape(x.on[i], to));
      result.on.push_back(v);
    }
    return result;
  }
  return TearsApart("reshape", *x.axis);
}

absl::StatusOr<Pieces> PieceOps::Expand(const Pieces& x, SizesOn sizes) {
  std::vector<int64_t> bounds;
  if (x.axis.has_value()) {
    KILN_ASSIGN_OR_RETURN(bounds, Bounds(x));
  }
  return Each({&x}, [&](size_t i, absl::Span<const Value> v) -> absl::StatusOr<Value> {
    KILN_ASSIGN_OR_RETURN(Sizes to, sizes(i));
    if (x.axis.has_value() && *x.axis < to.size()) to[*x.axis] = Dim(bounds[i + 1] - bounds[i]);
    return b_.Expand(v[0], to);
  });
}

absl::StatusOr<Pieces> PieceOps::Permute(const Pieces& x, absl::Span<const int64_t> axes) {
  KILN_ASSIGN_OR_RETURN(Pieces result, Each({&x}, [&](size_t, absl::Span<const Value> v) {
                          return b_.Permute(v[0], axes);
                        }));
  if (x.axis.has_value()) {
    const auto it = std::find(axes.begin(), axes.end(), static_cast<int64_t>(*x.axis));
    result.axis = static_cast<size_t>(it - axes.begin());
  }
  return result;
}

absl::StatusOr<Pieces> PieceOps::Flip(const Pieces& x, absl::Span<const int64_t> axes) {
  const bool across =
      x.axis.has_value() && std::count(axes.begin(), axes.end(), static_cast<int64_t>(*x.axis)) > 0;
  Pieces from = x;
  if (across) {
    KILN_ASSIGN_OR_RETURN(from, WholeOnEach(x));
  }
  return Each({&from}, [&](size_t, absl::Span<const Value> v) { return b_.Flip(v[0], axes); });
}

absl::StatusOr<Pieces> PieceOps::Pad(const Pieces& x, SizesOn pairs) {
  Pieces from = x;
  if (x.axis.has_value()) {
    KILN_ASSIGN_OR_RETURN(const Sizes first, pairs(0));
    const size_t at = 2 * *x.axis;
    const auto is_zero = [&](size_t i) {
      return i < first.size() && !first[i].node().has_value() && first[i].size() == 0;
    };
    if (!is_zero(at) || !is_zero(at + 1)) {
      KILN_ASSIGN_OR_RETURN(from, WholeOnEach(x));
    }
  }
  return Each({&from}, [&](size_t i, absl::Span<const Value> v) -> absl::StatusOr<Value> {
    KILN_ASSIGN_OR_RETURN(const Sizes to, pairs(i));
    return b_.Pad(v[0], to);
  });
}

absl::StatusOr<Pieces> PieceOps::Shrink(const Pieces& x, SizesOn pairs) {
  const auto on_each = [&](size_t i, absl::Span<const Value> v) -> absl::StatusOr<Value> {
    KILN_ASSIGN_OR_RETURN(const Sizes to, pairs(i));
    return b_.Shrink(v[0], to);
  };
  if (!x.axis.has_value()) return Each({&x}, on_each);
  KILN_ASSIGN_OR_RETURN(const std::vector<int64_t> bounds, Bounds(x));
  KILN_ASSIGN_OR_RETURN(const Sizes all, pairs(0));
  const size_t at = 2 * *x.axis;
  KILN_ASSIGN_OR_RETURN(const size_t rank, Rank(x));
  if (all.size() != 2 * rank) return absl::InvalidArgumentError("shrink: not a pair per axis");
  if (all[at].node().has_value() || all[at + 1].node().has_value()) {
    return TearsApart("shrink", *x.axis);
  }
  const int64_t begin = all[at].size(), end = all[at + 1].size();
  const auto to_piece = [&](size_t piece, size_t i, Value v) -> absl::StatusOr<Value> {
    KILN_ASSIGN_OR_RETURN(Sizes to, pairs(i));
    to[at] = Dim(0);
    to[at + 1] = Dim(bounds[piece + 1] - bounds[piece]);
    return b_.Shrink(v, to);
  };
  if (begin == 0 && end == bounds.back()) {
    return Each({&x}, [&](size_t i, absl::Span<const Value> v) { return to_piece(i, i, v[0]); });
  }
  KILN_ASSIGN_OR_RETURN(const std::vector<int64_t> shape, LogicalShape(x));
  for (size_t i = 0; i < shape.size(); ++i) {
    const Dim &low = all[2 * i], &high = all[2 * i + 1];
    if (i == *x.axis || (!low.node().has_value() && !high.node().has_value() && low.size() == 0 &&
                         high.size() == shape[i])) {
      continue;
    }
    return TearsApart("shrink", *x.axis);
  }
  for (size_t k = 0; k < x.on.size(); ++k) {  // One shard, on each device.
    if (begin != bounds[k] || end != bounds[k + 1]) continue;
    Pieces result{.on = {}, .devices = x.devices, .axis = {}};
    for (size_t i = 0; i < x.on.size(); ++i) {
      KILN_ASSIGN_OR_RETURN(const Value v, On(x, k, x.devices[i]));
      KILN_ASSIGN_OR_RETURN(const Value cut, to_piece(k, i, v));
      result.on.push_back(cut);
    }
    return result;
  }
  return TearsApart("shrink", *x.axis);
}

}  // namespace kiln::replay
