// Products: linear.h, and the functions about them.
#include "core/tensor/functions/linear.h"

#include <algorithm>
#include <cmath>

#include "core/tensor/functions/arguments.h"
#include "core/tensor/functions/tables.h"

namespace kiln::tensor::functions {

Tensor WideMatMul(const Tensor& x, const Tensor& y) {
  const Tensor rows = Unsqueeze(Widened(x), -2),
               columns = Unsqueeze(SwapAxes(Widened(y), -1, -2), -3);
  const Tensor products = rows * columns;
  return Sum(products, {products.rank() - 1});
}

Tensor WideLinear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const Tensor products = Unsqueeze(Widened(x), -2) * Widened(weight);
  const Tensor y = Sum(products, {products.rank() - 1});
  return bias ? y + Widened(bias) : y;
}

Tensor Diagonal(const Tensor& x, const Size& offset) {
  if (!x || !x.composer()->ok()) return {};
  const Size rows = x.dim(-2), columns = x.dim(-1);
  const Size row = Min(Max(0 - offset, 0), rows), column = Min(Max(offset, 0), columns);
  const Size n = Min(rows - row, columns - column);
  const Tensor square = Slice(Slice(x, -2, row, row + n), -1, column, column + n);
  // In a row of n * (n + 1) elements, the diagonal is every (n + 1)-th.
  const Tensor flat = Pad(Flatten(square, x.rank() - 2, 2), -1, 0, n);
  Shape shape = flat.shape();
  if (shape.empty()) return {};
  shape.back() = n;
  shape.push_back(n + 1);
  return Select(Reshape(flat, shape), -1, 0);
}

