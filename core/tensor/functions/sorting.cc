// SortedBy of indexing.h, and the functions about order.
#include "core/tensor/functions/arguments.h"
#include "core/tensor/functions/indexing.h"
#include "core/tensor/functions/tables.h"

namespace kiln::tensor::functions {
namespace {

// Of line `x` (its last axis): how many elements come before each one. NaN comes last, equal ones
// stay in order.
Tensor Ranks(const Tensor& x, bool descending) {
  const Size n = x.dim(-1);
  Composer& c = *x.composer();
  const DType index = IndexDType(n);
  const Tensor own = Unsqueeze(x, -1), other = Unsqueeze(x, -2);
  const Tensor is_nan = NotEqual(own, own), is_other_nan = NotEqual(other, other);
  const Tensor is_less = descending ? own < other : other < own;
  const Tensor is_before = is_less | (is_nan & ~is_other_nan);
  const Tensor is_tie = Equal(own, other) | (is_nan & is_other_nan);
  const Tensor comes_first = Positions(c, index, n, 2, 1) < Positions(c, index, n, 2, 0);
  return Sum(Where(is_before | (is_tie & comes_first), 1.0, 0.0, index), {x.rank()});
}

}  // namespace

Sorted SortedBy(const Tensor& x, int64_t axis, bool descending, const Size& k) {
  if (!x || !x.composer()->ok()) return {};
  const Tensor lines = MoveAxis(x, axis, -1);
  const Size n = lines.dim(-1);
  const Tensor ranks = Ranks(lines, descending);
  if (!ranks) return {};
  // Place p gets the element of rank p.
  const Tensor place = Unsqueeze(Positions(*x.composer(), ranks.dtype(), k, 1, 0), -1);
  const Tensor is_here = Equal(Unsqueeze(ranks, -2), place);
  const Tensor from = Positions(*x.composer(), ranks.dtype(), n, 1, 0);
  const Tensor index = Sum(Where(is_here, from, 0), {lines.rank()});
  const Tensor values = Reduce(Op::kAdd, Where(is_here, Unsqueeze(lines, -2), 0), {lines.rank()});
  return {MoveAxis(values, -1, axis), MoveAxis(Cast(index, DType::kInt64), -1, axis)};
}

namespace {

using enum DTypeRule;

Tensors Sort(Arguments& a) {
  const Tensor x = a["x"];
  const int64_t axis = a.Axis("axis", x.rank());
  const Sorted sorted = SortedBy(x, axis, a.Flag("descending"), x.dim(axis));
  return {sorted.values, sorted.index};
}
Tensors Argsort(Arguments& a) { return {Sort(a).back()}; }
Tensors TopK(Arguments& a) {
  const Tensor x = a["x"];
  const int64_t axis = a.Axis("axis", x.rank()), k = a.Int("k");
  if (x.dim(axis).is_known() && k > x.dim(axis).value()) {
    return {a.Fail("k", k, " given, axis ", axis, " has size ", x.dim(axis).value())};
  }
  const Sorted sorted = SortedBy(x, axis, a.Flag("largest"), k);
  return {sorted.values, sorted.index};
}

}  // namespace

// clang-format off
std::vector<FunctionSchema> SortingFunctions() {
  const AttributeSchema descending = Flag("descending", false, "whether the largest comes first");
  return {
      {.name = "sort", .doc = "x in order along the axis, and where it was (int64). Stable; NaN comes last. In work of the square of the size.",
       .inputs = {Input("x", kNumber, "what is sorted").Ranks(1)}, .attributes = {AxisOf("x"), descending},
       .outputs = {"y", "index"}, .compose = Sort},
      {.name = "argsort", .doc = "The indices that sort x along the axis (int64).",
       .inputs = {Input("x", kNumber, "what is sorted").Ranks(1)}, .attributes = {AxisOf("x"), descending},
       .outputs = {"index"}, .compose = Argsort},
      {.name = "topk", .doc = "The k largest (or smallest) along the axis, in order, and where they were (int64). NaN counts as neither.",
       .inputs = {Input("x", kNumber, "what is chosen from").Ranks(1)},
       .attributes = {Int("k", "how many").AtLeast(0), AxisOf("x"), Flag("largest", true, "whether the largest are taken")},
       .outputs = {"y", "index"}, .compose = TopK},
  };
}
// clang-format on

}  // namespace kiln::tensor::functions
