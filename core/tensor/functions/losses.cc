// Losses.
#include "core/tensor/functions/arguments.h"
#include "core/tensor/functions/linear.h"
#include "core/tensor/functions/tables.h"

namespace kiln::tensor::functions {
namespace {

using enum DTypeRule;

// What is left of the loss of each element.
Tensor ReducedLoss(const Arguments& a, const Tensor& loss, DType dtype) {
  const std::string reduction = a.Text("reduction");
  if (reduction == "mean") return Cast(Mean(loss, AllAxes(loss)), dtype);
  if (reduction == "sum") return Cast(Sum(loss, AllAxes(loss)), dtype);
  return Cast(loss, dtype);
}

using Elementwise = Tensor (*)(const Tensor& x, const Tensor& target, const Arguments& a);

Tensor SquaredError(const Tensor& x, const Tensor& t, const Arguments&) { return Square(x - t); }
Tensor AbsoluteError(const Tensor& x, const Tensor& t, const Arguments&) { return Abs(x - t); }
Tensor Huber(const Tensor& x, const Tensor& t, const Arguments& a) {
  const double delta = a.Float("delta");
  const Tensor d = x - t, size = Abs(d);
  return Where(size < delta, Square(d) * 0.5, (size - delta / 2) * delta);
}
Tensor SmoothL1(const Tensor& x, const Tensor& t, const Arguments& a) {
  const double beta = a.Float("beta");
  const Tensor d = x - t, size = Abs(d);
  if (beta == 0) return size;
  return Where(size < beta, Square(d) * (0.5 / beta), size - beta / 2);
}
// Logarithms are at least -100, as in PyTorch, so that the loss is finite; of 0, without a gradient.
Tensor BinaryCrossEntropy(const Tensor& x, const Tensor& t, const Arguments&) {
  const Tensor is_0 = Equal(x, 0), is_1 = Equal(x, 1);
  const Tensor log = Where(is_0, -100, Maximum(Log(Where(is_0, 1, x)), -100));
  const Tensor log_of_rest = Where(is_1, -100, Maximum(Log1p(-Where(is_1, 0, x)), -100));
  return -(t * log + (1 - t) * log_of_rest);
}
// max(x, 0) - x t + log(1 + e^-|x|).
Tensor BinaryCrossEntropyOfLogits(const Tensor& x, const Tensor& t, const Arguments&) {
  return Softplus(x) - x * t;
}
Tensor KlDivergence(const Tensor& x, const Tensor& t, const Arguments& a) {
  if (a.Flag("log_target")) return Exp(t) * (t - x);
  const Tensor is_positive = t > 0;
  return Where(is_positive, t * (Log(Where(is_positive, t, 1)) - x), 0);
}

// ** of probabilities and distances **
Tensor PoissonNll(const Tensor& x, const Tensor& t, const Arguments& a) {
  if (a.Flag("log_input")) return Exp(x) - t * x;
  return x - t * Log(x + a.Float("eps"));
}
// Of labels 1 and -1.
Tensor SoftMargin(const Tensor& x, const Tensor& t, const Arguments&) { return Softplus(-t * x); }
Tensor HingeEmbedding(const Tensor& x, const Tensor& t, const Arguments& a) {
  return Where(Equal(t, 1), x, Maximum(a.Float("margin") - x, 0));
}

FunctionSchema Loss(std::string_view name, std::string_view doc, Elementwise f,
                    std::vector<AttributeSchema> attributes = {}) {
  FunctionSchema row;
  row.name = name;
  row.doc = doc;
  row.inputs = {Input("x", kFloat, "the prediction"), Input("target", kFloat, "what is right")};
  row.attributes = std::move(attributes);
  row.attributes.push_back(
      Choice("reduction", {"mean", "sum", "none"}, "what becomes of the losses of the elements"));
  row.outputs = {"loss"};
  row.compose = [f](Arguments& a) -> Tensors {
    const Tensor x = a["x"];
    return {ReducedLoss(a, f(Widened(x), Widened(a["target"]), a), x.dtype())};
  };
  return row;
}

// ** of classes **

// Minus the weighted log probability of the target class, where `log_p` has classes on axis 1 (0 if
// it has no other), smoothed towards all classes.
Tensors ClassLoss(Arguments& a, const Tensor& log_p, double smoothing, DType dtype) {
  const int64_t axis = log_p.rank() == 1 ? 0 : 1;
  const Size classes = log_p.dim(axis);
  Shape shape = log_p.shape();
  if (!shape.empty()) shape.erase(shape.begin() + axis);
  const Tensor target = a.Shaped("target", shape);
  Tensor weight = Widened(a.Shaped("weight", {classes}));
  if (!a.ok()) return {};
  Tensor weighted = log_p;
  if (weight) {
    Shape aligned(static_cast<size_t>(log_p.rank() - axis), Size(1));
    aligned[0] = classes;
    weight = Reshape(weight, aligned);
    weighted = log_p * weight;
  }
  const Tensor at = Unsqueeze(target, axis);
  const Tensor is_target =
      Equal(at, Positions(a.composer(), at.dtype(), classes, log_p.rank(), axis));
  Tensor loss = -Sum(Where(is_target, weighted, 0), {axis});
  if (smoothing > 0) {
    const Tensor even = Sum(weighted, {axis}) / Literal(a.composer(), log_p.dtype(), classes);
    loss = loss * (1 - smoothing) - even * smoothing;
  }
  const Tensor is_counted =
      NotEqual(target, Literal(target, static_cast<double>(a.Int("ignore_index"))));
  loss = Where(is_counted, loss, 0);
  if (a.Text("reduction") != "mean") return {ReducedLoss(a, loss, dtype)};
  Tensor share = Where(is_counted, 1.0, 0.0, log_p.dtype());
  if (weight) share = Where(is_counted, Sum(Where(is_target, weight, 0), {axis}), 0);
  return {Cast(Sum(loss, AllAxes(loss)) / Sum(share, AllAxes(share)), dtype)};
}

// Minus the sum of weight target log_p over the classes, where the target is a distribution over them.
Tensors DistributionLoss(const Arguments& a, const Tensor& log_p, double smoothing, DType dtype) {
  const int64_t axis = log_p.rank() == 1 ? 0 : 1;
  const Size classes = log_p.dim(axis);
  const Tensor target = Widened(a.Shaped("target", log_p.shape()));
  const Tensor weight = Widened(a.Shaped("weight", {classes}));
  if (!a.ok()) return {};
  const Tensor even = 1.0 / Literal(a.composer(), log_p.dtype(), classes) * smoothing;
  const Tensor wanted = smoothing > 0 ? target * (1 - smoothing) + even : target;
  Tensor terms = wanted * log_p;
  if (weight) {
    Shape aligned(static_cast<size_t>(log_p.rank() - axis), Size(1));
    aligned[0] = classes;
    terms = terms * Reshape(weight, aligned);
  }
  return {ReducedLoss(a, -Sum(terms, {axis}), dtype)};
}

Tensors CrossEntropy(Arguments& a) {
  const Tensor x = a["x"];
  const Tensor log_p = LogSoftmax(Widened(x), x.rank() == 1 ? 0 : 1);
  const double smoothing = a.Float("label_smoothing");
  if (a["target"].is_float()) return DistributionLoss(a, log_p, smoothing, x.dtype());
  return ClassLoss(a, log_p, smoothing, x.dtype());
}
Tensors NegativeLogLikelihood(Arguments& a) {
  const Tensor x = a["x"];
  return ClassLoss(a, Widened(x), 0, x.dtype());
}

FunctionSchema OfClasses(std::string_view name, std::string_view doc, std::string_view x,
                         InputSchema target, Tensors (*f)(Arguments&),
                         std::vector<AttributeSchema> attributes = {}) {
  FunctionSchema row;
  row.name = name;
  row.doc = doc;
  row.inputs = {
      Input("x", kFloat, x).Ranks(1).Alone(), std::move(target).Alone(),
      Input("weight", kFloat, "[c], of each class; 1 if left out").Rank(1).Alone().Optional()};
  row.attributes = std::move(attributes);
  row.attributes.push_back(
      Int("ignore_index", "a target that does not count").Default(int64_t{-100}));
  row.attributes.push_back(Choice("reduction", {"mean", "sum", "none"},
                                  "what becomes of the losses; their mean is weighted"));
  row.outputs = {"loss"};
  row.compose = f;
  return row;
}

Tensors GaussianNll(Arguments& a) {
  const Tensor x = a["x"];
  const Tensor var = Maximum(Widened(a["var"]), a.Float("eps"));
  const Tensor loss = (Log(var) + Square(Widened(x) - Widened(a["target"])) / var) * 0.5;
  return {ReducedLoss(a, loss, x.dtype())};
}
Tensors MarginRanking(Arguments& a) {
  const Tensor x = a["x"];
  const Tensor d = Widened(x) - Widened(a["y"]);
  const Tensor loss = Maximum(a.Float("margin") - Widened(a["target"]) * d, 0);
  return {ReducedLoss(a, loss, x.dtype())};
}
Tensors TripletMargin(Arguments& a) {
  const Tensor x = a["anchor"];
  const double p = a.Float("p"), eps = a.Float("eps");
  const auto distance = [&](const Tensor& other) {
    const Tensor d = Abs(Widened(x) - Widened(other) + eps);
    const Axes last = {d.rank() - 1};
    if (p == 2) return Sqrt(Sum(Square(d), last));
    return Alu(Op::kPow, Sum(Alu(Op::kPow, d, Literal(d, p)), last), Literal(d, 1 / p));
  };
  const Tensor loss =
      Maximum(distance(a["positive"]) - distance(a["negative"]) + a.Float("margin"), 0);
  return {ReducedLoss(a, loss, x.dtype())};
}
AttributeSchema ReductionAttribute() {
  return Choice("reduction", {"mean", "sum", "none"}, "what becomes of the losses of the elements");
}

Tensors CosineSimilarity(Arguments& a) {
  const Tensors xy = Broadcast({Widened(a["x"]), Widened(a["y"])});
  const Tensor x = xy[0], y = xy[1];
  const int64_t axis = a.Axis("axis", x.rank());
  const double eps = a.Float("eps");
  const auto norm = [&](const Tensor& t) { return Maximum(Root(Sum(Square(t), {axis})), eps); };
  return {Cast(Sum(x * y, {axis}) / (norm(x) * norm(y)), a["x"].dtype())};
}

}  // namespace

// clang-format off
std::vector<FunctionSchema> LossFunctions() {
  return {
      OfClasses("cross_entropy", "-weight[target] log_softmax(x)[target], classes on axis 1 (of a vector: 0). With label smoothing s, (1 - s) of it and s of the mean over all classes. If the target is a float, it is a distribution over the classes: -sum(target weight log_softmax(x)), whose mean is not weighted. Source: Szegedy et al., arXiv:1512.00567.",
                "[n, c, ...], logits", Input("target", kNumber, "[n, ...], the index of a class, of an integer dtype; or [n, c, ...], probabilities, of a float dtype"), CrossEntropy,
                {Float("label_smoothing", "s").Default(0.0).Between(0, 1)}),
      OfClasses("nll_loss", "-weight[target] x[target], classes on axis 1 (of a vector: 0).", "[n, c, ...], log probabilities", Input("target", kInteger, "[n, ...], the index of a class"), NegativeLogLikelihood),
      Loss("mse_loss", "(x - target)^2.", SquaredError),
      Loss("l1_loss", "|x - target|.", AbsoluteError),
      Loss("huber_loss", "(x - target)^2 / 2 up to delta, then delta (|x - target| - delta / 2).", Huber,
           {Float("delta", "where the parabola ends").Default(1.0).AtLeast(0)}),
      Loss("smooth_l1_loss", "huber_loss with delta = beta, divided by beta; l1_loss if it is 0.", SmoothL1,
           {Float("beta", "where the parabola ends").Default(1.0).AtLeast(0)}),
      Loss("bce_loss", "-(target log(x) + (1 - target) log(1 - x)); a logarithm is at least -100.", BinaryCrossEntropy),
      Loss("bce_with_logits_loss", "bce_loss of sigmoid(x), without overflow.", BinaryCrossEntropyOfLogits),
      Loss("kl_div", "target (log(target) - x), where x is a log probability; 0 where the target is.", KlDivergence,
           {Flag("log_target", false, "whether the target is a log probability, too")}),
      Loss("poisson_nll_loss", "e^x - target x, or without log_input x - target log(x + eps): -log of the Poisson distribution but for a constant.", PoissonNll,
           {Flag("log_input", true, "whether x is the logarithm of the rate"), Float("eps", "what keeps the logarithm finite").Default(1e-8).AtLeast(0)}),
      Loss("soft_margin_loss", "log(1 + e^(-target x)), of targets 1 and -1, without overflow.", SoftMargin),
      Loss("hinge_embedding_loss", "x where the target is 1, else max(margin - x, 0).", HingeEmbedding, {Float("margin", "the margin").Default(1.0)}),
      {.name = "gaussian_nll_loss", .doc = "(log(var) + (x - target)^2 / var) / 2, where var is at least eps. All broadcast.",
       .inputs = {Input("x", kFloat, "the prediction"), Input("target", kFloat, "what is right"), Input("var", kFloat, "the variance")},
       .attributes = {Float("eps", "the least variance").Default(1e-6).AtLeast(0), ReductionAttribute()}, .outputs = {"loss"}, .compose = GaussianNll},
      {.name = "margin_ranking_loss", .doc = "max(margin - target (x - y), 0), of targets 1 (x is to be larger) and -1. All broadcast.",
       .inputs = {Input("x", kFloat, "scores"), Input("y", kFloat, "scores"), Input("target", kFloat, "1 or -1")},
       .attributes = {Float("margin", "the margin").Default(0.0), ReductionAttribute()}, .outputs = {"loss"}, .compose = MarginRanking},
      {.name = "triplet_margin_loss", .doc = "max(d(anchor, positive) - d(anchor, negative) + margin, 0), where d is sum(|x - y + eps|^p)^(1/p) along the last axis. All broadcast.",
       .inputs = {Input("anchor", kFloat, "[..., k]").Ranks(1), Input("positive", kFloat, "[..., k]").Ranks(1), Input("negative", kFloat, "[..., k]").Ranks(1)},
       .attributes = {Float("margin", "the margin").Default(1.0), Float("p", "the order").Default(2.0).AtLeast(1), Float("eps", "what keeps gradients finite").Default(1e-6).AtLeast(0), ReductionAttribute()},
       .outputs = {"loss"}, .compose = TripletMargin},
      {.name = "cosine_similarity", .doc = "sum(x y) / (max(|x|, eps) max(|y|, eps)) along the axis; both broadcast.",
       .inputs = {Input("x", kFloat, "vectors").Ranks(1), Input("y", kFloat, "vectors").Ranks(1)},
       .attributes = {AxisOf("the broadcast x"), Float("eps", "the least length").Default(1e-8).AtLeast(0)},
       .outputs = {"similarity"}, .compose = CosineSimilarity},
  };
}
// clang-format on

}  // namespace kiln::tensor::functions
