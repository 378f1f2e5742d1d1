// Attention, rotary positions, and recurrent cells.
#include <cmath>
#include <limits>

#include "core/tensor/functions/arguments.h"
#include "core/tensor/functions/linear.h"
#include "core/tensor/functions/tables.h"

namespace kiln::tensor::functions {
namespace {

using enum DTypeRule;

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

// Source: Vaswani et al., arXiv:1706.03762; groups: Ainslie et al., arXiv:2305.13245.
Tensors Attention(Arguments& a) {
  const Tensor q = Widened(a["q"]);
  Tensor k = Widened(a["k"]), v = Widened(a["v"]);
  const int64_t rank = q.rank();
  if (k.rank() != rank || v.rank() != rank) {
    return {a.Fail("k", "q, k and v have ", rank, ", ", k.rank(), " and ", v.rank(), " axes")};
  }
  if (!(k.dim(-1) == q.dim(-1)) || !(v.dim(-2) == k.dim(-2))) {
    return {a.Fail("k", "its shape ", ToText(a["k"].shape()), " does not fit q, ",
                   ToText(a["q"].shape()), ", and v, ", ToText(a["v"].shape()))};
  }
  // Heads of k and v that several heads of q share.
  const Size heads = q.dim(-3), shared = k.dim(-3);
  if (rank > 2 && !(heads == shared)) {
    if (!heads.is_known() || !shared.is_known() || shared.value() == 0 ||
        heads.value() % shared.value() != 0) {
      return {a.Fail("k", "it has ", ToText({shared}), " heads, which do not divide the ",
                     ToText({heads}), " of q")};
    }
    const auto repeated = [&](const Tensor& t) {
      const Tensor each = ExpandAxis(Unsqueeze(t, -3), -3, heads / shared);
      return Flatten(each, rank - 3, 2);
    };
    k = repeated(k);
    v = repeated(v);
  }
  double scale = a.Float("scale");
  if (!a.Has("scale")) {
    scale = 1 / std::sqrt(static_cast<double>(
                    std::max<int64_t>(a.composer().Known(q.dim(-1), "the size of a head"), 1)));
  }
  Tensor scores = WideMatMul(q, SwapAxes(k, -1, -2)) * scale;
  if (const double cap = a.Float("softcap"); cap > 0) scores = Tanh(scores / cap) * cap;
  if (a.Flag("causal")) {
    // The last query sees all keys.
    const Tensor query = Positions(a.composer(), DType::kInt64, q.dim(-2), 2, 0),
                 key = Positions(a.composer(), DType::kInt64, k.dim(-2), 2, 1);
    const Tensor last = query + Literal(a.composer(), DType::kInt64, k.dim(-2) - q.dim(-2));
    scores = Where(last < key, kMinusInfinity, scores);
  }
  if (const Tensor mask = a["mask"]) {
    const bool is_truth = mask.dtype() == DType::kBool;
    scores = is_truth ? Where(mask, scores, kMinusInfinity) : scores + Widened(mask);
  }
  const Tensor y = WideMatMul(Softmax(scores, scores.rank() - 1), v);
  return {Cast(y, a["q"].dtype())};
}

// Source: Su et al., arXiv:2104.09864.
Tensors Rope(Arguments& a) {
  const Tensor given = a["x"], x = Widened(given);
  const int64_t rank = x.rank();
  const int64_t width = a.composer().Known(x.dim(-1), "the last size of x");
  if (width % 2 != 0) return {a.Fail("x", "its last size, ", width, ", is odd")};
  const int64_t half = width / 2;
  // [positions, half], and axes of size 1 in front.
  Tensor position = a["position"];
  if (!position) position = Arange(a.composer(), DType::kInt32, x.dim(-2));
  const Tensor i = Cast(Arange(a.composer(), DType::kInt32, half), x.dtype());
  const Tensor rate = Alu(Op::kExp2, i * (-std::log2(a.Float("base")) /
                                          std::max<double>(1, static_cast<double>(half))));
  const Tensor angle = Unsqueeze(Cast(position, x.dtype()), -1) * rate;
  const Tensor cos = Cos(angle), sin = Sin(angle);
  if (a.Text("layout") == "halves") {
    const Tensor first = Slice(x, -1, 0, half), second = Slice(x, -1, half, width);
    const Tensor y = Concat({first * cos - second * sin, second * cos + first * sin}, -1);
    return {Cast(y, given.dtype())};
  }
  Shape pairs = x.shape();
  pairs.back() = half;
  pairs.emplace_back(2);
  const Tensor paired = Reshape(x, pairs);
  const Tensor even = Select(paired, rank, 0), odd = Select(paired, rank, 1);
  const Tensor y = Stack({even * cos - odd * sin, odd * cos + even * sin}, rank);
  return {Cast(Reshape(y, x.shape()), given.dtype())};
}

// Part `i` of the last axis, of `n` equal ones.
Tensor Part(const Tensor& x, int64_t i, int64_t n) {
  const Size each = x.dim(-1) / n;
  return Slice(x, -1, each * i, each * (i + 1));
}

// Whether the weights of a cell with `gates` gates fit x and h.
bool CheckCell(const Arguments& a, int64_t gates) {
  const Tensor x = a["x"], h = a["h"];
  const Size rows = h.dim(-1) * gates;
  a.Shaped("weight_x", {rows, x.dim(-1)});
  a.Shaped("weight_h", {rows, h.dim(-1)});
  a.Shaped("bias_x", {rows});
  a.Shaped("bias_h", {rows});
  return a.ok();
}

// Source: Hochreiter & Schmidhuber, Neural Computation 9, 1997.
Tensors LstmCell(Arguments& a) {
  if (!CheckCell(a, 4)) return {};
  const Tensor h = a["h"], c = Widened(a.Shaped("c", h.shape()));
  const Tensor gates =
      WideLinear(a["x"], a["weight_x"], a["bias_x"]) + WideLinear(h, a["weight_h"], a["bias_h"]);
  const Tensor in = Sigmoid(Part(gates, 0, 4)), forget = Sigmoid(Part(gates, 1, 4)),
               value = Tanh(Part(gates, 2, 4)), out = Sigmoid(Part(gates, 3, 4));
  const Tensor next = forget * c + in * value;
  return {Cast(out * Tanh(next), h.dtype()), Cast(next, a["c"].dtype())};
}

// Source: Cho et al., arXiv:1406.1078, with the reset gate after the product, as in cuDNN.
Tensors GruCell(Arguments& a) {
  if (!CheckCell(a, 3)) return {};
  const Tensor h = a["h"];
  const Tensor of_x = WideLinear(a["x"], a["weight_x"], a["bias_x"]),
               of_h = WideLinear(h, a["weight_h"], a["bias_h"]);
  const Tensor reset = Sigmoid(Part(of_x, 0, 3) + Part(of_h, 0, 3)),
               update = Sigmoid(Part(of_x, 1, 3) + Part(of_h, 1, 3)),
               value = Tanh(Part(of_x, 2, 3) + reset * Part(of_h, 2, 3));
  return {Cast(value + update * (Widened(h) - value), h.dtype())};
}

Tensors RnnCell(Arguments& a) {
  if (!CheckCell(a, 1)) return {};
  const Tensor h = a["h"];
  const Tensor sum =
      WideLinear(a["x"], a["weight_x"], a["bias_x"]) + WideLinear(h, a["weight_h"], a["bias_h"]);
  return {Cast(a.Text("activation") == "relu" ? Maximum(sum, 0) : Tanh(sum), h.dtype())};
}

std::vector<InputSchema> CellInputs(std::string_view rows, std::vector<InputSchema> states) {
  std::vector<InputSchema> inputs = {Input("x", kFloat, "[n, in]").Rank(2),
                                     Input("h", kFloat, "[n, hidden]").Rank(2)};
  inputs.insert(inputs.end(), states.begin(), states.end());
  const std::string text(rows);
  inputs.push_back(Input("weight_x", kFloat, absl::StrCat("[", text, ", in]")).Rank(2));
  inputs.push_back(Input("weight_h", kFloat, absl::StrCat("[", text, ", hidden]")).Rank(2));
  inputs.push_back(Input("bias_x", kFloat, absl::StrCat("[", text, "]")).Rank(1).Optional());
  inputs.push_back(Input("bias_h", kFloat, absl::StrCat("[", text, "]")).Rank(1).Optional());
  return inputs;
}

}  // namespace

// clang-format off
std::vector<FunctionSchema> AttentionFunctions() {
  return {
      {.name = "attention", .doc = "softmax(scale q k^T + mask) v: q [..., heads, queries, d], k [..., kv heads, keys, d], v [..., kv heads, keys, e] -> [..., heads, queries, e]. Each kv head serves heads / kv heads heads in a row. Source: Vaswani et al., arXiv:1706.03762.",
       .inputs = {Input("q", kFloat, "queries").Ranks(2), Input("k", kFloat, "keys").Ranks(2), Input("v", kFloat, "values").Ranks(2),
                  Input("mask", kAny, "bool: which keys a query sees; else what is added to its scores; broadcasts").Alone().Optional()},
       .attributes = {Flag("causal", false, "whether a query sees no later keys; the last query goes with the last key"),
                      Float("scale", "of scores; 1 / sqrt(d) if left out").Optional(),
                      Float("softcap", "if above 0, scores are softcap tanh(score / softcap)").Default(0.0).AtLeast(0)},
       .outputs = {"y"}, .compose = Attention},
      {.name = "rope", .doc = "Pairs (a, b) of the last axis, turned by position base^(-2 i / d) for pair i: (a cos - b sin, b cos + a sin). x [..., positions, d]. Source: Su et al., arXiv:2104.09864.",
       .inputs = {Input("x", kFloat, "[..., positions, d]").Ranks(2).Alone(), Input("position", kInteger, "[positions] or [..., positions]; 0, 1, ... if left out").Ranks(1).Optional()},
       .attributes = {Float("base", "of the angles").Default(10000.0).AtLeast(1),
                      Choice("layout", {"halves", "pairs"}, "whether b is half of d after a, or next to it")},
       .outputs = {"y"}, .compose = Rope},
      {.name = "rnn_cell", .doc = "One step of an Elman network: tanh(weight_x x + bias_x + weight_h h + bias_h), or max(..., 0). Source: Elman, Cognitive Science 14, 1990.",
       .inputs = CellInputs("hidden", {}), .attributes = {Choice("activation", {"tanh", "relu"}, "what is done to the sum")}, .outputs = {"new_h"}, .compose = RnnCell},
      {.name = "lstm_cell", .doc = "One step of an LSTM. With gates i, f, g, o = weight_x x + bias_x + weight_h h + bias_h in this order: c' = sigmoid(f) c + sigmoid(i) tanh(g), h' = sigmoid(o) tanh(c'). Source: Hochreiter & Schmidhuber, Neural Computation 9, 1997.",
       .inputs = CellInputs("4 hidden", {Input("c", kFloat, "[n, hidden]").Rank(2)}), .attributes = {}, .outputs = {"new_h", "new_c"}, .compose = LstmCell},
      {.name = "gru_cell", .doc = "One step of a GRU. With r, z, n = weight_x x + bias_x and R, Z, N = weight_h h + bias_h: v = tanh(n + sigmoid(r + R) N), h' = v + sigmoid(z + Z) (h - v). Source: Cho et al., arXiv:1406.1078.",
       .inputs = CellInputs("3 hidden", {}), .attributes = {}, .outputs = {"new_h"}, .compose = GruCell},
  };
}
// clang-format on

}  // namespace kiln::tensor::functions
