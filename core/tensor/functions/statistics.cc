// Statistics: counts, order statistics, covariance.
#include <algorithm>

#include "core/tensor/functions/arguments.h"
#include "core/tensor/functions/indexing.h"
#include "core/tensor/functions/linear.h"
#include "core/tensor/functions/tables.h"

namespace kiln::tensor::functions {
namespace {

using enum DTypeRule;

Keep KeepIn(const Arguments& a) { return a.Flag("keepdim") ? Keep::kYes : Keep::kNo; }
Tensor IsNan(const Tensor& x) { return NotEqual(x, x); }

Tensors CountNonzero(Arguments& a) {
  const Tensor x = a["x"];
  const Tensor ones = Where(x, 1.0, 0.0, DType::kInt64);
  return {Sum(ones, a.AxesIn("axes", x.rank()), KeepIn(a))};
}
Tensors NanSum(Arguments& a) {
  const Tensor x = a["x"];
  return {Sum(Where(IsNan(x), 0, x), a.AxesIn("axes", x.rank()), KeepIn(a))};
}
Tensors NanMean(Arguments& a) {
  const Tensor given = a["x"], x = Widened(given);
  const Axes axes = a.AxesIn("axes", x.rank());
  const Tensor sum = Sum(Where(IsNan(x), 0, x), axes, KeepIn(a));
  const Tensor count = Sum(Where(IsNan(x), 0.0, 1.0, x.dtype()), axes, KeepIn(a));
  return {Cast(sum / count, given.dtype())};
}
Tensors MinMax(Arguments& a) {
  const Tensor x = a["x"];
  const Axes axes = a.AxesIn("axes", x.rank());
  return {Min(x, axes, KeepIn(a)), Max(x, axes, KeepIn(a))};
}

// ** order statistics **

// The reduced axes in one, which is the last.
struct Line {
  Tensor lines;
  Shape shape;  // Of a result.
};
Line LineOf(const Tensor& x, const Axes& axes, Keep keep) {
  Axes order;
  Line line;
  for (int64_t i = 0; i < x.rank(); ++i) {
    const bool goes = std::find(axes.begin(), axes.end(), i) != axes.end();
    if (!goes) order.push_back(i);
    if (!goes || keep == Keep::kYes) line.shape.push_back(goes ? Size(1) : x.dim(i));
  }
  const auto kept = static_cast<int64_t>(order.size());
  order.insert(order.end(), axes.begin(), axes.end());
  const Tensor moved = Permute(x, order);
  line.lines =
      axes.empty() ? Unsqueeze(moved, -1) : Flatten(moved, kept, static_cast<int64_t>(axes.size()));
  return line;
}

// At position q (n - 1) of the sorted line.
Tensors QuantileAt(const Arguments& a, double q, const std::string& method) {
  const Tensor given = a["x"], x = Widened(given);
  const Line line = LineOf(x, a.AxesIn("axes", x.rank()), KeepIn(a));
  if (!a.ok()) return {};
  const Size n = line.lines.dim(-1);
  if (n.Is(0)) return {a.Fail("x", "there is no element to find")};
  Composer& c = a.composer();
  const Tensor sorted = SortedBy(line.lines, line.lines.rank() - 1, false, n).values;
  const Tensor at = (Literal(c, DType::kFloat64, n) - 1) * q;
  const Tensor low = Floor(at), rest = at - low;
  Tensor whole = low;
  if (method == "higher") whole = Where(rest > 0, low + 1, low);
  if (method == "nearest") {
    const Tensor half = low * 0.5, is_even = Equal(half, Floor(half));
    whole = Where((rest > 0.5) | (Equal(rest, 0.5) & ~is_even), low + 1, low);
  }
  const auto element = [&](const Tensor& position) {
    const Tensor last = Literal(c, DType::kInt64, n - 1);
    const Tensor i = Minimum(Cast(position, DType::kInt64), last);
    return Take(sorted, i, sorted.rank() - 1);
  };
  Tensor y = element(whole);
  if (method == "linear" || method == "midpoint") {
    Tensor weight = Cast(rest, x.dtype());
    if (method == "midpoint") weight = Where(weight > 0, 0.5, 0.0, x.dtype());
    const Tensor next = element(low + 1);
    y = Where(weight > 0, y + (next - y) * weight, y);
  }
  // NaN is last in the order, but a line that has one has no other quantile.
  const Tensor worst = element(Literal(c, DType::kFloat64, n - 1));
  y = Where(IsNan(worst), worst, y);
  return {Reshape(Cast(y, given.dtype()), line.shape)};
}
Tensors Quantile(Arguments& a) { return QuantileAt(a, a.Float("q"), a.Text("method")); }
Tensors Median(Arguments& a) { return QuantileAt(a, 0.5, a.Flag("lower") ? "lower" : "midpoint"); }

// ** covariance **

// x: [variables, observations], or one variable.
Tensor Covariance(const Arguments& a, double correction) {
  Tensor x = Widened(a["x"]);
  if (x.rank() == 1) x = Unsqueeze(x, 0);
  const Tensor d = x - Mean(x, {1}, Keep::kYes);
  const Tensor degrees = Literal(a.composer(), x.dtype(), x.dim(1)) - correction;
  return WideMatMul(d, SwapAxes(d, 0, 1)) / Maximum(degrees, 0);
}
Tensor OfRank(const Arguments& a, const Tensor& matrix) {
  const Tensor y = a["x"].rank() == 1 ? Reshape(matrix, {}) : matrix;
  return Cast(y, a["x"].dtype());
}
Tensors Cov(Arguments& a) { return {OfRank(a, Covariance(a, a.Float("correction")))}; }
Tensors CorrCoef(Arguments& a) {
  const Tensor cov = Covariance(a, 1);
  const Tensor std = Sqrt(Diagonal(cov, 0));
  return {OfRank(a, cov / Unsqueeze(std, 1) / Unsqueeze(std, 0))};
}

Tensors Diff(Arguments& a) {
  Tensor x = a["x"];
  const int64_t axis = a.Axis("axis", x.rank());
  for (int64_t i = 0; i < a.Int("order") && a.ok(); ++i) {
    const Size n = x.dim(axis);
    if (n.Is(0)) break;
    x = Slice(x, axis, 1, n) - Slice(x, axis, 0, n - 1);
  }
  return {x};
}
Tensors Trapezoid(Arguments& a) {
  const Tensor y = Widened(a["y"]);
  const int64_t axis = a.Axis("axis", y.rank());
  const Size n = y.dim(axis);
  if (n.Is(0)) return {Cast(Sum(y, {axis}), a["y"].dtype())};
  const Tensor pairs = Slice(y, axis, 1, n) + Slice(y, axis, 0, n - 1);
  Tensor steps;
  if (const Tensor x = Widened(a.Shaped("x", {n}))) {
    Shape aligned(static_cast<size_t>(y.rank() - axis), Size(1));
    aligned[0] = n - 1;
    steps = Reshape(Slice(x, 0, 1, n) - Slice(x, 0, 0, n - 1), aligned);
  } else {
    steps = Literal(y, a.Float("dx"));
  }
  return {Cast(Sum(pairs * steps * 0.5, {axis}), a["y"].dtype())};
}

FunctionSchema Statistic(std::string_view name, DTypeRule rule, std::string_view doc,
                         Tensors (*f)(Arguments&), std::vector<AttributeSchema> more = {}) {
  FunctionSchema row;
  row.name = name;
  row.doc = doc;
  row.inputs = {Input("x", rule, "what is reduced")};
  row.attributes = std::move(more);
  row.attributes.push_back(AxesOf("x"));
  row.attributes.push_back(KeepDim());
  row.outputs = {"y"};
  row.compose = f;
  return row;
}

}  // namespace

// clang-format off
std::vector<FunctionSchema> StatisticsFunctions() {
  FunctionSchema both = Statistic("aminmax", kNumber, "The smallest and the largest; NaN if there is one.", MinMax);
  both.outputs = {"min", "max"};
  return {
      Statistic("count_nonzero", kTruth, "How many elements are not 0, int64.", CountNonzero),
      Statistic("nansum", kFloat, "The sum of what is not NaN.", NanSum),
      Statistic("nanmean", kFloat, "The mean of what is not NaN.", NanMean),
      std::move(both),
      Statistic("quantile", kFloat, "The element at position q (n - 1) of the sorted elements; between two of them, what the method says. NaN if there is one.", Quantile,
                {Float("q", "which part is below").Between(0, 1), Choice("method", {"linear", "lower", "higher", "midpoint", "nearest"}, "between two elements")}),
      Statistic("median", kFloat, "The middle of the sorted elements; of two, their mean, as in numpy. NaN if there is one.", Median,
                {Flag("lower", false, "of two the lower one, as in PyTorch")}),
      {.name = "cov", .doc = "The covariance of variables in rows: sum((x - mean(x)) (y - mean(y))) / (n - correction). x [variables, n] -> [variables, variables]; of a vector its variance.",
       .inputs = {Input("x", kFloat, "observations").Ranks(1, 2)}, .attributes = {Float("correction", "what is subtracted from the number of observations to divide by").Default(1.0)},
       .outputs = {"y"}, .compose = Cov},
      {.name = "corrcoef", .doc = "The correlation of variables in rows: their covariance divided by both standard deviations. Shapes as for cov.",
       .inputs = {Input("x", kFloat, "observations").Ranks(1, 2)}, .attributes = {}, .outputs = {"y"}, .compose = CorrCoef},
      {.name = "diff", .doc = "y[i] = x[i + 1] - x[i] along the axis, as often as order says.", .inputs = {Input("x", kNumber, "numbers").Ranks(1)},
       .attributes = {AxisOf("x"), Int("order", "how often").Default(int64_t{1}).Between(0, 64)}, .outputs = {"y"}, .compose = Diff},
      {.name = "trapezoid", .doc = "The sum of (y[i] + y[i + 1]) / 2 (x[i + 1] - x[i]) along the axis.",
       .inputs = {Input("y", kFloat, "values").Ranks(1), Input("x", kFloat, "[n], where they are; dx apart if left out").Rank(1).Optional()},
       .attributes = {AxisOf("y"), Float("dx", "the distance").Default(1.0)}, .outputs = {"z"}, .compose = Trapezoid},
  };
}
// clang-format on

}  // namespace kiln::tensor::functions
