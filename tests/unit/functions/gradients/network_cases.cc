#include "tests/unit/functions/gradients/gradient_cases.h"

namespace kiln::tensor::functions {
namespace {

using Ints = std::vector<int64_t>;
using Attributes = std::vector<Attribute>;

std::vector<Case> Convolutions() {
  return {
      {"conv", {R({1, 2, 4}), R({2, 2, 2}), R({2})}, {}, 2},
      {"conv",
       {R({1, 2, 5}), R({4, 1, 2})},
       {{"groups", 2}, {"dilation", Ints{2}}, {"padding", Ints{1}}}},
      {"conv",
       {R({1, 1, 3, 4}), R({2, 1, 2, 2}), R({2})},
       {{"stride", Ints{2, 1}}, {"padding", Ints{0, 1, 1, 0}}}},
      {"conv", {R({1, 1, 2, 2, 2}), R({1, 1, 2, 1, 2})}},
      {"conv_transpose", {R({1, 2, 3}), R({2, 2, 2}), R({2})}, {}, 2},
      {"conv_transpose",
       {R({1, 2, 3}), R({2, 1, 2})},
       {{"stride", Ints{2}}, {"groups", 2}, {"output_padding", Ints{1}}}},
      {"conv_transpose",
       {R({1, 1, 2, 2}), R({1, 2, 2, 2})},
       {{"padding", Ints{1}}, {"dilation", Ints{2}}}},
      {"max_pool", {R({1, 2, 5})}, {{"kernel", Ints{2}}}, 2},
      {"max_pool",
       {R({1, 1, 4, 3})},
       {{"kernel", Ints{3, 2}}, {"stride", Ints{2, 1}}, {"padding", Ints{1}}, {"ceil", true}}},
      {"max_pool",
       {R({1, 1, 5})},
       {{"kernel", Ints{2}}, {"dilation", Ints{2}}, {"stride", Ints{1}}}},
      {"avg_pool", {R({1, 2, 5})}, {{"kernel", Ints{2}}}, 2},
      {"avg_pool",
       {R({1, 1, 4, 3})},
       {{"kernel", Ints{3, 2}}, {"stride", Ints{2, 1}}, {"padding", Ints{1}}, {"ceil", true}}},
      {"avg_pool",
       {R({1, 1, 5})},
       {{"kernel", Ints{3}}, {"padding", Ints{1}}, {"count_padding", false}}},
      {"adaptive_avg_pool", {R({1, 2, 6})}, {{"sizes", Ints{3}}}},
      {"adaptive_avg_pool", {R({1, 1, 5, 4})}, {{"sizes", Ints{3, 2}}}},
      {"adaptive_max_pool", {R({1, 2, 6})}, {{"sizes", Ints{3}}}},
      {"adaptive_max_pool", {R({1, 1, 5, 4})}, {{"sizes", Ints{3, 2}}}},
      {"unfold", {R({1, 2, 4})}, {{"kernel", Ints{2}}}},
      {"unfold",
       {R({1, 1, 4, 3})},
       {{"kernel", Ints{2}}, {"stride", Ints{2}}, {"padding", Ints{1}}}},
      {"interpolate", {R({1, 2, 3})}, {{"sizes", Ints{5}}}},
      {"interpolate", {R({1, 1, 3, 4})}, {{"sizes", Ints{5, 2}}, {"mode", "linear"}}},
      {"interpolate",
       {R({1, 1, 3})},
       {{"sizes", Ints{4}}, {"mode", "linear"}, {"align_corners", true}}},
      {"interpolate", {R({1, 1, 5})}, {{"sizes", Ints{3}}, {"mode", "area"}}},
  };
}

std::vector<Case> Networks() {
  return {
      {"attention", {R({2, 3}), R({3, 3}), R({3, 2})}, {}, 1},
      {"attention", {R({2, 2}), R({2, 2}), R({2, 1})}, {}, 2},
      {"attention", {R({1, 2, 3, 2}), R({1, 1, 3, 2}), R({1, 1, 3, 2})}, {{"causal", true}}},
      {"attention", {R({2, 2}), R({3, 2}), R({3, 2}), R({2, 3})}, {{"scale", 0.7}}},
      {"attention",
       {R({2, 2}), R({3, 2}), R({3, 2}), B({2, 3}, {1, 0, 1, 0, 1, 0})},
       {{"softcap", 2.0}}},
      {"rope", {R({2, 3, 4})}},
      {"rope", {R({3, 4}), I({3}, {5, 0, 9})}, {{"layout", "pairs"}, {"base", 100.0}}, 2},
      {"lstm_cell", {R({2, 2}), R({2, 2}), R({2, 2}), R({8, 2}), R({8, 2}), R({8}), R({8})}},
      {"lstm_cell", {R({1, 2}), R({1, 1}), R({1, 1}), R({4, 2}), R({4, 1})}, {}, 2},
      {"gru_cell", {R({2, 2}), R({2, 2}), R({6, 2}), R({6, 2}), R({6}), R({6})}},
      {"gru_cell", {R({1, 2}), R({1, 1}), R({3, 2}), R({3, 1})}, {}, 2},
      {"dropout", {I({2}, {5, 7}, DType::kUInt32), I({1}, {3}, DType::kUInt32), R({2, 3})}},
      {"dropout",
       {I({2}, {5, 7}, DType::kUInt32), I({}, {0}, DType::kUInt32), R({4})},
       {{"p", 0.2}},
       2},
  };
}

std::vector<Case> Steps() {
  const In param = R({2, 2}), grad = R({2, 2}), rate = R({}, 0.1, 1), m = R({2, 2}),
           v = R({2, 2}, 0.3, 2), step = R({}, 1.5, 4);
  std::vector<Case> cases = {
      {"sgd", {param, grad, rate}, {{"weight_decay", 0.1}}, 2},
      {"sgd", {param, grad, rate, m}, {{"momentum", 0.9}, {"dampening", 0.2}, {"nesterov", true}}},
      {"rmsprop", {param, grad, rate, v}},
      {"rmsprop", {param, grad, rate, v}, {{"decay", 0.5}, {"eps", 0.1}}},
      {"clip_by_norm", {R({}, 0.5, 1), R({2}), R({2, 1})}, {}, 2},
      {"clip_by_norm", {R({}, 50, 60), R({2}), R({})}},
  };
  for (const char* f : {"adam", "adamw", "lamb"}) {
    cases.push_back({f, {param, grad, rate, m, v, step}});
    cases.push_back(
        {f,
         {param, grad, rate, m, v, step},
         Attributes{{"weight_decay", 0.1}, {"beta1", 0.5}, {"beta2", 0.7}, {"eps", 0.1}}});
  }
  return cases;
}

}  // namespace

std::vector<Case> NetworkCases() {
  std::vector<Case> cases = Convolutions();
  for (const std::vector<Case>& more : {Networks(), Steps()}) {
    cases.insert(cases.end(), more.begin(), more.end());
  }
  return cases;
}

std::vector<Case> AllCases() {
  std::vector<Case> cases = ElementwiseCases();
  for (const std::vector<Case>& more :
       {ReductionCases(), MovementCases(), NetworkCases(), FurtherCases()}) {
    cases.insert(cases.end(), more.begin(), more.end());
  }
  return cases;
}

std::vector<FlatCase> FlatCases() {
  std::vector<FlatCase> cases;
  const In x = R({2, 3}), y = R({3}, 0.5, 2);
  for (const char* f : {"floor", "ceil", "round", "trunc", "sign"}) {
    cases.push_back({Flat::kZero, {f, {x}}});
  }
  for (const char* f : {"div_trunc", "floor_divide"}) cases.push_back({Flat::kZero, {f, {x, y}}});
  cases.push_back({Flat::kZero, {"full_like", {x}, {{"value", 2.0}}}});
  const In key = I({2}, {5, 7}, DType::kUInt32), counter = I({1}, {0}, DType::kUInt32);
  cases.push_back({Flat::kZero, {"bernoulli", {key, counter, R({2, 3}, 0.1, 0.9)}}});

  for (const char* f : {"isnan", "isinf", "isfinite", "logical_not", "any", "all", "argmax",
                        "argmin", "argsort", "signbit", "count_nonzero"}) {
    cases.push_back({Flat::kNotFloat, {f, {x}}});
  }
  for (const char* f :
       {"eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_xor"}) {
    cases.push_back({Flat::kNotFloat, {f, {x, y}}});
  }
  cases.push_back({Flat::kNotFloat, {"cast", {x}, {{"dtype", DType::kInt32}}}});
  cases.push_back({Flat::kNotFloat, {"bitcast", {x}, {{"dtype", DType::kInt64}}}});
  cases.push_back(
      {Flat::kNotFloat, {"multinomial", {key, counter, R({3}, 0.1, 1)}, {{"count", 2}}}});

  cases.push_back({Flat::kZero, {"nextafter", {x, y}}});
  cases.push_back({Flat::kNotFloat, {"isclose", {x, y}}});
  cases.push_back({Flat::kNotFloat, {"searchsorted", {y, y}}});
  cases.push_back({Flat::kNotFloat, {"nonzero", {x}, {{"size", 3}}}});
  cases.push_back({Flat::kNotFloat, {"histogram", {x}, {{"bins", 3}, {"min", 0.0}, {"max", 1.0}}}});

  for (const char* f :
       {"bitwise_and",  "bitwise_or",  "bitwise_xor", "bitwise_not", "shift_left", "shift_right",
        "one_hot",      "full",        "arange",      "linspace",    "eye",        "iota",
        "uniform",      "normal",      "randint",     "permutation", "logspace",   "tril_indices",
        "triu_indices", "exponential", "gumbel",      "random_bits", "split_key"}) {
    cases.push_back({Flat::kNoInput, {f, {}}});
  }
  return cases;
}

}  // namespace kiln::tensor::functions
