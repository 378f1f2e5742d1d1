// Reductions over axes, and running ones along an axis.
#include <cmath>
#include <limits>

#include "core/tensor/functions/algebra.h"
#include "core/tensor/functions/arguments.h"
#include "core/tensor/functions/scan.h"
#include "core/tensor/functions/tables.h"

namespace kiln::tensor::functions {
namespace {

using enum DTypeRule;

Keep KeepIn(const Arguments& a) { return a.Flag("keepdim") ? Keep::kYes : Keep::kNo; }

// What sums and products of integers are counted in.
DType CountingDType(const Arguments& a, DType d) {
  if (const auto given = a.DTypeIn("dtype")) return *given;
  if (dtype::IsFloat(d)) return d;
  return dtype::IsSigned(d) ? DType::kInt64 : DType::kUInt64;
}

// A sum or product in the dtype that is asked for.
template <Op op>
Tensors Accumulated(Arguments& a) {
  const Tensor x = a["x"];
  return {Reduce(op, Cast(x, CountingDType(a, x.dtype())), a.AxesIn("axes", x.rank()), KeepIn(a))};
}

// One of the functions of algebra.h.
template <Tensor (*f)(const Tensor&, const Axes&, Keep)>
Tensors Over(Arguments& a) {
  const Tensor x = a["x"];
  return {f(x, a.AxesIn("axes", x.rank()), KeepIn(a))};
}

// The mean of squared deviations from the mean.
Tensor Var(const Tensor& x, const Arguments& a, Keep keep) {
  const Axes axes = a.AxesIn("axes", x.rank());
  Size n = 1;
  for (int64_t axis : axes) n = n * x.dim(axis);
  const Tensor sum = Sum(Square(x - Mean(x, axes, Keep::kYes)), axes, keep);
  const Tensor degrees = Literal(a.composer(), x.dtype(), n) - a.Float("correction");
  return sum / Maximum(degrees, 0);
}
Tensors VarFunction(Arguments& a) {
  const Tensor x = a["x"];
  return {Cast(Var(Widened(x), a, KeepIn(a)), x.dtype())};
}
Tensors Std(Arguments& a) {
  const Tensor x = a["x"];
  return {Cast(Root(Var(Widened(x), a, KeepIn(a))), x.dtype())};
}

// The first place of the maximum (or of a NaN): the most that is left from a place to the end.
Tensor ArgMax(const Tensor& x, int64_t axis, Keep keep) {
  if (!x) return {};
  const Size n = x.dim(axis);
  const DType index = IndexDType(n);
  const Tensor left = Flip(Positions(*x.composer(), index, n, x.rank(), axis), {axis}) + 1;
  const Tensor best = Max(x, {axis}, Keep::kYes);
  const Tensor is_best = Equal(x, best) | NotEqual(x, x);
  const Tensor most_left = Max(Where(is_best, left, 0), {axis}, keep);
  return Cast(Literal(*x.composer(), index, n) - most_left, DType::kInt64);
}

template <bool largest>
Tensors ArgFunction(Arguments& a) {
  Tensor x = a["x"];
  const int64_t rank = x.rank();
  const bool flat = !a.Has("axis");
  if (flat) x = Reshape(x, {Count(x.shape())});
  const int64_t axis = flat ? 0 : a.Axis("axis", rank);
  if (x.dim(axis).Is(0)) return {a.Fail("x", "there is no element to find")};
  Tensor y = ArgMax(largest ? x : ReversedOrder(x), axis, KeepIn(a));
  if (flat) y = Reshape(y, Shape(a.Flag("keepdim") ? static_cast<size_t>(rank) : 0, Size(1)));
  return {y};
}

Tensors LogSumExpFunction(Arguments& a) {
  const Tensor x = a["x"];
  return {Cast(LogSumExp(Widened(x), a.AxesIn("axes", x.rank()), KeepIn(a)), x.dtype())};
}

Tensors Norm(Arguments& a) {
  const Tensor given = a["x"], x = Widened(given);
  const Axes axes = a.AxesIn("axes", x.rank());
  const Keep keep = KeepIn(a);
  const double p = a.Float("p");
  const auto norm = [&] {
    if (p == 2) return Root(Sum(Square(x), axes, keep));
    if (p == 1) return Sum(Abs(x), axes, keep);
    if (p == 0) return Sum(Where(Equal(x, 0), 0.0, 1.0, x.dtype()), axes, keep);
    if (std::isinf(p)) return p > 0 ? Max(Abs(x), axes, keep) : Min(Abs(x), axes, keep);
    // Where x, or all of it, is 0, so is the gradient.
    const auto power = [](const Tensor& t, double to) {
      const Tensor is_zero = Equal(t, 0);
      return Where(is_zero, to < 0 ? HUGE_VAL : 0,
                   Alu(Op::kPow, Where(is_zero, 1, t), Literal(t, to)));
    };
    return power(Sum(power(Abs(x), p), axes, keep), 1 / p);
  };
  return {Cast(norm(), given.dtype())};
}

// Running reductions.
template <Op op>
Tensors Running(Arguments& a) {
  const Tensor x = a["x"];
  const int64_t axis = a.Axis("axis", x.rank());
  const bool reverse = a.Flag("reverse");
  const Tensor counted = Cast(x, CountingDType(a, x.dtype()));
  const Tensor ordered = reverse ? Flip(counted, {axis}) : counted;
  const Tensor y = Cast(Scan(op, Widened(ordered), axis), counted.dtype());
  return {reverse ? Flip(y, {axis}) : y};
}
// Where the running maximum was met last, as in PyTorch.
template <bool largest>
Tensors RunningExtreme(Arguments& a) {
  const Tensor x = a["x"];
  const int64_t axis = a.Axis("axis", x.rank());
  const bool reverse = a.Flag("reverse");
  const Tensor given = largest ? x : ReversedOrder(x);
  const Tensor ordered = reverse ? Flip(given, {axis}) : given;
  const Tensor y = Scan(Op::kMax, ordered, axis);
  if (!y) return {};
  const Size n = x.dim(axis);
  const Tensor place = Positions(a.composer(), IndexDType(n), n, x.rank(), axis);
  const Tensor is_met = Equal(ordered, y) | NotEqual(ordered, ordered);
  Tensor index = Cast(Scan(Op::kMax, Where(is_met, place, -1), axis), DType::kInt64);
  if (reverse) index = Literal(a.composer(), DType::kInt64, n - 1) - index;
  const auto back = [&](const Tensor& t) { return reverse ? Flip(t, {axis}) : t; };
  return {back(largest ? y : ReversedOrder(y)), back(index)};
}

// In steps of 1, 2, 4, ...: after each, an element has twice as many before it in it.
Tensors LogCumSumExp(Arguments& a) {
  const Tensor given = a["x"], x = Widened(given);
  const int64_t axis = a.Axis("axis", x.rank());
  const bool reverse = a.Flag("reverse");
  Composer& c = a.composer();
  const Size n = x.dim(axis);
  const int64_t most = c.Bound(n);
  Tensor y = reverse ? Flip(x, {axis}) : x;
  int step = 0;
  for (int64_t d = 1; d < most && c.ok(); d *= 2) {
    const Size by = n.is_known() ? Size(d) : Min(n, d);
    const Tensor before =
        Pad(Slice(y, axis, 0, n - by), axis, by, 0, -std::numeric_limits<double>::infinity());
    const Tensor top = Maximum(y, before);
    // Of two infinities of the same sign, the difference is none.
    const Tensor are_equal = Equal(y, before);
    const Tensor distance = Where(are_equal, 0, Abs(y - before));
    y = top + Log1p(Exp(-distance));
    y = Where(are_equal & Equal(top, -std::numeric_limits<double>::infinity()), top, y);
    if (++step % 2 == 0) y = c.Take(c.builder().Contiguous(y.value()));
  }
  return {Cast(reverse ? Flip(y, {axis}) : y, given.dtype())};
}

// ** declarations **

FunctionSchema Reduction(std::string_view name, DTypeRule rule, std::string_view doc,
                         std::vector<Tensor> (*f)(Arguments&),
                         std::vector<AttributeSchema> more = {}) {
  FunctionSchema row;
  row.name = name;
  row.doc = doc;
  row.inputs = {Input("x", rule, "what is reduced")};
  row.attributes = {AxesOf("x"), KeepDim()};
  row.attributes.insert(row.attributes.end(), more.begin(), more.end());
  row.outputs = {"y"};
  row.compose = f;
  return row;
}

AttributeSchema Accumulator() {
  return DTypeIn("dtype",
                 "in which it is computed; left out: int64 or uint64 for integers, else that of x")
      .Optional();
}
AttributeSchema Correction() {
  return Float("correction", "what is subtracted from the number of elements to divide by")
      .Default(1.0);
}

FunctionSchema ArgRow(std::string_view name, std::string_view doc,
                      std::vector<Tensor> (*f)(Arguments&)) {
  FunctionSchema row = Reduction(name, kNumber, doc, f);
  row.attributes = {Int("axis", "an axis of x; left out: of x as a row of all elements").Optional(),
                    KeepDim()};
  return row;
}

FunctionSchema RunningRow(std::string_view name, std::string_view doc,
                          std::vector<Tensor> (*f)(Arguments&), std::vector<AttributeSchema> more) {
  FunctionSchema row = Reduction(name, kNumber, doc, f);
  row.inputs[0] = std::move(row.inputs[0]).Ranks(1);
  row.attributes = {AxisOf("x")};
  row.attributes.insert(row.attributes.end(), more.begin(), more.end());
  return row;
}

FunctionSchema WithIndex(FunctionSchema row) {
  row.outputs = {"y", "index"};
  return row;
}

}  // namespace

// clang-format off
std::vector<FunctionSchema> ReductionFunctions() {
  const AttributeSchema reverse = Flag("reverse", false, "whether it runs from the end");
  return {
      Reduction("sum", kNumber, "The sum; 0 of nothing.", Accumulated<Op::kAdd>, {Accumulator()}),
      Reduction("prod", kNumber, "The product; 1 of nothing.", Accumulated<Op::kMul>, {Accumulator()}),
      Reduction("mean", kFloat, "The sum divided by the number of elements.", Over<Mean>),
      Reduction("max", kAny, "The largest; NaN if there is one; the lowest value of the dtype of nothing.", Over<Max>),
      Reduction("min", kAny, "The smallest; NaN if there is one; the highest value of the dtype of nothing.", Over<Min>),
      Reduction("any", kTruth, "Whether one is true.", Over<Max>),
      Reduction("all", kTruth, "Whether all are true.", Over<Min>),
      Reduction("var", kFloat, "The sum of the squares of x - mean(x), divided by n - correction, at least 0.", VarFunction, {Correction()}),
      Reduction("std", kFloat, "The square root of var.", Std, {Correction()}),
      Reduction("logsumexp", kFloat, "log(sum(e^x)), without overflow.", LogSumExpFunction),
      Reduction("norm", kFloat, "sum(|x|^p)^(1/p): the largest |x| for p infinite, the smallest for minus infinity, the count of what is not 0 for 0.", Norm,
                {Float("p", "the order").Default(2.0)}),
      ArgRow("argmax", "The index of the largest, of several the first; of a NaN if there is one. int64.", ArgFunction<true>),
      ArgRow("argmin", "The index of the smallest, of several the first; of a NaN if there is one. int64.", ArgFunction<false>),
      RunningRow("cumsum", "y[i] = x[0] + ... + x[i] along the axis.", Running<Op::kAdd>, {reverse, Accumulator()}),
      RunningRow("cumprod", "y[i] = x[0] ... x[i] along the axis.", Running<Op::kMul>, {reverse, Accumulator()}),
      WithIndex(RunningRow("cummax", "y[i] = max(x[0], ..., x[i]) along the axis, and where it was met last (int64). NaN stays.", RunningExtreme<true>, {reverse})),
      WithIndex(RunningRow("cummin", "y[i] = min(x[0], ..., x[i]) along the axis, and where it was met last (int64). NaN stays.", RunningExtreme<false>, {reverse})),
      [&] {
        FunctionSchema row = RunningRow("logcumsumexp", "y[i] = log(e^x[0] + ... + e^x[i]) along the axis, without overflow.", LogCumSumExp, {reverse});
        row.inputs[0].rule = kFloat;
        return row;
      }(),
  };
}
// clang-format on

}  // namespace kiln::tensor::functions
