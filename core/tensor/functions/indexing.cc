#include "core/tensor/functions/indexing.h"

#include <algorithm>
#include <map>

#include "core/tensor/functions/arguments.h"
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
Tensor Selected(const Tensor& x, const Tensor& index, int64_t axis) {
  if (!x || !index) return {};
  const Tensor i = FromEnd(index, x.dim(axis));
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

namespace {

using enum DTypeRule;

// `x` without what lies beyond the sizes of `index` on other axes than `axis`.
Tensor CutTo(Tensor x, const Tensor& index, int64_t axis) {
  for (int64_t i = 0; i < x.rank(); ++i) {
    if (i != axis) x = Slice(x, i, 0, index.dim(i));
  }
  return x;
}

// Whether `index` has as many axes as x, none larger than that of x but along `axis`.
bool FitsInside(const Arguments& a, std::string_view name, const Tensor& index, const Tensor& x,
                int64_t axis) {
  bool fits = index.rank() == x.rank();
  for (int64_t i = 0; fits && i < x.rank(); ++i) {
    const Size have = index.dim(i), most = x.dim(i);
    fits = i == axis || have == most ||
           (have.is_known() && most.is_known() && have.value() <= most.value());
  }
  if (!fits) {
    a.Fail(name, "its shape ", ToText(index.shape()), " does not fit into that of x, ",
           ToText(x.shape()), ", beside axis ", axis);
  }
  return fits;
}

Tensors Gather(Arguments& a) {
  const Tensor x = a["x"], index = a["index"];
  const int64_t axis = a.Axis("axis", x.rank());
  if (!a.ok() || !FitsInside(a, "index", index, x, axis)) return {};
  return {GatherAlong(CutTo(x, index, axis), index, axis)};
}

Tensors TakeAlongAxis(Arguments& a) {
  const Tensor x = a["x"], index = a["index"];
  if (index.rank() != x.rank()) {
    return {a.Fail("index", "it has ", index.rank(), " axes, x has ", x.rank())};
  }
  return {GatherAlong(x, index, a.Axis("axis", x.rank()))};
}

Tensors IndexSelect(Arguments& a) {
  return {Take(a["x"], a["index"], a.Axis("axis", a["x"].rank()))};
}
Tensors Embedding(Arguments& a) { return {Take(a["weight"], a["index"], 0)}; }

Tensors OneHot(Arguments& a) {
  const Size classes = a.Int("classes");
  const Tensor index = Unsqueeze(a["index"], -1);
  const Tensor position = Positions(a.composer(), index.dtype(), classes, 1, 0);
  return {Cast(Equal(index, position), a.DTypeIn("dtype").value_or(DType::kInt64))};
}

// x[i0, i1, ...]: the axes that have an index become one, of which a position is taken.
Tensors IndexBy(Arguments& a) {
  const Tensor x = a["x"];
  Tensors indices = a.List("indices");
  const auto n = static_cast<int64_t>(indices.size());
  const int64_t first = a.Axis("axis", x.rank());
  if (first + n > x.rank()) {
    return {a.Fail("indices", n, " given, from axis ", first, " on x has ", x.rank() - first)};
  }
  for (int64_t k = 0; k < n; ++k) {
    Tensor& i = indices[static_cast<size_t>(k)];
    i = FromEnd(Cast(i, DType::kInt64), x.dim(first + k));
  }
  indices = Broadcast(std::move(indices));
  if (!a.ok()) return {};
  if (n == 1) return {Take(x, indices[0], first)};
  Tensor position, inside;
  for (int64_t k = 0; k < n; ++k) {
    const Tensor& i = indices[static_cast<size_t>(k)];
    const Tensor size = Literal(a.composer(), DType::kInt64, x.dim(first + k));
    const Tensor is_in = ~(i < 0) & (i < size);
    inside = inside ? inside & is_in : is_in;
    position = position ? position * size + i : i;
  }
  const Tensor outside = Literal(a.composer(), DType::kInt64, Count(x.shape()));
  return {Take(Flatten(x, first, n), Where(inside, position, outside), first)};
}

// y[index[i]] op= source[i] along an axis: each element of y looks through all sources.
Tensors Scatter(Arguments& a) {
  const Tensor x = a["x"], index = a["index"], given = a["source"];
  const int64_t axis = a.Axis("axis", x.rank());
  if (!a.ok() || !FitsInside(a, "index", index, x, axis)) return {};
  const Tensor source = BroadcastTo(given, index.shape());
  const Size n = index.dim(axis);
  const std::string reduce = a.Text("reduce");
  // Axes: those of x, with the axis of the sources after that of x. Beyond the sizes of the index on
  // other axes nothing is written.
  const Tensor i = Unsqueeze(FromEnd(index, x.dim(axis)), axis);
  const Tensor s = Unsqueeze(source, axis);
  const Tensor is_hit =
      Equal(i, Positions(a.composer(), i.dtype(), x.dim(axis), x.rank() + 1, axis));
  const auto grown = [&](Tensor t) {
    for (int64_t k = 0; k < x.rank(); ++k) {
      if (k != axis) t = Pad(t, k, 0, x.dim(k) - t.dim(k));
    }
    return t;
  };
  const auto reduced = [&](Op op, const Tensor& t, double identity) {
    return Reduce(op, Where(is_hit, t, identity), {axis + 1});
  };
  const Tensor hit = grown(Reduce(Op::kMax, is_hit, {axis + 1}));
  if (reduce == "set") {
    // The last source wins.
    const DType dtype = IndexDType(n);
    const Tensor place = Positions(a.composer(), dtype, n, x.rank() + 1, axis + 1);
    const Tensor last = Max(Where(is_hit, place, -1), {axis + 1});
    const Tensor chosen = GatherAlong(source, Maximum(last, 0), axis);
    return {Where(hit, grown(chosen), x)};
  }
  if (reduce == "sum") {
    return {Cast(Widened(x) + grown(reduced(Op::kAdd, Widened(s), 0)), x.dtype())};
  }
  if (reduce == "prod") {
    const Tensor p = grown(reduced(Op::kMul, Widened(s), 1));
    return {Where(hit, Cast(Widened(x) * p, x.dtype()), x)};
  }
  if (reduce == "max") {
    return {Where(hit, Maximum(x, grown(reduced(Op::kMax, s, Lowest(x.dtype())))), x)};
  }
  const Tensor least = grown(reduced(Op::kMax, ReversedOrder(s), Lowest(x.dtype())));
  return {Where(hit, ReversedOrder(Maximum(ReversedOrder(x), least)), x)};
}

Tensors MaskedFill(Arguments& a) {
  const Tensor x = a["x"];
  return {Where(a["mask"], Literal(x, a.Float("value")), x)};
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
      {.name = "index", .doc = "x[i0, i1, ...]: index arrays, which broadcast, for axes from `axis` on; in whose place their axes are.",
       .inputs = {Input("x", kAny, "what is read").Ranks(1), Input("indices", kInteger, kIndices).Variadic()},
       .attributes = {Int("axis", "the axis of the first index array").Default(int64_t{0})}, .outputs = {"y"}, .compose = IndexBy},
      {.name = "embedding", .doc = "The rows of weight at the indices: index [...], weight [n, d] -> [..., d].",
       .inputs = {Input("index", kInteger, kIndices), Input("weight", kAny, "[n, d]").Rank(2)},
       .attributes = {}, .outputs = {"y"}, .compose = Embedding},
      {.name = "one_hot", .doc = "1 at the index, else 0, along a new last axis; all 0 if the index is outside.",
       .inputs = {Input("index", kInteger, "which one")},
       .attributes = {Int("classes", "the size of the new axis").AtLeast(0), DTypeIn("dtype", "of the result; int64 if left out").Optional()},
       .outputs = {"y"}, .compose = OneHot},
      {.name = "scatter", .doc = "x, where y[i, index[i, j], ...] is set to source[i, j, ...] or reduced with it, for axis 1. Of several that set, the last wins; indices outside write nothing. index may be smaller than x on other axes; source broadcasts to it.",
       .inputs = {Input("x", kNumber, "what is written to").Ranks(1), Input("index", kInteger, "indices, negative from the end").Ranks(1), Input("source", kNumber, "what is written")},
       .attributes = {AxisOf("x"), Choice("reduce", {"set", "sum", "prod", "max", "min"}, "what becomes of x and the sources")},
       .outputs = {"y"}, .compose = Scatter},
      {.name = "masked_fill", .doc = "The value where the mask is true, else x.",
       .inputs = {Input("x", kAny, "what is filled"), Input("mask", kTruth, "where; broadcasts")},
       .attributes = {Float("value", "with what, rounded to the dtype of x")}, .outputs = {"y"}, .compose = MaskedFill},
  };
}
// clang-format on

}  // namespace kiln::tensor::functions