namespace {

using enum DTypeRule;

Tensors MatMul(Arguments& a) {
  Tensor x = a["x"], y = a["y"];
  const bool row = x.rank() == 1, column = y.rank() == 1;
  if (row) x = Unsqueeze(x, 0);
  if (column) y = Unsqueeze(y, 1);
  if (!(x.dim(-1) == y.dim(-2))) {
    return {a.Fail("y", "the shapes ", ToText(a["x"].shape()), " and ", ToText(a["y"].shape()),
                   " can't be multiplied")};
  }
  Tensor z = Cast(WideMatMul(x, y), x.dtype());
  if (column) z = Squeeze(z, {-1});
  if (row) z = Squeeze(z, {column ? -1 : -2});
  return {z};
}

Tensors Linear(Arguments& a) {
  const Tensor x = a["x"], weight = a["weight"], bias = a.Shaped("bias", {weight.dim(0)});
  if (!(x.dim(-1) == weight.dim(1))) {
    return {a.Fail("weight", "its shape ", ToText(weight.shape()), " does not fit x, of shape ",
                   ToText(x.shape()))};
  }
  return {Cast(WideLinear(x, weight, bias), x.dtype())};
}

Tensors Outer(Arguments& a) { return {Unsqueeze(a["x"], 1) * a["y"]}; }

Tensors TensorDot(Arguments& a) {
  const Tensor x = a["x"], y = a["y"];
  const std::vector<int64_t> xs = a.Ints("x_axes"), ys = a.Ints("y_axes");
  if (xs.size() != ys.size()) {
    return {a.Fail("y_axes", ys.size(), " given, x_axes has ", xs.size())};
  }
  // To [kept..., summed...], and one row of the summed.
  const auto matrix = [&a](const Tensor& t, std::string_view name) -> std::pair<Tensor, Shape> {
    const std::vector<int64_t> given = a.Ints(name);
    a.AxesIn(name, t.rank());
    if (!a.ok()) return {};
    Axes order;
    Shape kept;
    for (int64_t i = 0; i < t.rank(); ++i) {
      const bool goes = std::any_of(given.begin(), given.end(),
                                    [&](int64_t g) { return (g < 0 ? g + t.rank() : g) == i; });
      if (goes) continue;
      order.push_back(i);
      kept.push_back(t.dim(i));
    }
    Size summed = 1;
    for (int64_t g : given) {
      order.push_back(g < 0 ? g + t.rank() : g);
      summed = summed * t.dim(g);
    }
    return {Reshape(Permute(t, order), {Count(kept), summed}), kept};
  };
  const auto [left, x_kept] = matrix(x, "x_axes");
  const auto [right, y_kept] = matrix(y, "y_axes");
  for (size_t i = 0; i < xs.size() && a.ok(); ++i) {
    if (x.dim(xs[i]) == y.dim(ys[i])) continue;
    a.Fail("y_axes", "axis ", ys[i], " of y and axis ", xs[i], " of x have different sizes");
  }
  Shape shape = x_kept;
  shape.insert(shape.end(), y_kept.begin(), y_kept.end());
  return {Reshape(Cast(WideMatMul(left, SwapAxes(right, 0, 1)), x.dtype()), shape)};
}

// ** products of vectors and matrices **

Tensors Dot(Arguments& a) {
  const Tensors xy = Broadcast({Widened(a["x"]), Widened(a["y"])});
  const int64_t axis = a.Axis("axis", xy[0].rank());
  return {Cast(Sum(xy[0] * xy[1], {axis}), a["x"].dtype())};
}
Tensors Cross(Arguments& a) {
  const Tensors xy = Broadcast({a["x"], a["y"]});
  const Tensor x = xy[0], y = xy[1];
  const int64_t axis = a.Axis("axis", x.rank());
  if (!a.ok()) return {};
  if (!x.dim(axis).Is(3)) {
    return {a.Fail("x", "its axis ", axis, " has size ", ToText(x.dim(axis)), ", it must be 3")};
  }
  // Component i is x[i + 1] y[i + 2] - x[i + 2] y[i + 1], around the end.
  const auto turned = [axis](const Tensor& t, int64_t by) {
    return Concat({Slice(t, axis, by, 3), Slice(t, axis, 0, by)}, axis);
  };
  return {turned(x, 1) * turned(y, 2) - turned(x, 2) * turned(y, 1)};
}
Tensors Kron(Arguments& a) {
  Tensor x = a["x"], y = a["y"];
  while (x.rank() < y.rank() && a.ok()) x = Unsqueeze(x, 0);
  while (y.rank() < x.rank() && a.ok()) y = Unsqueeze(y, 0);
  if (!a.ok()) return {};
  Shape shape, of_x, of_y;
  for (int64_t i = 0; i < x.rank(); ++i) {
    of_x.insert(of_x.end(), {x.dim(i), 1});
    of_y.insert(of_y.end(), {1, y.dim(i)});
    shape.push_back(x.dim(i) * y.dim(i));
  }
  return {Reshape(Reshape(x, of_x) * Reshape(y, of_y), shape)};
}
Tensors Trace(Arguments& a) {
  const Tensor d = Diagonal(a["x"], a.OneSize("offset"));
  return {Sum(d, {d.rank() - 1})};
}

// Of vectors along the last axis, by their differences.
Tensor Distance(const Tensor& d, double p) {
  const int64_t axis = d.rank() - 1;
  if (p == 2) return Root(Sum(Square(d), {axis}));
  if (p == 1) return Sum(Abs(d), {axis});
  if (p == 0) return Sum(Where(Equal(d, 0), 0.0, 1.0, d.dtype()), {axis});
  if (std::isinf(p)) return Max(Abs(d), {axis});
  // Where d, or all of it, is 0, so is the gradient.
  const auto power = [](const Tensor& t, double to) {
    const Tensor is_zero = Equal(t, 0);
    return Where(is_zero, 0, Alu(Op::kPow, Where(is_zero, 1, t), Literal(t, to)));
  };
  return power(Sum(power(Abs(d), p), {axis}), 1 / p);
}
Tensors PairwiseDistance(Arguments& a) {
  const Tensor d = Widened(a["x"]) - Widened(a["y"]) + a.Float("eps");
  if (d.rank() == 0) return {a.Fail("x", "it has no axis")};
  return {Cast(Distance(d, a.Float("p")), a["x"].dtype())};
}
Tensors CDist(Arguments& a) {
  const Tensor x = Widened(a["x"]), y = Widened(a["y"]);
  if (!(x.dim(-1) == y.dim(-1))) {
    return {a.Fail("y", "its shape ", ToText(y.shape()), " does not fit x, of shape ",
                   ToText(x.shape()))};
  }
  const Tensor d = Unsqueeze(x, -2) - Unsqueeze(y, -3);
  return {Cast(Distance(d, a.Float("p")), a["x"].dtype())};
}

}  // namespace

