#include "core/tensor/functions/indexing.h"

#include <algorithm>

#include "core/tensor/functions/arguments.h"
#include "core/tensor/functions/scan.h"
#include "core/tensor/functions/slicing.h"
#include "core/tensor/functions/tables.h"

namespace kiln::tensor::functions {

Tensor FromEnd(const Tensor& index, const Size& n) {
  if (!index) return {};
  const DType dtype = index.dtype() == DType::kInt64 || index.dtype() == DType::kUInt32 ||
                              index.dtype() == DType::kUInt64
                          ? DType::kInt64
                          : IndexDType(n);
  const Tensor i = Cast(index, dtype);
  return Where(i < 0, i + Literal(*index.composer(), dtype, n), i);
}

namespace {

// x where the index is the position along `axis`, else 0; summed over it. `index` has size 1 there,
// both have equally many axes.
Tensor Selected(const Tensor& x, const Tensor& i, int64_t axis) {
  if (!x || !i) return {};
  const Tensor position = Positions(*x.composer(), i.dtype(), x.dim(axis), x.rank(), axis);
  const Tensor chosen = Where(Equal(i, position), x, 0);
  // Not Sum: one term differs from 0, so that no precision is needed beyond that of x.
  return x.composer()->Take(x.composer()->ok()
                                ? x.composer()->builder().Reduce(Op::kAdd, chosen.value(), {axis})
                                : x.composer()->status());
}

}  // namespace

Tensor GatherAlong(const Tensor& x, const Tensor& index, int64_t axis) {
  // The axis of x after that of the index.
  const Tensor y = Selected(Unsqueeze(x, axis), Unsqueeze(index, axis + 1), axis + 1);
  return Squeeze(y, {axis + 1});
}

Tensor Take(const Tensor& x, const Tensor& index, int64_t axis) {
  Shape x_shape = x.shape(), index_shape(static_cast<size_t>(axis), Size(1));
  if (x_shape.empty()) return {};
  const Shape own = index.shape();
  x_shape.insert(x_shape.begin() + axis, own.size(), Size(1));
  index_shape.insert(index_shape.end(), own.begin(), own.end());
  index_shape.resize(x_shape.size(), Size(1));
  const auto at = axis + static_cast<int64_t>(own.size());
  return Squeeze(Selected(Reshape(x, x_shape), Reshape(index, index_shape), at), {at});
}

Indexed WithIndices(const Tensor& x, const Tensors& given, const Axes& axes) {
  if (!x || given.empty() || !x.composer()->ok()) return {};
  Composer& c = *x.composer();
  Indexed at;
  Tensors indices;
  for (size_t k = 0; k < given.size(); ++k) {
    indices.push_back(FromEnd(Cast(given[k], DType::kInt64), x.dim(axes[k])));
  }
  indices = Broadcast(std::move(indices));
  if (!c.ok()) return {};
  Axes sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  const auto n = static_cast<int64_t>(axes.size());
  const bool are_neighbours = sorted.back() - sorted.front() + 1 == n;
  at.axis = are_neighbours ? sorted.front() : 0;
  for (int64_t i = 0; i < x.rank(); ++i) {
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) at.order.push_back(i);
  }
  at.order.insert(at.order.begin() + at.axis, axes.begin(), axes.end());
  at.x = Flatten(Permute(x, at.order), at.axis, n);
  if (n == 1) {
    at.position = indices[0];
    return at;
  }
  Tensor inside;
  for (size_t k = 0; k < indices.size(); ++k) {
    const Tensor size = Literal(c, DType::kInt64, x.dim(axes[k]));
    const Tensor is_in = ~(indices[k] < 0) & (indices[k] < size);
    inside = inside ? inside & is_in : is_in;
    at.position = at.position ? at.position * size + indices[k] : indices[k];
  }
  at.position = Where(inside, at.position, -1);
  return at;
}

