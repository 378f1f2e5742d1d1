// SortedBy of indexing.h, and the functions about order.
#include "core/dtype/promote.h"
#include "core/tensor/functions/arguments.h"
#include "core/tensor/functions/indexing.h"
#include "core/tensor/functions/network.h"
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

// By ranks: fewer kernels, in work of the square of the size.
Sorted SortedByRanks(const Tensor& lines, bool descending, const Size& k) {
  const Size n = lines.dim(-1);
  const Tensor ranks = Ranks(lines, descending);
  if (!ranks) return {};
  // Place p gets the element of rank p.
  const Tensor place = Unsqueeze(Positions(*lines.composer(), ranks.dtype(), k, 1, 0), -1);
  const Tensor is_here = Equal(Unsqueeze(ranks, -2), place);
  const Tensor from = Positions(*lines.composer(), ranks.dtype(), n, 1, 0);
  const Tensor index = Sum(Where(is_here, from, 0), {lines.rank()});
  const Tensor values = Reduce(Op::kAdd, Where(is_here, Unsqueeze(lines, -2), 0), {lines.rank()});
  return {values, index};
}

// By a network of words, twice for 64 bits: by the lower halves first.
Sorted SortedByNetwork(const Tensor& lines, bool descending, const Size& k) {
  const int64_t axis = lines.rank() - 1;
  Tensor index;
  if (dtype::SizeBits(lines.dtype()) == 64) {
    const Size n = lines.dim(-1);
    const Tensor lower = OrderedKeys(lines, descending, 0),
                 upper = OrderedKeys(lines, descending, 1);
    const Tensor first = PositionIn(Smallest(WordsOf(lower), n));
    const Tensor then = PositionIn(Smallest(WordsOf(GatherAlong(upper, first, axis)), k));
    index = GatherAlong(first, then, axis);
  } else {
    index = PositionIn(Smallest(OrderedWords(lines, descending), k));
  }
  return {GatherAlong(lines, index, axis), index};
}

// Up to here, ranks are quicker.
constexpr int64_t kFewElements = 32;

}  // namespace

Sorted SortedBy(const Tensor& x, int64_t axis, bool descending, const Size& k) {
  if (!x || !x.composer()->ok()) return {};
  const Tensor lines = MoveAxis(x, axis, -1);
  const bool is_short = x.composer()->Bound(lines.dim(-1)) <= kFewElements;
  const Sorted sorted =
      is_short ? SortedByRanks(lines, descending, k) : SortedByNetwork(lines, descending, k);
  return {MoveAxis(sorted.values, -1, axis), MoveAxis(Cast(sorted.index, DType::kInt64), -1, axis)};
}

// A branchless binary search: `count` grows by ever smaller powers of two.
Tensor CountBefore(const Tensor& sorted, const Tensor& values, bool or_equal) {
  if (!sorted || !values || !sorted.composer()->ok()) return {};
  Composer& c = *sorted.composer();
  const int64_t axis = sorted.rank() - 1;
  const Size n = sorted.dim(-1);
  const DType common = dtype::LeastUpperDType(sorted.dtype(), values.dtype());
  Shape shape = values.shape();  // With axes in front, as many as the lines have.
  shape.insert(shape.begin(),
               static_cast<size_t>(std::max<int64_t>(0, sorted.rank() - values.rank())), Size(1));
  const Tensor line = Cast(sorted, common), v = Reshape(Cast(values, common), shape);
  const DType index = IndexDType(n);
  const Tensor size = Literal(c, index, n);
  const auto is_before = [&](const Tensor& x) {
    const Tensor less = or_equal ? ~(v < x) : x < v;
    if (!x.is_float()) return less;
    const Tensor is_nan = NotEqual(x, x), is_value_nan = NotEqual(v, v);
    return or_equal ? is_value_nan | (less & ~is_nan) : less | (is_value_nan & ~is_nan);
  };
  Tensor count = Where(Equal(v, v), 0.0, 0.0, index);
  int64_t step = 1;
  while (step <= c.Bound(n) / 2) step *= 2;
  if (n.Is(0)) step = 0;
  for (; step > 0 && c.ok(); step /= 2) {
    const Tensor next = count + static_cast<double>(step);
    const Tensor x = GatherAlong(line, next - 1, axis);
    count = Where(~(size < next) & is_before(x), next, count);
  }
  return count;
}

