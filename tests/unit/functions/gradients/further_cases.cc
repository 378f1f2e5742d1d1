#include "tests/unit/functions/gradients/gradient_cases.h"

namespace kiln::tensor::functions {
namespace {

using Ints = std::vector<int64_t>;

std::vector<Case> OfOneOrTwoNumbers() {
  struct Row {
    std::string function;
    double low, high;
    std::vector<Attribute> attributes = {};
  };
  std::vector<Case> cases;
  for (const Row& row : std::vector<Row>{
           {"deg2rad", -2, 2},
           {"rad2deg", -2, 2},
           {"digamma", 0.6, 5},
           {"digamma", -1.8, -1.2},
           {"lgamma", 0.6, 5},
           {"lgamma", -1.8, -1.2},
           {"erfinv", -0.95, 0.95},
           {"logit", 0.1, 0.9},
           {"logit", -0.2, 1.2, {{"eps", 0.1}}},
           {"sinc", -3, 3},
           {"nan_to_num", -2, 2},
           {"threshold", -2, 2, {{"threshold", 0.3}, {"value", -1.0}}},
       }) {
    for (const Ints& shape : std::vector<Ints>{{2, 1, 3}, {}, {0}}) {
      cases.push_back({row.function, {R(shape, row.low, row.high)}, row.attributes});
    }
    cases.push_back({row.function, {R({4}, row.low, row.high)}, row.attributes, 2});
  }
  for (const char* f : {"copysign", "heaviside", "hypot", "logaddexp2", "ldexp"}) {
    cases.push_back({f, {R({2, 3}), R({3})}, {}, 2});
    cases.push_back({f, {R({}), R({2})}});
  }
  cases.push_back({"xlogy", {R({2, 3}), R({3}, 0.3, 2)}, {}, 2});
  cases.push_back({"polyval", {R({3}), R({2, 2})}, {}, 2});
  return cases;
}

std::vector<Case> Statistics() {
  std::vector<Case> cases;
  for (const char* f : {"nansum", "nanmean", "aminmax", "median"}) {
    cases.push_back({f, {R({2, 3})}, {{"axes", Ints{-1}}}, 2});
    cases.push_back({f, {R({2, 4})}, {{"keepdim", true}}});
  }
  cases.push_back({"median", {R({4})}, {{"lower", true}}});
  for (const char* method : {"linear", "lower", "midpoint"}) {
    cases.push_back({"quantile", {R({2, 5})}, {{"q", 0.3}, {"axes", Ints{1}}, {"method", method}}});
  }
  const std::vector<Case> more = {
      {"cov", {R({2, 3})}, {}, 2},
      {"cov", {R({3})}, {{"correction", 0.0}}},
      {"corrcoef", {R({2, 3})}},
      {"diff", {R({2, 4})}, {{"order", 2}}},
      {"diff", {R({4, 2})}, {{"axis", 0}}},
      {"trapezoid", {R({2, 3}), R({3})}, {}, 2},
      {"trapezoid", {R({3, 2})}, {{"axis", 0}, {"dx", 0.5}}},
      {"logcumsumexp", {R({2, 5})}, {}, 2},
      {"logcumsumexp", {R({3, 2})}, {{"axis", 0}, {"reverse", true}}},
      {"softmin", {R({2, 3})}, {}, 2},
      {"local_response_norm", {R({2, 4, 2})}, {{"size", 3}, {"alpha", 0.5}}},
      {"bincount", {I({4}, {0, 2, 2, 5}), R({4})}, {{"size", 3}}},
  };
  cases.insert(cases.end(), more.begin(), more.end());
  return cases;
}

std::vector<Case> Movements() {
  return {
      {"block_diag", {R({1, 2}), R({2, 1})}},
      {"channel_shuffle", {R({1, 4, 2})}, {{"groups", 2}}},
      {"chunk", {R({5, 2})}, {{"chunks", 2}, {"axis", 0}}},
      {"diag_embed", {R({2, 3})}, {{"offset", 1}}},
      {"fold", {R({1, 4, 3})}, {{"sizes", Ints{4}}, {"kernel", Ints{2}}}},
      {"pixel_shuffle", {R({1, 4, 1, 2})}, {{"factor", 2}}},
      {"pixel_unshuffle", {R({1, 1, 2, 4})}, {{"factor", 2}}},
      {"rot90", {R({2, 3})}},
      {"rot90", {R({2, 3})}, {{"times", -2}}},
      {"unbind", {R({2, 3})}},
      {"unflatten", {R({2, 6})}, {{"sizes", Ints{2, -1}}}},
      {"masked_select", {R({2, 3}), B({2, 3}, {1, 0, 1, 1, 0, 0})}, {{"size", 4}}},
      {"index_put", {R({3, 2}), R({2, 2}), I({2}, {2, 0})}, {}, 2},
      {"index_put", {R({3, 2}), R({2}), I({3}, {2, 0, 2})}, {{"accumulate", true}}},
      {"slice_put", {R({4, 2}), R({2})}, {{"begin", Ints{1}}, {"end", Ints{3}}}, 2},
  };
}

std::vector<Case> Products() {
  std::vector<Case> cases = {
      {"cross", {R({2, 3}), R({3})}, {}, 2},
      {"dot", {R({2, 3}), R({3})}, {}, 2},
      {"kron", {R({1, 2}), R({2, 2})}, {}, 2},
      {"trace", {R({2, 3, 3})}, {{"offset", 1}}},
      {"rnn_cell", {R({2, 2}), R({2, 2}), R({2, 2}), R({2, 2}), R({2}), R({2})}, {}, 1},
      {"rnn_cell", {R({1, 2}), R({1, 2}), R({2, 2}), R({2, 2})}, {{"activation", "relu"}}},
  };
  for (double p : {1.0, 2.0, 3.0}) {
    cases.push_back({"cdist", {R({2, 3}), R({2, 3})}, {{"p", p}}, 1});
    cases.push_back({"pairwise_distance", {R({2, 3}), R({3})}, {{"p", p}}, 2});
  }
  return cases;
}

std::vector<Case> LossesAndSteps() {
  // Labels, which are not differentiated.
  const In labels = I({2, 3}, {1, -1, -1, 1, 1, -1}, DType::kFloat32);
  const In param = R({2, 2}), grad = R({2, 2}), rate = R({}, 0.1, 1);
  return {
      {"gaussian_nll_loss", {R({2, 3}), R({2, 3}), R({3}, 0.3, 2)}, {}, 2},
      {"hinge_embedding_loss", {R({2, 3}), labels}, {}, 2},
      {"margin_ranking_loss", {R({2, 3}), R({2, 3}), labels}, {{"margin", 0.3}}, 2},
      {"poisson_nll_loss", {R({2, 3}), R({2, 3}, 0, 3)}, {}, 2},
      {"poisson_nll_loss", {R({2, 3}, 0.3, 2), R({2, 3}, 0, 3)}, {{"log_input", false}}},
      {"soft_margin_loss", {R({2, 3}), R({2, 3})}, {}, 2},
      {"triplet_margin_loss", {R({2, 3}), R({2, 3}), R({2, 3})}, {{"reduction", "none"}}, 2},
      {"triplet_margin_loss", {R({2, 3}), R({2, 3}), R({2, 3})}, {{"p", 3.0}, {"margin", 5.0}}},
      {"adagrad", {param, grad, rate, R({2, 2}, 0.3, 2)}, {{"weight_decay", 0.1}}},
      {"lion", {param, grad, rate, R({2, 2})}, {{"weight_decay", 0.1}}},
  };
}

}  // namespace

std::vector<Case> FurtherCases() {
  std::vector<Case> cases = OfOneOrTwoNumbers();
  for (const std::vector<Case>& more : {Statistics(), Movements(), Products(), LossesAndSteps()}) {
    cases.insert(cases.end(), more.begin(), more.end());
  }
  return cases;
}

}  // namespace kiln::tensor::functions
