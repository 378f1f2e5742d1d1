#include "tests/unit/functions/gradients/gradient_cases.h"

namespace kiln::tensor::functions {
namespace {

struct Row {
  std::string function;
  double low = -2, high = 2;
  std::vector<Attribute> attributes = {};
};

// Functions of one operand, where they are smooth on [low, high] but for a few points.
std::vector<Row> Unary() {
  return {
      {"neg"},
      {"abs"},
      {"square"},
      {"frac"},
      {"reciprocal", 0.4, 3},
      {"reciprocal", -3, -0.4},
      {"clip", -2, 2, {{"min", -1.0}, {"max", 1.5}}},
      {"clip", -2, 2, {{"max", 0.5}}},
      {"clip", -2, 2, {{"min", 0.5}}},
      {"clip", -2, 2},
      {"sqrt", 0.3, 3},
      {"rsqrt", 0.3, 3},
      {"cbrt", 0.3, 3},
      {"cbrt", -3, -0.3},
      {"exp"},
      {"exp2"},
      {"expm1"},
      {"expm1", -1e-2, 1e-2},
      {"log", 0.3, 3},
      {"log2", 0.3, 3},
      {"log10", 0.3, 3},
      {"log1p", -0.7, 3},
      {"log1p", -1e-2, 1e-2},
      {"sin", -6, 6},
      {"cos", -6, 6},
      {"tan", -1.2, 1.2},
      {"asin", -0.9, 0.9},
      {"acos", -0.9, 0.9},
      {"atan", -4, 4},
      {"sinh", -3, 3},
      {"sinh", 20.5, 21},
      {"cosh", -3, 3},
      {"tanh", -3, 3},
      {"asinh", -4, 4},
      {"acosh", 1.2, 4},
      {"atanh", -0.9, 0.9},
      {"erf", -3, 3},
      {"erf", 3.5, 5},
      {"erfc", -3, 3},
      {"erfc", 3.5, 5},
      // ** activations **
      {"relu"},
      {"relu6", -2, 9},
      {"leaky_relu"},
      {"leaky_relu", -2, 2, {{"negative_slope", 0.3}}},
      {"elu"},
      {"elu", -2, 2, {{"alpha", 0.7}}},
      {"celu"},
      {"celu", -2, 2, {{"alpha", 1.7}}},
      {"selu"},
      {"gelu", -4, 4},
      {"gelu", -4, 4, {{"approximate", "tanh"}}},
      {"quick_gelu", -4, 4},
      {"sigmoid", -5, 5},
      {"log_sigmoid", -5, 5},
      {"silu", -5, 5},
      {"mish", -5, 5},
      {"softplus", -5, 5},
      {"softplus", -5, 5, {{"beta", 2.5}}},
      {"softsign"},
      {"hard_sigmoid", -5, 5},
      {"hard_swish", -5, 5},
      {"hard_tanh"},
      {"hard_tanh", -2, 2, {{"min", -0.3}, {"max", 0.6}}},
      {"tanh_shrink"},
      {"soft_shrink"},
      {"soft_shrink", -2, 2, {{"lambda", 1.1}}},
      {"hard_shrink"},
      {"hard_shrink", -2, 2, {{"lambda", 1.1}}},
  };
}

struct Row2 {
  std::string function;
  double low = -2, high = 2;    // Of the first operand.
  double low2 = -2, high2 = 2;  // Of the second.
};
std::vector<Row2> Binary() {
  return {
      {"add"},
      {"sub"},
      {"mul"},
      {"div", -2, 2, 0.4, 2},
      {"div", -2, 2, -2, -0.4},
      {"fmod", -5, 5, 0.7, 2},
      {"remainder", -5, 5, -2, -0.7},
      {"pow", 0.3, 2, -2, 2},
      {"maximum"},
      {"minimum"},
      {"logaddexp", -4, 4, -4, 4},
      {"atan2"},
      {"prelu"},
  };
}

}  // namespace

std::vector<Case> ElementwiseCases() {
  std::vector<Case> cases;
  for (const Row& row : Unary()) {
    for (const std::vector<int64_t>& shape :
         std::vector<std::vector<int64_t>>{{2, 1, 3}, {}, {0}, {1}}) {
      cases.push_back({row.function, {R(shape, row.low, row.high)}, row.attributes, 1});
    }
    cases.push_back({row.function, {R({4}, row.low, row.high)}, row.attributes, 3});
  }
  for (const Row2& row : Binary()) {
    using Shape = std::vector<int64_t>;
    for (const auto& [x, y] : std::vector<std::pair<Shape, Shape>>{{{2, 3}, {3}},
                                                                   {{}, {}},
                                                                   {{2, 1}, {1, 3}},
                                                                   {{0}, {1}},
                                                                   {{}, {2, 2}},
                                                                   {{1, 3, 1}, {5}}}) {
      cases.push_back({row.function, {R(x, row.low, row.high), R(y, row.low2, row.high2)}, {}, 1});
    }
    cases.push_back(
        {row.function, {R({3}, row.low, row.high), R({3}, row.low2, row.high2)}, {}, 2});
  }
  const std::vector<Case> more = {
      {"lerp", {R({2, 3}), R({3}), R({2, 1})}, {}, 2},
      {"lerp", {R({}), R({}), R({})}},
      {"where", {B({2, 1}, {1, 0}), R({2, 3}), R({3})}, {}, 2},
      {"where", {B({}, {1}), R({}), R({2})}},
      {"where", {B({3}, {1, 0, 1}), R({0, 3}), R({1})}},
      {"cast", {R({3})}, {{"dtype", DType::kFloat64}}},
      {"glu", {R({2, 4})}, {}, 2},
      {"glu", {R({4, 3})}, {{"axis", 0}}},
      {"glu", {R({2, 0})}},
  };
  cases.insert(cases.end(), more.begin(), more.end());
  return cases;
}

}  // namespace kiln::tensor::functions
