// Tensors out of attributes.
#include <algorithm>
#include <cmath>

#include "core/tensor/functions/algebra.h"
#include "core/tensor/functions/arguments.h"
#include "core/tensor/functions/indexing.h"
#include "core/tensor/functions/rows.h"
#include "core/tensor/functions/tables.h"

namespace kiln::tensor::functions {
namespace {

using enum DTypeRule;

Tensors FullFunction(Arguments& a) {
  return {Full(a.composer(), DTypeOr(a, DType::kFloat32), a.Sizes("shape"), a.Float("value"))};
}
Tensors FullLike(Arguments& a) {
  const Tensor x = a["x"];
  return {Full(a.composer(), DTypeOr(a, x.dtype()), x.shape(), a.Float("value"))};
}

// start + i step, rounded once to the dtype.
Tensor Progression(Arguments& a, int64_t n, double start, double step, DType dtype) {
  if (dtype::IsFloat(dtype)) {
    const Tensor i = Cast(Arange(a.composer(), DType::kInt64, n), DType::kFloat64);
    return Cast(i * step + start, dtype);
  }
  const DType wide = DType::kInt64;
  return Cast(Arange(a.composer(), wide, n) * step + start, dtype);
}

Tensors ArangeFunction(Arguments& a) {
  const double start = a.Float("start"), stop = a.Float("stop"), step = a.Float("step");
  const bool whole = std::trunc(start) == start && std::trunc(step) == step;
  const DType dtype = DTypeOr(a, whole ? DType::kInt64 : DType::kFloat32);
  if (step == 0) return {a.Fail("step", "0 given")};
  if (!whole && !dtype::IsFloat(dtype)) {
    return {a.Fail("dtype", "start or step is not whole, it must be a float")};
  }
  const double count = std::max(0.0, std::ceil((stop - start) / step));
  if (!(count < 0x1p42)) return {a.Fail("stop", "there would be ", count, " elements")};
  return {Progression(a, static_cast<int64_t>(count), start, step, dtype)};
}

// In float64, rounded once to the dtype by the caller.
Tensor Spaced(Arguments& a) {
  const double start = a.Float("start"), stop = a.Float("stop");
  const int64_t n = a.Int("count");
  if (!dtype::IsFloat(DTypeOr(a, DType::kFloat32))) return a.Fail("dtype", "it must be a float");
  const double step = n > 1 ? (stop - start) / static_cast<double>(n - 1) : 0;
  return Progression(a, n, start, step, DType::kFloat64);
}
Tensors Linspace(Arguments& a) { return {Cast(Spaced(a), DTypeOr(a, DType::kFloat32))}; }
Tensors Logspace(Arguments& a) {
  const Tensor power = Spaced(a) * std::log2(a.Float("base"));
  return {Cast(Alu(Op::kExp2, power), DTypeOr(a, DType::kFloat32))};
}

Tensors Eye(Arguments& a) {
  const Size rows = a.OneSize("rows"), columns = a.Has("columns") ? a.OneSize("columns") : rows;
  const Tensor row = Positions(a.composer(), DType::kInt64, rows, 2, 0);
  const Tensor column = Positions(a.composer(), DType::kInt64, columns, 2, 1);
  const Tensor offset = Literal(a.composer(), DType::kInt64, a.OneSize("offset"));
  return {Cast(Equal(column, row + offset), DTypeOr(a, DType::kFloat32))};
}

// Where the elements of a triangle are: row and column of each, row by row.
template <bool upper>
Tensors TriangleIndices(Arguments& a) {
  const int64_t rows = a.Int("rows"), columns = a.Has("columns") ? a.Int("columns") : rows,
                offset = a.Int("offset");
  int64_t count = 0;
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t left = std::clamp(r + offset + (upper ? 0 : 1), int64_t{0}, columns);
    count += upper ? columns - left : left;
  }
  const Tensor row = Positions(a.composer(), DType::kInt64, rows, 2, 0);
  const Tensor column = Positions(a.composer(), DType::kInt64, columns, 2, 1);
  const Tensor border = row + static_cast<double>(offset);
  const Tensor inside = upper ? ~(column < border) : ~(border < column);
  return {Nonzero(BroadcastTo(inside, {rows, columns}), count).index};
}

Tensors Iota(Arguments& a) {
  const Shape shape = a.Sizes("shape");
  const auto rank = static_cast<int64_t>(shape.size());
  const int64_t axis = a.Axis("axis", rank);
  const DType dtype = DTypeOr(a, DType::kInt64);
  if (!a.ok()) return {};
  const Tensor i =
      Positions(a.composer(), dtype::IsFixedWidthInteger(dtype) ? dtype : DType::kInt64,
                shape[static_cast<size_t>(axis)], rank, axis);
  return {BroadcastTo(Cast(i, dtype), shape)};
}

// ** declarations **

std::vector<AttributeSchema> TriangleAttributes() {
  return {
      Int("rows", "how many").Between(0, 1 << 20),
      Int("columns", "how many; rows if left out").Between(0, 1 << 20).Optional(),
      Int("offset", "how far the diagonal is to the right").Default(int64_t{0}).Between(-1e9, 1e9)};
}

}  // namespace

