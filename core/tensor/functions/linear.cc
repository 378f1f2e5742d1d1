// Products: linear.h, and the functions about them.
#include "core/tensor/functions/linear.h"

#include <algorithm>

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

Tensor Diagonal(const Tensor& x, int64_t offset) {
  if (!x || !x.composer()->ok()) return {};
  Composer& c = *x.composer();
  const int64_t rows = c.Known(x.dim(-2), "the first size of a diagonal"),
                columns = c.Known(x.dim(-1), "the second size of a diagonal");
  const int64_t row = std::clamp(-offset, int64_t{0}, rows),
                column = std::clamp(offset, int64_t{0}, columns);
  const int64_t n = std::min(rows - row, columns - column);
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

// ** einsum **

// The labels of an operand, each once: of a repeated one, the diagonal is taken.
Tensor WithoutRepeats(Tensor x, std::string& labels) {
  for (size_t i = 0; i < labels.size(); ++i) {
    const size_t again = labels.find(labels[i], i + 1);
    if (again == std::string::npos) continue;
    x = Diagonal(
        MoveAxis(MoveAxis(x, static_cast<int64_t>(again), -1), static_cast<int64_t>(i), -2), 0);
    labels.erase(again, 1);
    labels.push_back(labels[i]);
    labels.erase(i--, 1);
  }
  return x;
}

Tensors Einsum(Arguments& a) {
  std::string text = a.Text("equation");
  std::erase(text, ' ');
  const auto wrong = [&a](const auto&... why) -> Tensors { return {a.Fail("equation", why...)}; };
  const size_t arrow = text.find("->");
  std::string result = arrow == std::string::npos ? "" : text.substr(arrow + 2);
  std::vector<std::string> operands(1);
  for (char label : text.substr(0, arrow)) {
    if (label == ',') {
      operands.emplace_back();
    } else if ((label >= 'a' && label <= 'z') || (label >= 'A' && label <= 'Z')) {
      operands.back().push_back(label);
    } else {
      return wrong("'", std::string(1, label), "' is no label, which is a letter");
    }
  }
  Tensors xs = a.List("xs");
  if (xs.size() != operands.size()) {
    return wrong("it has ", operands.size(), " operands, there are ", xs.size(), " inputs");
  }
  std::map<char, Size> sizes;
  std::map<char, int> uses;
  for (size_t i = 0; i < xs.size(); ++i) {
    if (static_cast<int64_t>(operands[i].size()) != xs[i].rank()) {
      return wrong("operand ", i, " has ", operands[i].size(), " labels, its shape is ",
                   ToText(xs[i].shape()));
    }
    for (size_t k = 0; k < operands[i].size(); ++k) {
      const Size n = xs[i].dim(static_cast<int64_t>(k));
      const auto it = sizes.emplace(operands[i][k], n).first;
      if (!(it->second == n)) {
        return wrong("label ", std::string(1, operands[i][k]), " has different sizes");
      }
      ++uses[operands[i][k]];
    }
  }
  if (arrow == std::string::npos) {  // Labels that occur once, in order of the alphabet.
    for (const auto& [label, count] : uses) {
      if (count == 1) result.push_back(label);
    }
  }
  std::string all = result;
  for (char label : result) {
    if (!sizes.contains(label)) return wrong("label ", std::string(1, label), " is in no operand");
    if (std::count(result.begin(), result.end(), label) > 1) {
      return wrong("label ", std::string(1, label), " is twice in the result");
    }
  }
  Axes summed;
  for (const auto& [label, size] : sizes) {
    if (result.find(label) != std::string::npos) continue;
    summed.push_back(static_cast<int64_t>(all.size()));
    all.push_back(label);
  }
  Tensor product;
  for (size_t i = 0; i < xs.size(); ++i) {
    std::string& labels = operands[i];
    const Tensor x = WithoutRepeats(Widened(xs[i]), labels);
    Axes order;
    Shape shape;
    for (char label : all) {
      const size_t at = labels.find(label);
      if (at != std::string::npos) order.push_back(static_cast<int64_t>(at));
      shape.push_back(at == std::string::npos ? Size(1) : sizes[label]);
    }
    if (!a.ok()) return {};
    const Tensor aligned = Reshape(Permute(x, order), shape);
    product = product ? product * aligned : aligned;
  }
  return {Cast(Sum(product, summed), xs[0].dtype())};
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
      {.name = "einsum", .doc = "The sum of products after an equation like \"ij,jk->ik\": a letter per axis, operands separated by commas. What is not in the result is summed over; a label twice in an operand takes its diagonal. Without \"->\", the result has the labels that occur once, in the order of the alphabet.",
       .inputs = {Input("xs", kNumber, "the operands").Variadic()},
       .attributes = {Text("equation", "the equation")}, .outputs = {"y"}, .compose = Einsum},
      {.name = "diagonal", .doc = "y[..., i] = x[..., i, i + offset], where the two axes are axis1 and axis2.",
       .inputs = {Input("x", kAny, "matrices").Ranks(2)},
       .attributes = {Int("offset", "how far to the right").Default(int64_t{0}),
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
         return {Diagonal(Permute(x, order), a.Int("offset"))};
       }},
  };
}
// clang-format on

}  // namespace kiln::tensor::functions