// clang-format off
std::vector<FunctionSchema> LinearFunctions() {
  return {
      {.name = "matmul", .doc = "Matrix products: x [..., m, k], y [..., k, n] -> [..., m, n]; leading axes broadcast. A vector is a row on the left, a column on the right, whose axis of size 1 goes away.",
       .inputs = {Input("x", kNumber, "the left factor").Ranks(1), Input("y", kNumber, "the right factor").Ranks(1)},
       .attributes = {}, .outputs = {"z"}, .compose = MatMul},
      {.name = "linear", .doc = "x weight^T + bias: x [..., k], weight [n, k], bias [n] -> [..., n].",
       .inputs = {Input("x", kNumber, "rows").Ranks(1), Input("weight", kNumber, "[n, k]").Rank(2),
                  Input("bias", kNumber, "[n]").Rank(1).Optional()},
       .attributes = {}, .outputs = {"y"}, .compose = Linear},
      {.name = "outer", .doc = "z[i, k] = x[i] y[k].",
       .inputs = {Input("x", kNumber, "a vector").Rank(1), Input("y", kNumber, "a vector").Rank(1)},
       .attributes = {}, .outputs = {"z"}, .compose = Outer},
      {.name = "tensordot", .doc = "The sum of products over pairs of axes: the other axes of x, then those of y remain.",
       .inputs = {Input("x", kNumber, "the left factor"), Input("y", kNumber, "the right factor")},
       .attributes = {Ints("x_axes", "axes of x"), Ints("y_axes", "the axes of y that go with them")},
       .outputs = {"z"}, .compose = TensorDot},
      {.name = "diagonal", .doc = "y[..., i] = x[..., i, i + offset], where the two axes are axis1 and axis2.",
       .inputs = {Input("x", kAny, "matrices").Ranks(2)},
       .attributes = {OneSize("offset", "how far to the right").Default(int64_t{0}).Between(-1e9, 1e9),
                      Int("axis1", "the axis of rows").Default(int64_t{0}),
                      Int("axis2", "the axis of columns").Default(int64_t{1})},
       .outputs = {"y"}, .compose = [](Arguments& a) -> Tensors {
         const Tensor x = a["x"];
         const int64_t row = a.Axis("axis1", x.rank()), column = a.Axis("axis2", x.rank());
         if (row == column) return {a.Fail("axis2", "it is axis1")};
         Axes order;
         for (int64_t i = 0; i < x.rank(); ++i) {
           if (i != row && i != column) order.push_back(i);
         }
         order.insert(order.end(), {row, column});
         return {Diagonal(Permute(x, order), a.OneSize("offset"))};
       }},
      {.name = "dot", .doc = "The sum of x y along the axis; both broadcast. Also called inner and vecdot.",
       .inputs = {Input("x", kNumber, "vectors").Ranks(1), Input("y", kNumber, "vectors").Ranks(1)},
       .attributes = {AxisOf("the broadcast x")}, .outputs = {"z"}, .compose = Dot},
      {.name = "cross", .doc = "The cross product along an axis of size 3: z[i] = x[i + 1] y[i + 2] - x[i + 2] y[i + 1], around the end. Both broadcast.",
       .inputs = {Input("x", kNumber, "vectors").Ranks(1), Input("y", kNumber, "vectors").Ranks(1)},
       .attributes = {AxisOf("the broadcast x")}, .outputs = {"z"}, .compose = Cross},
      {.name = "kron", .doc = "The Kronecker product: z[i m + k, ...] = x[i, ...] y[k, ...], where axis 0 of y has size m, and so on for each axis; missing ones of size 1 come first.",
       .inputs = {Input("x", kNumber, "the left factor"), Input("y", kNumber, "the right factor")}, .attributes = {}, .outputs = {"z"}, .compose = Kron},
      {.name = "trace", .doc = "The sum of the diagonal x[..., i, i + offset].", .inputs = {Input("x", kNumber, "[..., rows, columns]").Ranks(2)},
       .attributes = {OneSize("offset", "how far to the right").Default(int64_t{0}).Between(-1e9, 1e9)}, .outputs = {"y"}, .compose = Trace},
      {.name = "pairwise_distance", .doc = "The length of x - y + eps, sum(|d|^p)^(1/p), along the last axis; both broadcast. x [..., k], y [..., k] -> [...].",
       .inputs = {Input("x", kFloat, "vectors"), Input("y", kFloat, "vectors")},
       .attributes = {Float("p", "the order").Default(2.0).AtLeast(0), Float("eps", "what keeps gradients finite").Default(1e-6).AtLeast(0)}, .outputs = {"distance"}, .compose = PairwiseDistance},
      {.name = "cdist", .doc = "The distance sum(|x - y|^p)^(1/p) of each row of x and each of y: [..., m, k], [..., n, k] -> [..., m, n].",
       .inputs = {Input("x", kFloat, "rows").Ranks(2), Input("y", kFloat, "rows").Ranks(2)},
       .attributes = {Float("p", "the order").Default(2.0).AtLeast(0)}, .outputs = {"distance"}, .compose = CDist},
  };
}
// clang-format on

}  // namespace kiln::tensor::functions
