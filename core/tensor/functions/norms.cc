// Softmax and normalisation.
#include "core/tensor/functions/arguments.h"
#include "core/tensor/functions/linear.h"
#include "core/tensor/functions/tables.h"
#include "core/tensor/functions/windows.h"

namespace kiln::tensor::functions {

Tensor Softmax(const Tensor& x, int64_t axis) {
  const Tensor e = Exp(x - Detach(Max(x, {axis}, Keep::kYes)));
  return e / Sum(e, {axis}, Keep::kYes);
}

Tensor LogSoftmax(const Tensor& x, int64_t axis) {
  const Tensor d = x - Detach(Max(x, {axis}, Keep::kYes));
  return d - Log(Sum(Exp(d), {axis}, Keep::kYes));
}

Tensor Standardized(const Tensor& x, const Axes& axes, double eps) {
  const Tensor d = x - Mean(x, axes, Keep::kYes);
  return d / Sqrt(Mean(Square(d), axes, Keep::kYes) + eps);
}

namespace {

using enum DTypeRule;

template <Tensor (*f)(const Tensor&, int64_t)>
Tensors AlongAxis(Arguments& a) {
  const Tensor x = a["x"];
  return {Cast(f(Widened(x), a.Axis("axis", x.rank())), x.dtype())};
}

// y * weight + bias, as far as there are any, after `fit` gave them the axes of y.
template <typename Fit>
Tensor Affine(Tensor y, const Tensor& weight, const Tensor& bias, DType dtype, const Fit& fit) {
  if (weight) y = y * Widened(fit(weight));
  if (bias) y = y + Widened(fit(bias));
  return Cast(y, dtype);
}

// The last axes, and their sizes.
struct LastAxes {
  Axes axes;
  Shape shape;
};
LastAxes LastAxesIn(const Arguments& a, const Tensor& x) {
  LastAxes last;
  const int64_t n = a.Int("last_axes");
  if (n > x.rank()) {
    a.Fail("last_axes", n, " given, x has ", x.rank());
    return last;
  }
  for (int64_t i = x.rank() - n; i < x.rank(); ++i) {
    last.axes.push_back(i);
    last.shape.push_back(x.dim(i));
  }
  return last;
}

Tensors LayerNorm(Arguments& a) {
  const Tensor x = a["x"];
  const LastAxes last = LastAxesIn(a, x);
  const Tensor y = Standardized(Widened(x), last.axes, a.Float("eps"));
  return {Affine(y, a.Shaped("weight", last.shape), a.Shaped("bias", last.shape), x.dtype(),
                 [](const Tensor& t) { return t; })};
}

Tensors RmsNorm(Arguments& a) {
  const Tensor given = a["x"], x = Widened(given);
  const LastAxes last = LastAxesIn(a, x);
  const Tensor y = x / Sqrt(Mean(Square(x), last.axes, Keep::kYes) + a.Float("eps"));
  return {Affine(y, a.Shaped("weight", last.shape), {}, given.dtype(),
                 [](const Tensor& t) { return t; })};
}

// [c] as [c, 1, ...], so that it goes with axis 1 of x.
Tensor PerChannel(const Tensor& t, const Tensor& x) {
  Shape shape(static_cast<size_t>(std::max<int64_t>(x.rank() - 1, 1)), Size(1));
  shape[0] = t.dim(0);
  return Reshape(t, shape);
}

Tensors GroupNormBy(Arguments& a, const Size& groups) {
  const Tensor x = a["x"];
  const Size channels = x.dim(1);
  const Tensor weight = a.Shaped("weight", {channels}), bias = a.Shaped("bias", {channels});
  Size rest = channels / groups;
  for (int64_t i = 2; i < x.rank(); ++i) rest = rest * x.dim(i);
  const Tensor grouped = Reshape(Widened(x), {x.dim(0), groups, rest});
  const Tensor y = Reshape(Standardized(grouped, {2}, a.Float("eps")), x.shape());
  return {Affine(y, weight, bias, x.dtype(), [&](const Tensor& t) { return PerChannel(t, x); })};
}
Tensors GroupNorm(Arguments& a) {
  const int64_t groups = a.Int("groups");
  const Size channels = a["x"].dim(1);
  if (channels.is_known() && channels.value() % groups != 0) {
    return {a.Fail("groups", groups, " given, which does not divide the ", channels.value(),
                   " channels of x")};
  }
  return GroupNormBy(a, groups);
}
Tensors InstanceNorm(Arguments& a) { return GroupNormBy(a, a["x"].dim(1)); }

Tensors BatchNorm(Arguments& a) {
  const Tensor given = a["x"], x = Widened(given);
  const Shape channels = {x.dim(1)};
  const Tensor running_mean = a.Shaped("running_mean", channels);
  const Tensor running_var = a.Shaped("running_var", channels);
  const Tensor weight = a.Shaped("weight", channels), bias = a.Shaped("bias", channels);
  const auto fit = [&x](const Tensor& t) { return PerChannel(t, x); };
  Tensor mean = Widened(running_mean), var = Widened(running_var), d = x - fit(mean);
  Tensor new_mean = mean, new_var = var;
  if (a.Flag("training")) {
    Axes axes = AllAxes(x);
    axes.erase(axes.begin() + 1);
    Size n = 1;
    for (int64_t axis : axes) n = n * x.dim(axis);
    const Tensor batch_mean = Mean(x, axes, Keep::kYes);
    d = x - batch_mean;
    const Tensor batch_var = Mean(Square(d), axes, Keep::kYes);
    const Tensor count = Literal(a.composer(), x.dtype(), n);
    const Tensor unbiased = Reshape(batch_var, channels) * (count / Maximum(count - 1, 1));
    const double momentum = a.Float("momentum");
    new_mean = mean * (1 - momentum) + Reshape(batch_mean, channels) * momentum;
    new_var = var * (1 - momentum) + unbiased * momentum;
    var = Reshape(batch_var, channels);
  }
  const Tensor y = d / fit(Sqrt(var + a.Float("eps")));
  return {Affine(y, weight, bias, given.dtype(), fit), Cast(new_mean, running_mean.dtype()),
          Cast(new_var, running_var.dtype())};
}

Tensors Normalize(Arguments& a) {
  const Tensor given = a["x"], x = Widened(given);
  const int64_t axis = a.Axis("axis", x.rank());
  const Tensor norm = Root(Sum(Square(x), {axis}, Keep::kYes));
  return {Cast(x / Maximum(norm, a.Float("eps")), given.dtype())};
}

Tensors LocalResponseNorm(Arguments& a) {
  const Tensor given = a["x"], x = Widened(given);
  const int64_t size = a.Int("size");
  const Tensor squares = Pad(MoveAxis(Square(x), 1, -1), -1, size / 2, (size - 1) / 2);
  const Tensor seen = Windows(squares, {{size, 1, 1}});
  if (!seen) return {};
  const Tensor sum = MoveAxis(Sum(seen, {seen.rank() - 1}), -1, 1);
  const Tensor base = sum * (a.Float("alpha") / static_cast<double>(size)) + a.Float("k");
  return {Cast(x / Alu(Op::kPow, base, Literal(base, a.Float("beta"))), given.dtype())};
}

AttributeSchema Eps(double otherwise) {
  return Float("eps", "what keeps the divisor from 0").Default(otherwise).AtLeast(0);
}
AttributeSchema LastAxesAttribute() {
  return Int("last_axes", "how many axes, from the last on, are normalised together")
      .Default(int64_t{1})
      .AtLeast(0);
}
InputSchema Scale(std::string_view doc) { return Input("weight", kFloat, doc).Alone().Optional(); }
InputSchema Shift(std::string_view doc) { return Input("bias", kFloat, doc).Alone().Optional(); }

}  // namespace

// clang-format off
std::vector<FunctionSchema> NormFunctions() {
  constexpr std::string_view kPerChannel = "[c], one per channel";
  return {
      {.name = "softmax", .doc = "e^x / sum(e^x) along the axis.",
       .inputs = {Input("x", kFloat, "logits").Ranks(1)}, .attributes = {AxisOf("x")},
       .outputs = {"y"}, .compose = AlongAxis<Softmax>},
      {.name = "log_softmax", .doc = "log(softmax(x)) along the axis, without overflow.",
       .inputs = {Input("x", kFloat, "logits").Ranks(1)}, .attributes = {AxisOf("x")},
       .outputs = {"y"}, .compose = AlongAxis<LogSoftmax>},
      {.name = "softmin", .doc = "softmax(-x) along the axis.",
       .inputs = {Input("x", kFloat, "energies").Ranks(1)}, .attributes = {AxisOf("x")},
       .outputs = {"y"}, .compose = [](Arguments& a) -> Tensors {
         const Tensor x = a["x"];
         return {Cast(Softmax(-Widened(x), a.Axis("axis", x.rank())), x.dtype())};
       }},
      {.name = "local_response_norm", .doc = "x / (k + alpha / size times the sum of x^2 over size channels around)^beta: from size / 2 before to (size - 1) / 2 after, x [n, c, ...]. Source: Krizhevsky et al., NIPS 2012.",
       .inputs = {Input("x", kFloat, "[n, c, ...]").Ranks(2)},
       .attributes = {Int("size", "how many channels").Between(1, 1 << 16), Float("alpha", "the weight of the sum").Default(1e-4), Float("beta", "the power").Default(0.75), Float("k", "what is added").Default(1.0)},
       .outputs = {"y"}, .compose = LocalResponseNorm},
      {.name = "normalize", .doc = "x / max(sqrt(sum(x^2)), eps) along the axis.",
       .inputs = {Input("x", kFloat, "vectors").Ranks(1)}, .attributes = {AxisOf("x"), Eps(1e-12)},
       .outputs = {"y"}, .compose = Normalize},
      {.name = "layer_norm", .doc = "(x - mean) / sqrt(var + eps) weight + bias, mean and var over the last axes. Source: Ba et al., arXiv:1607.06450.",
       .inputs = {Input("x", kFloat, "what is normalised").Alone(), Scale("of the shape of the last axes"), Shift("likewise")},
       .attributes = {LastAxesAttribute(), Eps(1e-5)}, .outputs = {"y"}, .compose = LayerNorm},
      {.name = "rms_norm", .doc = "x / sqrt(mean(x^2) + eps) weight, the mean over the last axes. Source: Zhang & Sennrich, arXiv:1910.07467.",
       .inputs = {Input("x", kFloat, "what is normalised").Alone(), Scale("of the shape of the last axes")},
       .attributes = {LastAxesAttribute(), Eps(1e-6)}, .outputs = {"y"}, .compose = RmsNorm},
      {.name = "group_norm", .doc = "As layer_norm, over groups of channels and all axes after them: x [n, c, ...]. Source: Wu & He, arXiv:1803.08494.",
       .inputs = {Input("x", kFloat, "[n, c, ...]").Ranks(2).Alone(), Scale(kPerChannel), Shift(kPerChannel)},
       .attributes = {Int("groups", "how many, a divisor of c").AtLeast(1), Eps(1e-5)}, .outputs = {"y"}, .compose = GroupNorm},
      {.name = "instance_norm", .doc = "As group_norm with as many groups as channels. Source: Ulyanov et al., arXiv:1607.08022.",
       .inputs = {Input("x", kFloat, "[n, c, ...]").Ranks(2).Alone(), Scale(kPerChannel), Shift(kPerChannel)},
       .attributes = {Eps(1e-5)}, .outputs = {"y"}, .compose = InstanceNorm},
      {.name = "batch_norm", .doc = "(x - mean) / sqrt(var + eps) weight + bias per channel of x [n, c, ...]. In training, mean and var are those of x, and the running ones move to them by momentum (var with n - 1 for n); else they are the running ones. Source: Ioffe & Szegedy, arXiv:1502.03167.",
       .inputs = {Input("x", kFloat, "[n, c, ...]").Ranks(2).Alone(), Input("running_mean", kFloat, kPerChannel).Rank(1).Alone(),
                  Input("running_var", kFloat, kPerChannel).Rank(1).Alone(), Scale(kPerChannel), Shift(kPerChannel)},
       .attributes = {Flag("training", false, "whether mean and var are those of x"),
                      Float("momentum", "the weight of the new").Default(0.1).Between(0, 1), Eps(1e-5)},
       .outputs = {"y", "new_mean", "new_var"}, .compose = BatchNorm},
  };
}
// clang-format on

}  // namespace kiln::tensor::functions
