// Steps of optimisers: from a parameter, its gradient and what is kept to the new ones. Rates and
// counts are inputs, so that the graph stays the same from step to step.
#include <cmath>

#include "core/tensor/functions/arguments.h"
#include "core/tensor/functions/linear.h"
#include "core/tensor/functions/tables.h"

namespace kiln::tensor::functions {
namespace {

using enum DTypeRule;

// An input as float32 at least, of the shape of the parameter.
Tensor State(const Arguments& a, std::string_view name) {
  return Widened(a.Shaped(name, a["param"].shape()));
}
Tensor Scalar(const Arguments& a, std::string_view name) { return Widened(a[name]); }
// The results, each in the dtype of its input.
Tensors Results(const Arguments& a, std::vector<std::pair<std::string_view, Tensor>> results) {
  Tensors out;
  for (const auto& [name, value] : results) out.push_back(Cast(value, a[name].dtype()));
  return out;
}

Tensors Sgd(Arguments& a) {
  const Tensor p = State(a, "param"), rate = Scalar(a, "rate");
  const double momentum = a.Float("momentum");
  Tensor g = State(a, "grad");
  if (a.Float("weight_decay") != 0) g = g + p * a.Float("weight_decay");
  const Tensor kept = State(a, "velocity");
  if (!kept) {
    if (momentum == 0) return Results(a, {{"param", p - rate * g}});
    return {a.Fail("velocity", "it is missing: momentum needs it")};
  }
  const Tensor v = kept * momentum + g * (1 - a.Float("dampening"));
  const Tensor d = a.Flag("nesterov") ? g + v * momentum : v;
  return Results(a, {{"param", p - rate * d}, {"velocity", v}});
}

// Means of the gradient and its square that move, and what they are without their bias to 0.
struct Moments {
  Tensor m, v, unbiased_m, unbiased_v;
};
Moments MomentsOf(const Arguments& a, const Tensor& g) {
  const double beta1 = a.Float("beta1"), beta2 = a.Float("beta2");
  const Tensor t = Scalar(a, "step");
  const auto bias = [&t](double beta) { return 1 - Alu(Op::kExp2, t * std::log2(beta)); };
  Moments is;
  is.m = State(a, "m") * beta1 + g * (1 - beta1);
  is.v = State(a, "v") * beta2 + Square(g) * (1 - beta2);
  is.unbiased_m = beta1 == 0 ? is.m : is.m / bias(beta1);
  is.unbiased_v = beta2 == 0 ? is.v : is.v / bias(beta2);
  return is;
}

Tensor AdamDirection(const Arguments& a, const Moments& is) {
  return is.unbiased_m / (Sqrt(is.unbiased_v) + a.Float("eps"));
}
Tensors Adam(Arguments& a) {
  const Tensor p = State(a, "param");
  Tensor g = State(a, "grad");
  if (a.Float("weight_decay") != 0) g = g + p * a.Float("weight_decay");
  const Moments is = MomentsOf(a, g);
  return Results(
      a, {{"param", p - Scalar(a, "rate") * AdamDirection(a, is)}, {"m", is.m}, {"v", is.v}});
}
Tensors AdamW(Arguments& a) {
  const Tensor p = State(a, "param");
  const Moments is = MomentsOf(a, State(a, "grad"));
  const Tensor d = AdamDirection(a, is) + p * a.Float("weight_decay");
  return Results(a, {{"param", p - Scalar(a, "rate") * d}, {"m", is.m}, {"v", is.v}});
}
Tensors Lamb(Arguments& a) {
  const Tensor p = State(a, "param");
  const Moments is = MomentsOf(a, State(a, "grad"));
  const Tensor d = AdamDirection(a, is) + p * a.Float("weight_decay");
  const Tensor size = Root(Sum(Square(p), AllAxes(p))), step = Root(Sum(Square(d), AllAxes(d)));
  const Tensor has_both = (size > 0) & (step > 0);
  const Tensor trust = Where(has_both, size / Where(has_both, step, 1), 1);
  return Results(a, {{"param", p - Scalar(a, "rate") * trust * d}, {"m", is.m}, {"v", is.v}});
}

Tensors RmsProp(Arguments& a) {
  const Tensor p = State(a, "param"), g = State(a, "grad");
  const double decay = a.Float("decay");
  const Tensor v = State(a, "v") * decay + Square(g) * (1 - decay);
  const Tensor d = g / (Sqrt(v) + a.Float("eps"));
  return Results(a, {{"param", p - Scalar(a, "rate") * d}, {"v", v}});
}

Tensors AdaGrad(Arguments& a) {
  const Tensor p = State(a, "param");
  Tensor g = State(a, "grad");
  if (a.Float("weight_decay") != 0) g = g + p * a.Float("weight_decay");
  const Tensor sum = State(a, "sum") + Square(g);
  const Tensor d = g / (Sqrt(sum) + a.Float("eps"));
  return Results(a, {{"param", p - Scalar(a, "rate") * d}, {"sum", sum}});
}
Tensors Lion(Arguments& a) {
  const Tensor p = State(a, "param"), g = State(a, "grad"), m = State(a, "m");
  const double beta1 = a.Float("beta1"), beta2 = a.Float("beta2");
  const Tensor u = m * beta1 + g * (1 - beta1);
  const Tensor sign = Where(u > 0, 1, Where(u < 0, Literal(u, -1), u * 0));
  const Tensor d = sign + p * a.Float("weight_decay");
  return Results(a, {{"param", p - Scalar(a, "rate") * d}, {"m", m * beta2 + g * (1 - beta2)}});
}

Tensors ClipByNorm(Arguments& a) {
  const Tensors grads = a.List("grads");
  Tensor sum;
  for (const Tensor& g : grads) {
    const Tensor squares = Sum(Square(Widened(g)), AllAxes(g));
    sum = sum ? sum + squares : squares;
  }
  const Tensor norm = Root(sum);
  const Tensor limit = Widened(a["max_norm"]);
  const Tensor factor = Minimum(limit / (norm + a.Float("eps")), 1);
  Tensors out;
  for (const Tensor& g : grads) out.push_back(Cast(Widened(g) * factor, g.dtype()));
  return out;
}

// ** declarations **

InputSchema Like(std::string_view name, std::string_view doc) {
  return Input(name, kFloat, doc).Alone();
}
std::vector<InputSchema> StepInputs(std::vector<InputSchema> states) {
  std::vector<InputSchema> inputs = {Like("param", "the parameter"),
                                     Like("grad", "its gradient, of its shape"),
                                     Like("rate", "the learning rate").Rank(0)};
  inputs.insert(inputs.end(), states.begin(), states.end());
  return inputs;
}
FunctionSchema WithMoments(std::string_view name, std::string_view doc, Tensors (*f)(Arguments&),
                           double eps, double weight_decay) {
  FunctionSchema row;
  row.name = name;
  row.doc = doc;
  row.inputs = StepInputs({Like("m", "the mean of gradients, 0 at first"),
                           Like("v", "the mean of their squares, 0 at first"),
                           Like("step", "the number of the step, from 1 on").Rank(0)});
  row.attributes = {
      Float("beta1", "how much of m stays").Default(0.9).Between(0, 1 - 1e-15),
      Float("beta2", "how much of v stays").Default(0.999).Between(0, 1 - 1e-15),
      Float("eps", "what keeps the divisor from 0").Default(eps).AtLeast(0),
      Float("weight_decay", "how much of the parameter is taken off").Default(weight_decay)};
  row.outputs = {"new_param", "new_m", "new_v"};
  row.compose = f;
  return row;
}

}  // namespace

// clang-format off
std::vector<FunctionSchema> StepFunctions() {
  return {
      {.name = "sgd", .doc = "With g = grad + weight_decay param, v = momentum velocity + (1 - dampening) g: param - rate v; by Nesterov, param - rate (g + momentum v). Without velocity, param - rate g, and it is the only output.",
       .inputs = StepInputs({Like("velocity", "what is left of earlier steps, 0 at first").Optional()}),
       .attributes = {Float("momentum", "how much of the velocity stays").Default(0.0).AtLeast(0),
                      Float("dampening", "how much of the gradient is left out").Default(0.0),
                      Float("weight_decay", "how much of the parameter is added to the gradient").Default(0.0),
                      Flag("nesterov", false, "whether it looks ahead")},
       .outputs = {"new_param", "new_velocity..."}, .compose = Sgd},
      WithMoments("adam", "With g = grad + weight_decay param, m and v the moving means of g and g^2, M = m / (1 - beta1^step), V likewise: param - rate M / (sqrt(V) + eps). Source: Kingma & Ba, arXiv:1412.6980.", Adam, 1e-8, 0.0),
      WithMoments("adamw", "As adam, but weight_decay param is added to M / (sqrt(V) + eps) instead of the gradient. Source: Loshchilov & Hutter, arXiv:1711.05101.", AdamW, 1e-8, 0.01),
      WithMoments("lamb", "As adamw, with the step scaled to the length of the parameter. Source: You et al., arXiv:1904.00962.", Lamb, 1e-6, 0.0),
      {.name = "rmsprop", .doc = "v = decay v + (1 - decay) grad^2; param - rate grad / (sqrt(v) + eps).",
       .inputs = StepInputs({Like("v", "the mean of squared gradients, 0 at first")}),
       .attributes = {Float("decay", "how much of v stays").Default(0.99).Between(0, 1),
                      Float("eps", "what keeps the divisor from 0").Default(1e-8).AtLeast(0)},
       .outputs = {"new_param", "new_v"}, .compose = RmsProp},
      {.name = "adagrad", .doc = "With g = grad + weight_decay param, s = sum + g^2: param - rate g / (sqrt(s) + eps). Source: Duchi et al., JMLR 12, 2011.",
       .inputs = StepInputs({Like("sum", "of squared gradients, 0 at first")}),
       .attributes = {Float("eps", "what keeps the divisor from 0").Default(1e-10).AtLeast(0), Float("weight_decay", "how much of the parameter is added to the gradient").Default(0.0)},
       .outputs = {"new_param", "new_sum"}, .compose = AdaGrad},
      {.name = "lion", .doc = "param - rate (sign(beta1 m + (1 - beta1) grad) + weight_decay param), then m = beta2 m + (1 - beta2) grad. Source: Chen et al., arXiv:2302.06675.",
       .inputs = StepInputs({Like("m", "the mean of gradients, 0 at first")}),
       .attributes = {Float("beta1", "how much of m is in the step").Default(0.9).Between(0, 1), Float("beta2", "how much of m stays").Default(0.99).Between(0, 1),
                      Float("weight_decay", "how much of the parameter is taken off").Default(0.0)},
       .outputs = {"new_param", "new_m"}, .compose = Lion},
      {.name = "clip_by_norm", .doc = "Gradients times min(1, max_norm / (norm + eps)), where norm is that of all of them as one vector.",
       .inputs = {Like("max_norm", "the largest norm").Rank(0), Input("grads", kFloat, "the gradients").Alone().Variadic()},
       .attributes = {Float("eps", "what keeps the divisor from 0").Default(1e-6).AtLeast(0)},
       .outputs = {"clipped..."}, .compose = ClipByNorm},
  };
}
// clang-format on

}  // namespace kiln::tensor::functions