// clang-format off
std::vector<FunctionSchema> CreationFunctions() {
  return {
      {.name = "full", .doc = "A value in each element.", .inputs = {},
       .attributes = {ShapeAttribute(), Float("value", "rounded to the dtype"), Result("float32")}, .outputs = {"y"}, .compose = FullFunction},
      {.name = "full_like", .doc = "A value in each element, in the shape of x.", .inputs = {Input("x", kAny, "gives shape and dtype")},
       .attributes = {Float("value", "rounded to the dtype"), Result("that of x")}, .outputs = {"y"}, .compose = FullLike},
      {.name = "arange", .doc = "start, start + step, ... below stop (above, if step is negative).", .inputs = {},
       .attributes = {Float("stop", "where it ends"), Float("start", "where it begins").Default(0.0), Float("step", "between elements").Default(1.0),
                      Result("int64 for whole numbers, else float32")}, .outputs = {"y"}, .compose = ArangeFunction},
      {.name = "linspace", .doc = "count numbers from start to stop, both included, equally far apart.", .inputs = {},
       .attributes = {Float("start", "the first"), Float("stop", "the last"), Int("count", "how many").AtLeast(0), Result("float32")}, .outputs = {"y"}, .compose = Linspace},
      {.name = "eye", .doc = "1 on a diagonal, else 0.", .inputs = {},
       .attributes = {OneSize("rows", "how many").AtLeast(0), OneSize("columns", "how many; rows if left out").AtLeast(0).Optional(),
                      OneSize("offset", "how far the diagonal is to the right").Default(int64_t{0}).Between(-1e9, 1e9), Result("float32")}, .outputs = {"y"}, .compose = Eye},
      {.name = "tril_indices", .doc = "Row and column of each element on and left of a diagonal, row by row: [count, 2], int64.", .inputs = {},
       .attributes = TriangleAttributes(), .outputs = {"index"}, .compose = TriangleIndices<false>},
      {.name = "triu_indices", .doc = "Row and column of each element on and right of a diagonal, row by row: [count, 2], int64.", .inputs = {},
       .attributes = TriangleAttributes(), .outputs = {"index"}, .compose = TriangleIndices<true>},
      {.name = "logspace", .doc = "base to the powers of count numbers from start to stop, both included, equally far apart.", .inputs = {},
       .attributes = {Float("start", "the first power"), Float("stop", "the last power"), Int("count", "how many").AtLeast(0),
                      Float("base", "the base").Default(10.0).AtLeast(1e-300), Result("float32")}, .outputs = {"y"}, .compose = Logspace},
      {.name = "iota", .doc = "The index along an axis.", .inputs = {},
       .attributes = {ShapeAttribute(), Int("axis", "which").Default(int64_t{-1}), Result("int64")}, .outputs = {"y"}, .compose = Iota},
  };
}
// clang-format on

}  // namespace kiln::tensor::functions
