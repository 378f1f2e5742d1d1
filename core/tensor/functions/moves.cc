// The movements of algebra.h.
#include <algorithm>
#include <numeric>

#include "core/dtype/promote.h"
#include "core/tensor/functions/algebra.h"

namespace kiln::tensor::functions {
namespace {

// Null after an error.
Composer* ComposerOf(const Tensor& x) { return x && x.composer()->ok() ? x.composer() : nullptr; }
int64_t FromStart(int64_t axis, int64_t rank) { return axis < 0 ? axis + rank : axis; }

// The whole of each axis, as begin and end.
std::vector<Dim> Whole(Composer& c, const Shape& shape) {
  std::vector<Dim> pairs;
  for (const Size& s : shape) {
    pairs.emplace_back(0);
    pairs.push_back(c.ToDim(s));
  }
  return pairs;
}

}  // namespace

Tensor Reshape(const Tensor& x, const Shape& shape) {
  Composer* c = ComposerOf(x);
  if (c == nullptr) return {};
  if (x.shape() == shape) return x;
  return c->Take(c->builder().Reshape(x.value(), c->ToDims(shape)));
}

Tensor Permute(const Tensor& x, const Axes& axes) {
  Composer* c = ComposerOf(x);
  if (c == nullptr) return {};
  if (std::is_sorted(axes.begin(), axes.end())) return x;
  return c->Take(c->builder().Permute(x.value(), axes));
}

Tensor MoveAxis(const Tensor& x, int64_t from, int64_t to) {
  const int64_t rank = x.rank();
  if (ComposerOf(x) == nullptr || rank == 0) return {};
  Axes axes = AllAxes(x);
  axes.erase(axes.begin() + FromStart(from, rank));
  axes.insert(axes.begin() + FromStart(to, rank), FromStart(from, rank));
  return Permute(x, axes);
}

Tensor SwapAxes(const Tensor& x, int64_t a, int64_t b) {
  const int64_t rank = x.rank();
  if (ComposerOf(x) == nullptr || rank == 0) return {};
  Axes axes = AllAxes(x);
  std::swap(axes[static_cast<size_t>(FromStart(a, rank))],
            axes[static_cast<size_t>(FromStart(b, rank))]);
  return Permute(x, axes);
}

Tensor Unsqueeze(const Tensor& x, int64_t axis) {
  if (ComposerOf(x) == nullptr) return {};
  Shape shape = x.shape();
  shape.insert(shape.begin() + FromStart(axis, x.rank() + 1), Size(1));
  return Reshape(x, shape);
}

Tensor Squeeze(const Tensor& x, const Axes& axes) {
  if (ComposerOf(x) == nullptr) return {};
  Shape shape;
  const Shape own = x.shape();
  for (int64_t a = 0; a < x.rank(); ++a) {
    const bool goes = std::any_of(axes.begin(), axes.end(),
                                  [&](int64_t named) { return FromStart(named, x.rank()) == a; });
    if (!goes) shape.push_back(own[static_cast<size_t>(a)]);
  }
  return Reshape(x, shape);
}

Tensor Flip(const Tensor& x, const Axes& axes) {
  Composer* c = ComposerOf(x);
  if (c == nullptr) return {};
  if (axes.empty()) return x;
  return c->Take(c->builder().Flip(x.value(), axes));
}

Tensor Slice(const Tensor& x, int64_t axis, const Size& begin, const Size& end) {
  Composer* c = ComposerOf(x);
  if (c == nullptr) return {};
  if (begin.Is(0) && end == x.dim(axis)) return x;
  std::vector<Dim> pairs = Whole(*c, x.shape());
  const auto at = static_cast<size_t>(2 * FromStart(axis, x.rank()));
  pairs[at] = c->ToDim(begin);
  pairs[at + 1] = c->ToDim(end);
  return c->Take(c->builder().Shrink(x.value(), pairs));
}

Tensor Select(const Tensor& x, int64_t axis, const Size& i) {
  return Squeeze(Slice(x, axis, i, i + 1), {axis});
}

Tensor Pad(const Tensor& x, int64_t axis, const Size& before, const Size& after, double value) {
  Composer* c = ComposerOf(x);
  if (c == nullptr) return {};
  if (before.Is(0) && after.Is(0)) return x;
  std::vector<Dim> pairs(static_cast<size_t>(2 * x.rank()), Dim(0));
  const auto at = static_cast<size_t>(2 * FromStart(axis, x.rank()));
  pairs[at] = c->ToDim(before);
  pairs[at + 1] = c->ToDim(after);
  const auto padded = [&](const Tensor& t) {
    return t ? c->Take(c->builder().Pad(t.value(), pairs)) : Tensor();
  };
  if (value == 0) return padded(x);
  const Tensor inside = padded(Full(*c, DType::kBool, x.shape(), 1));
  return Where(inside, padded(x), value);
}

// Each padded to the whole. Selected instead of added, so that a -0 stays one.
Tensor Concat(const Tensors& xs, int64_t axis) {
  Composer* c = xs.empty() ? nullptr : ComposerOf(xs[0]);
  if (c == nullptr) return {};
  std::vector<DType> dtypes;
  Size total = 0;
  for (const Tensor& x : xs) {
    dtypes.push_back(x.dtype());
    total = total + x.dim(axis);
  }
  const DType dtype = dtype::LeastUpperDType(dtypes);
  const int64_t at = FromStart(axis, xs[0].rank());
  const Tensor position = Positions(*c, IndexDType(total), total, xs[0].rank(), at);
  Tensor result;
  Size begin = 0;
  for (const Tensor& x : xs) {
    const Size end = begin + x.dim(at);
    const Tensor placed = Pad(Cast(x, dtype), at, begin, total - end);
    if (!result) {
      result = placed;
    } else {
      result = Where(position < Literal(*c, position.dtype(), begin), result, placed);
    }
    begin = end;
  }
  return result;
}

Tensor Stack(const Tensors& xs, int64_t axis) {
  Tensors rows;
  for (const Tensor& x : xs) rows.push_back(Unsqueeze(x, axis));
  return Concat(rows, axis);
}

Tensor ExpandAxis(const Tensor& x, int64_t axis, const Size& n) {
  if (ComposerOf(x) == nullptr) return {};
  Shape shape = x.shape();
  shape[static_cast<size_t>(FromStart(axis, x.rank()))] = n;
  return BroadcastTo(x, shape);
}

Tensor Flatten(const Tensor& x, int64_t first, int64_t count) {
  if (ComposerOf(x) == nullptr) return {};
  Shape shape = x.shape();
  const auto begin = shape.begin() + first;
  const Size n = Count({begin, begin + count});
  shape.erase(begin, begin + count);
  shape.insert(shape.begin() + first, n);
  return Reshape(x, shape);
}

}  // namespace kiln::tensor::functions