namespace {

using enum DTypeRule;

Tensors SearchSorted(Arguments& a) {
  const Tensor sorted = a["sorted"];
  Tensor values = a["values"];
  const Shape shape = values.shape();
  const bool is_line = sorted.rank() == 1;
  if (is_line) values = Reshape(values, {Count(shape)});
  if (values.rank() != sorted.rank()) {
    return {a.Fail("values", "it has ", values.rank(), " axes, sorted has ", sorted.rank())};
  }
  Tensor y = CountBefore(sorted, values, a.Flag("right"));
  if (is_line && y) y = Reshape(y, shape);
  return {Cast(y, DType::kInt64)};
}

Tensors Sort(Arguments& a) {
  const Tensor x = a["x"];
  const int64_t axis = a.Axis("axis", x.rank());
  const Sorted sorted = SortedBy(x, axis, a.Flag("descending"), x.dim(axis));
  return {sorted.values, sorted.index};
}
Tensors Argsort(Arguments& a) { return {Sort(a).back()}; }
Tensors TopK(Arguments& a) {
  const Tensor x = a["x"];
  const int64_t axis = a.Axis("axis", x.rank());
  const Size k = a.OneSize("k"), n = x.dim(axis);
  if (n.is_known() && k.is_known() && k.value() > n.value()) {
    return {a.Fail("k", k.value(), " given, axis ", axis, " has size ", n.value())};
  }
  const Sorted sorted = SortedBy(x, axis, a.Flag("largest"), k);
  return {sorted.values, sorted.index};
}

}  // namespace

// clang-format off
std::vector<FunctionSchema> SortingFunctions() {
  const AttributeSchema descending = Flag("descending", false, "whether the largest comes first");
  return {
      {.name = "sort", .doc = "x in order along the axis, and where it was (int64). Stable: what is equal stays in order; NaN comes last, also if it is descending. By a bitonic network, in work of n log(n)^2; 64-bit numbers take twice that. Source: Batcher, AFIPS 1968.",
       .inputs = {Input("x", kNumber, "what is sorted").Ranks(1)}, .attributes = {AxisOf("x"), descending},
       .outputs = {"y", "index"}, .compose = Sort},
      {.name = "argsort", .doc = "The indices that sort x along the axis (int64).",
       .inputs = {Input("x", kNumber, "what is sorted").Ranks(1)}, .attributes = {AxisOf("x"), descending},
       .outputs = {"index"}, .compose = Argsort},
      {.name = "topk", .doc = "The k largest (or smallest) along the axis, in order, and where they were (int64); of equal ones, the first. NaN counts as neither. In work of n log(k)^2.",
       .inputs = {Input("x", kNumber, "what is chosen from").Ranks(1)},
       .attributes = {OneSize("k", "how many").AtLeast(0), AxisOf("x"), Flag("largest", true, "whether the largest are taken")},
       .outputs = {"y", "index"}, .compose = TopK},
      {.name = "searchsorted", .doc = "Where values would be inserted into a sorted line so that it stays sorted: how many elements are less (right: or equal), int64. sorted [n], or [..., n] with values [..., m]. Also called bucketize, of boundaries.",
       .inputs = {Input("sorted", kNumber, "lines in ascending order").Ranks(1), Input("values", kNumber, "what is looked for")},
       .attributes = {Flag("right", false, "whether it goes after what is equal")}, .outputs = {"index"}, .compose = SearchSorted},
  };
}
// clang-format on

}  // namespace kiln::tensor::functions