Places Nonzero(const Tensor& mask, const Size& count) {
  if (!mask || !mask.composer()->ok()) return {};
  Composer& c = *mask.composer();
  const Shape shape = mask.shape();
  const Size n = Count(shape);
  const DType dtype = IndexDType(n);
  const Tensor flat = Where(Reshape(mask, {n}), 1.0, 0.0, dtype);
  if (n.Is(0)) {
    return {Full(c, DType::kInt64, {count, mask.rank()}, -1), Full(c, DType::kInt64, {}, 0)};
  }
  const Tensor before = Scan(Op::kAdd, flat, 0);
  const Tensor total = Select(before, 0, n - 1);
  const Tensor k = Arange(c, dtype, count);
  Tensor rest = Cast(CountBefore(before, k, true), DType::kInt64);
  Tensors coordinates;
  for (auto it = shape.rbegin(); it != shape.rend(); ++it) {
    const Tensor size = Maximum(Literal(c, DType::kInt64, *it), 1);
    coordinates.insert(coordinates.begin(), Alu(Op::kMod, rest, size));
    rest = Alu(Op::kIDiv, rest, size);
  }
  const Tensor wide = Cast(total, DType::kInt64);
  if (coordinates.empty()) return {Full(c, DType::kInt64, {count, 0}, 0), wide};
  const Tensor there = Unsqueeze(k < total, 1);
  return {Where(there, Stack(coordinates, 1), -1), wide};
}

namespace {

using enum DTypeRule;

// `x` without what lies beyond the sizes of `index` on other axes than `axis`.
Tensor CutTo(Tensor x, const Tensor& index, int64_t axis) {
  for (int64_t i = 0; i < x.rank(); ++i) {
    if (i != axis) x = Slice(x, i, 0, index.dim(i));
  }
  return x;
}

Tensors Gather(Arguments& a) {
  const Tensor x = a["x"], index = a["index"];
  const int64_t axis = a.Axis("axis", x.rank());
  if (!a.ok() || !FitsInside(a, "index", index, x, axis)) return {};
  return {GatherAlong(CutTo(x, index, axis), FromEnd(index, x.dim(axis)), axis)};
}

Tensors TakeAlongAxis(Arguments& a) {
  const Tensor x = a["x"], index = a["index"];
  if (index.rank() != x.rank()) {
    return {a.Fail("index", "it has ", index.rank(), " axes, x has ", x.rank())};
  }
  const int64_t axis = a.Axis("axis", x.rank());
  return {GatherAlong(x, FromEnd(index, x.dim(axis)), axis)};
}

Tensors IndexSelect(Arguments& a) {
  const Tensor x = a["x"];
  const int64_t axis = a.Axis("axis", x.rank());
  return {Take(x, FromEnd(a["index"], x.dim(axis)), axis)};
}
Tensors Embedding(Arguments& a) {
  const Tensor weight = a["weight"];
  return {Take(weight, FromEnd(a["index"], weight.dim(0)), 0)};
}

Tensors OneHot(Arguments& a) {
  const Size classes = a.OneSize("classes");
  const Tensor index = Unsqueeze(a["index"], -1);
  const Tensor position = Positions(a.composer(), index.dtype(), classes, 1, 0);
  return {Cast(Equal(index, position), a.DTypeIn("dtype").value_or(DType::kInt64))};
}

Tensors IndexBy(Arguments& a) {
  const Tensor x = a["x"];
  const Tensors indices = a.List("indices");
  const Axes axes = IndexAxesIn(a, x, indices);
  if (!a.ok()) return {};
  const Indexed at = WithIndices(x, indices, axes);
  return {at.x ? Take(at.x, at.position, at.axis) : Tensor()};
}

Tensors MaskedFill(Arguments& a) {
  const Tensor x = a["x"];
  return {Where(a["mask"], Literal(x, a.Float("value")), x)};
}

Tensors NonzeroFunction(Arguments& a) {
  const Places places = Nonzero(a["mask"], a.OneSize("size"));
  return {places.index, places.total};
}

Tensors MaskedSelect(Arguments& a) {
  const Tensor given = a["x"];
  const Shape shape = BroadcastShape(a.composer(), {given.shape(), a["mask"].shape()});
  if (!a.ok()) return {};
  const Size n = Count(shape), count = a.OneSize("size");
  const Tensor x = Reshape(BroadcastTo(given, shape), {n});
  const Tensor mask = Reshape(BroadcastTo(a["mask"], shape), {n});
  const Places places = Nonzero(mask, count);
  if (!places.index) return {};
  const Tensor index = Select(places.index, 1, 0);
  const Tensor taken = Take(x, index, 0);
  return {Where(index < 0, Literal(x, a.Float("fill")), taken), places.total};
}

}  // namespace

