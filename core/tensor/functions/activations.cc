// Activations of neural networks, element by element.
#include <numbers>

#include "core/tensor/functions/algebra.h"
#include "core/tensor/functions/arguments.h"
#include "core/tensor/functions/rows.h"
#include "core/tensor/functions/tables.h"

namespace kiln::tensor::functions {
namespace {

using enum DTypeRule;

Tensor Relu(const Tensor& x) { return Maximum(x, 0); }
Tensor Relu6(const Tensor& x) { return Minimum(Maximum(x, 0), 6); }
Tensor LeakyRelu(const Tensor& x, const Arguments& a) {
  return Where(x < 0, x * a.Float("negative_slope"), x);
}
// The exponential part is cut off above 0, so that its gradient is finite there.
Tensor ExpPart(const Tensor& x, double alpha) { return Expm1(Where(x > 0, 0, x) / alpha); }
Tensor Elu(const Tensor& x, const Arguments& a) {
  return Where(x > 0, x, ExpPart(x, 1) * a.Float("alpha"));
}
Tensor Celu(const Tensor& x, const Arguments& a) {
  const double alpha = a.Float("alpha");
  return Where(x > 0, x, ExpPart(x, alpha) * alpha);
}
Tensor Selu(const Tensor& x) {
  constexpr double kAlpha = 1.6732632423543772848, kScale = 1.0507009873554804934;
  return Where(x > 0, x, ExpPart(x, 1) * kAlpha) * kScale;
}
Tensor Gelu(const Tensor& x, const Arguments& a) {
  if (a.Text("approximate") == "tanh") {
    constexpr double kScale = std::numbers::inv_sqrtpi * std::numbers::sqrt2;  // sqrt(2 / pi)
    // Beyond 30 the tangent is 1, and the cube, or its slope, on its way to overflow.
    const Tensor t = Maximum(Minimum(x, 30), -30);
    return x * 0.5 * (Tanh((t + t * Square(t) * 0.044715) * kScale) + 1);
  }
  return x * 0.5 * Erfc(x * -(std::numbers::sqrt2 / 2));
}
Tensor QuickGelu(const Tensor& x) { return x * Sigmoid(x * 1.702); }
Tensor LogSigmoid(const Tensor& x) { return -Softplus(-x); }
Tensor Silu(const Tensor& x) { return x * Sigmoid(x); }
Tensor Mish(const Tensor& x) { return x * Tanh(Softplus(x)); }
Tensor SoftplusBy(const Tensor& x, const Arguments& a) {
  const double beta = a.Float("beta");
  return Softplus(x * beta) / beta;
}
// Beyond 1 as a difference from the limit, whose slope does not cancel.
Tensor Softsign(const Tensor& x) {
  const Tensor size = Abs(x), part = 1 / (size + 1);
  return Where(size > 1, Where(x < 0, part - 1, 1 - part), x * part);
}
Tensor HardSigmoid(const Tensor& x) { return Relu6(x + 3) / 6; }
Tensor HardSwish(const Tensor& x) { return x * HardSigmoid(x); }
Tensor HardTanh(const Tensor& x, const Arguments& a) {
  return Minimum(Maximum(x, a.Float("min")), a.Float("max"));
}
Tensor TanhShrink(const Tensor& x) { return x - Tanh(x); }
Tensor SoftShrink(const Tensor& x, const Arguments& a) {
  const double lambda = a.Float("lambda");
  return Maximum(x - lambda, 0) + Minimum(x + lambda, 0);
}
Tensor HardShrink(const Tensor& x, const Arguments& a) {
  return Where(Abs(x) > a.Float("lambda"), x, 0);
}

Tensor Threshold(const Tensor& x, const Arguments& a) {
  return Where(x > a.Float("threshold"), x, Where(NotEqual(x, x), x, a.Float("value")));
}

Tensors Prelu(Arguments& a) {
  const Tensor x = a["x"];
  return {Where(x < 0, x * a["weight"], x)};
}
Tensors Glu(Arguments& a) {
  const Tensor x = a["x"];
  const int64_t axis = a.Axis("axis", x.rank());
  const Size n = x.dim(axis);
  if (n.is_known() && n.value() % 2 != 0) {
    return {a.Fail("x", "its axis ", axis, " has size ", n.value(), ", which has no halves")};
  }
  const Size half = n / 2;
  const Tensor gate = Sigmoid(Widened(Slice(x, axis, half, n)));
  return {Slice(x, axis, 0, half) * Cast(gate, x.dtype())};
}

}  // namespace

// clang-format off
std::vector<FunctionSchema> ActivationFunctions() {
  return {
      NumberRow("relu", "max(x, 0).", Relu),
      FloatRow("relu6", "min(max(x, 0), 6).", Relu6),
      FloatRow("leaky_relu", "x, times negative_slope below 0.",
               {Float("negative_slope", "the slope below 0").Default(0.01)}, LeakyRelu),
      {.name = "prelu", .doc = "x, times the weight below 0. Source: He et al., arXiv:1502.01852.",
       .inputs = {Input("x", kFloat, "the operand"), Input("weight", kFloat, "the slope below 0; broadcasts")},
       .attributes = {}, .outputs = {"y"}, .compose = Prelu},
      FloatRow("elu", "x above 0, alpha (e^x - 1) below. Source: Clevert et al., arXiv:1511.07289.",
               {Float("alpha", "minus the limit").Default(1.0)}, Elu),
      FloatRow("celu", "x above 0, alpha (e^(x / alpha) - 1) below. Source: Barron, arXiv:1704.07483.",
               {Float("alpha", "minus the limit").Default(1.0).AtLeast(1e-30)}, Celu),
      FloatRow("selu", "elu with the alpha and the scale that keep mean and variance. Source: Klambauer et al., arXiv:1706.02515.", Selu),
      FloatRow("gelu", "x times the normal distribution function of x; by tanh: x/2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))). Source: Hendrycks & Gimpel, arXiv:1606.08415.",
               {Choice("approximate", {"none", "tanh"}, "how exactly")}, Gelu),
      FloatRow("quick_gelu", "x sigmoid(1.702 x).", QuickGelu),
      FloatRow("sigmoid", "1 / (1 + e^-x).", Sigmoid),
      FloatRow("log_sigmoid", "log(sigmoid(x)), without overflow.", LogSigmoid),
      FloatRow("silu", "x sigmoid(x); also called swish.", Silu),
      FloatRow("mish", "x tanh(log(1 + e^x)). Source: Misra, arXiv:1908.08681.", Mish),
      FloatRow("softplus", "log(1 + e^(beta x)) / beta, without overflow.",
               {Float("beta", "the sharpness").Default(1.0).AtLeast(1e-30)}, SoftplusBy),
      FloatRow("softsign", "x / (1 + |x|).", Softsign),
      FloatRow("hard_sigmoid", "min(max(x + 3, 0), 6) / 6.", HardSigmoid),
      FloatRow("hard_swish", "x hard_sigmoid(x). Source: Howard et al., arXiv:1905.02244.", HardSwish),
      FloatRow("hard_tanh", "x, but at least min and at most max.",
               {Float("min", "the lower limit").Default(-1.0), Float("max", "the upper limit").Default(1.0)}, HardTanh),
      FloatRow("tanh_shrink", "x - tanh(x).", TanhShrink),
      FloatRow("soft_shrink", "x, nearer to 0 by lambda, or 0.",
               {Float("lambda", "the distance").Default(0.5).AtLeast(0)}, SoftShrink),
      FloatRow("hard_shrink", "x where |x| > lambda, else 0.",
               {Float("lambda", "the limit").Default(0.5).AtLeast(0)}, HardShrink),
      FloatRow("threshold", "x where x > threshold, else value.", {Float("threshold", "the limit"), Float("value", "what is below")}, Threshold),
      {.name = "glu", .doc = "The first half of x along the axis times the sigmoid of the second. Source: Dauphin et al., arXiv:1612.08083.",
       .inputs = {Input("x", kFloat, "both halves").Ranks(1)},
       .attributes = {AxisOf("x")}, .outputs = {"y"}, .compose = Glu},
  };
}
// clang-format on

}  // namespace kiln::tensor::functions