// clang-format off
std::vector<FunctionSchema> IndexingFunctions() {
  constexpr std::string_view kIndices = "indices, negative from the end; the result is 0 where one is outside";
  return {
      {.name = "gather", .doc = "y[i, j, ...] = x[i, index[i, j, ...], ...], for axis 1: of the shape of index, which may be smaller than x on other axes.",
       .inputs = {Input("x", kAny, "what is read").Ranks(1), Input("index", kInteger, kIndices).Ranks(1)},
       .attributes = {AxisOf("x")}, .outputs = {"y"}, .compose = Gather},
      {.name = "take_along_axis", .doc = "As gather, but x and index broadcast on other axes.",
       .inputs = {Input("x", kAny, "what is read").Ranks(1), Input("index", kInteger, kIndices).Ranks(1)},
       .attributes = {AxisOf("x")}, .outputs = {"y"}, .compose = TakeAlongAxis},
      {.name = "index_select", .doc = "x at the indices along an axis, in whose place the axes of index are.",
       .inputs = {Input("x", kAny, "what is read").Ranks(1), Input("index", kInteger, kIndices)},
       .attributes = {AxisOf("x")}, .outputs = {"y"}, .compose = IndexSelect},
      {.name = "index", .doc = "x[i0, i1, ...]: index arrays, which broadcast, for some axes. Their axes are where those were if they are neighbours, else in front, as in numpy. A mask selects a number of elements that depends on data: see where, masked_select and nonzero.",
       .inputs = {Input("x", kAny, "what is read").Ranks(1), Input("indices", kInteger, kIndices).Variadic()},
       .attributes = {IndexAxes()}, .outputs = {"y"}, .compose = IndexBy},
      {.name = "embedding", .doc = "The rows of weight at the indices: index [...], weight [n, d] -> [..., d].",
       .inputs = {Input("index", kInteger, kIndices), Input("weight", kAny, "[n, d]").Rank(2)},
       .attributes = {}, .outputs = {"y"}, .compose = Embedding},
      {.name = "one_hot", .doc = "1 at the index, else 0, along a new last axis; all 0 if the index is outside.",
       .inputs = {Input("index", kInteger, "which one")},
       .attributes = {OneSize("classes", "the size of the new axis").AtLeast(0), DTypeIn("dtype", "of the result; int64 if left out").Optional()},
       .outputs = {"y"}, .compose = OneHot},
      {.name = "masked_fill", .doc = "The value where the mask is true, else x.",
       .inputs = {Input("x", kAny, "what is filled"), Input("mask", kTruth, "where; broadcasts")},
       .attributes = {Float("value", "with what, rounded to the dtype of x")}, .outputs = {"y"}, .compose = MaskedFill},
      {.name = "nonzero", .doc = "Where the mask is true, row-major: the indices of the first `size` places, [size, rank], int64, -1 beyond; and how many there are, int64. The size is given, since shapes do not depend on data.",
       .inputs = {Input("mask", kTruth, "the mask")},
       .attributes = {OneSize("size", "how many places").AtLeast(0)}, .outputs = {"index", "total"}, .compose = NonzeroFunction},
      {.name = "masked_select", .doc = "The first `size` elements of x where the mask is true, row-major, `fill` beyond; and how many there are, int64. Both broadcast. The size is given, since shapes do not depend on data.",
       .inputs = {Input("x", kAny, "what is read"), Input("mask", kTruth, "where")},
       .attributes = {OneSize("size", "of the result").AtLeast(0), Float("fill", "what is beyond, rounded to the dtype of x").Default(0.0)}, .outputs = {"y", "total"}, .compose = MaskedSelect},
  };
}
// clang-format on

}  // namespace kiln::tensor::functions
