#include "tests/unit/functions/gradients/gradient_cases.h"

namespace kiln::tensor::functions {
namespace {

using Ints = std::vector<int64_t>;

// A reduction over several choices of axes.
void AddReduction(std::vector<Case>& cases, const std::string& function, double low = -2,
                  double high = 2, const std::vector<Attribute>& attributes = {}) {
  const auto with = [&](std::vector<Attribute> more) {
    more.insert(more.end(), attributes.begin(), attributes.end());
    return more;
  };
  cases.push_back({function, {R({2, 3}, low, high)}, with({{"axes", Ints{-1}}}), 2});
  cases.push_back({function, {R({2, 3}, low, high)}, attributes, 1});
  cases.push_back(
      {function, {R({2, 3, 2}, low, high)}, with({{"axes", Ints{0, -1}}, {"keepdim", true}})});
  cases.push_back({function, {R({3, 1}, low, high)}, with({{"axes", Ints{0}}})});
  cases.push_back({function, {R({2, 0}, low, high)}, with({{"axes", Ints{0}}})});
}

std::vector<Case> Reductions() {
  std::vector<Case> cases;
  for (const char* f : {"sum", "prod", "max", "min", "mean", "var", "std", "logsumexp"}) {
    AddReduction(cases, f);
  }
  AddReduction(cases, "var", -2, 2, {{"correction", 0.0}});
  AddReduction(cases, "std", -2, 2, {{"correction", 0.5}});
  for (double p : {1.0, 2.0, 3.0, 2.5, 0.5, HUGE_VAL, -HUGE_VAL}) {
    AddReduction(cases, "norm", 0.3, 2, {{"p", p}});
    AddReduction(cases, "norm", -2, -0.3, {{"p", p}});
  }
  for (const char* f : {"sum", "prod", "max", "mean", "logsumexp", "norm"}) {
    cases.push_back({f, {R({})}});  // Over no axes.
  }
  for (const char* f : {"sum", "prod"}) cases.push_back({f, {R({2, 0})}, {{"axes", Ints{1}}}});
  cases.push_back({"prod", {R({2, 20})}, {{"axes", Ints{1}}}, 1});
  for (const char* f : {"cumsum", "cumprod", "cummax", "cummin"}) {
    cases.push_back({f, {R({2, 3})}, {}, 2});
    cases.push_back({f, {R({3, 2})}, {{"axis", 0}}});
    cases.push_back({f, {R({0})}});
    cases.push_back({f, {R({1, 1})}, {{"axis", -2}}});
    if (std::string(f) != "cummin") cases.push_back({f, {R({2, 3})}, {{"reverse", true}}});
  }
  return cases;
}

std::vector<Case> Norms() {
  return {
      {"softmax", {R({2, 3})}, {}, 2},
      {"softmax", {R({3, 2})}, {{"axis", 0}}},
      {"softmax", {R({2, 1, 3})}, {{"axis", -2}}},
      {"softmax", {R({0, 3})}},
      {"log_softmax", {R({2, 3})}, {}, 2},
      {"log_softmax", {R({3, 2})}, {{"axis", 0}}},
      {"normalize", {R({2, 3})}, {}, 2},
      {"normalize", {R({3, 2})}, {{"axis", 0}, {"eps", 100.0}}},
      {"layer_norm", {R({2, 3}), R({3}), R({3})}, {}, 2},
      {"layer_norm", {R({2, 3})}},
      {"layer_norm", {R({2, 3}), None(), R({3})}},
      {"layer_norm", {R({1, 2, 2}), R({2, 2}), R({2, 2})}, {{"last_axes", 2}, {"eps", 0.1}}},
      {"layer_norm", {R({0, 3}), R({3})}},
      {"rms_norm", {R({2, 3}), R({3})}, {}, 2},
      {"rms_norm", {R({2, 3})}, {{"last_axes", 2}, {"eps", 0.1}}},
      {"group_norm", {R({2, 4, 2}), R({4}), R({4})}, {{"groups", 2}}},
      {"group_norm", {R({1, 3})}, {{"groups", 1}}, 2},
      {"instance_norm", {R({1, 2, 3}), R({2}), R({2})}, {}, 2},
      {"instance_norm", {R({2, 1, 2, 2})}},
      {"batch_norm", {R({2, 3, 2}), R({3}), R({3}, 0.4, 2), R({3}), R({3})}, {}, 1},
      {"batch_norm", {R({3, 2}), R({2}), R({2}, 0.4, 2), R({2}), R({2})}, {{"training", true}}, 2},
      {"batch_norm",
       {R({2, 2, 2}), R({2}), R({2}, 0.4, 2)},
       {{"training", true}, {"momentum", 0.3}}},
  };
}

std::vector<Case> Losses() {
  std::vector<Case> cases;
  const auto add = [&cases](const std::string& f, const In& x, const In& target,
                            std::vector<Attribute> attributes = {}) {
    for (const char* reduction : {"mean", "sum", "none"}) {
      std::vector<Attribute> with = attributes;
      with.push_back({"reduction", reduction});
      cases.push_back({f, {x, target}, with, reduction[0] == 'm' ? 2 : 1});
    }
    cases.push_back({f, {R({}, x.low, x.high), R({}, target.low, target.high)}, attributes});
  };
  add("mse_loss", R({2, 3}), R({2, 3}));
  add("l1_loss", R({2, 3}), R({3}));
  add("huber_loss", R({2, 3}), R({2, 3}));
  add("huber_loss", R({4}), R({4}), {{"delta", 0.3}});
  add("smooth_l1_loss", R({2, 3}), R({2, 3}));
  add("smooth_l1_loss", R({4}), R({4}), {{"beta", 0.3}});
  add("smooth_l1_loss", R({4}), R({4}), {{"beta", 0.0}});
  add("bce_loss", R({2, 3}, 0.1, 0.9), R({2, 3}, 0, 1));
  add("bce_with_logits_loss", R({2, 3}, -5, 5), R({2, 3}, 0, 1));
  add("kl_div", R({2, 3}), R({2, 3}, 0.1, 1));
  add("kl_div", R({2, 3}), R({2, 3}), {{"log_target", true}});
  const In classes = I({3}, {2, 0, 1});
  for (const char* reduction : {"mean", "sum", "none"}) {
    const Attribute with = {"reduction", reduction};
    cases.push_back({"cross_entropy", {R({3, 4}), classes}, {with}, 1});
    cases.push_back(
        {"cross_entropy", {R({3, 4}), classes, R({4}, 0.2, 2)}, {with, {"label_smoothing", 0.2}}});
    cases.push_back({"nll_loss", {R({3, 4}), classes, R({4}, 0.2, 2)}, {with}});
  }
  const std::vector<Case> more = {
      {"cross_entropy", {R({2, 3}), I({2}, {2, 0})}, {}, 2},
      {"cross_entropy", {R({4}), I({}, {1})}},
      {"cross_entropy", {R({3, 2}), I({3}, {1, -100, 0})}},
      {"cross_entropy", {R({2, 3, 2}), I({2, 2}, {2, 0, 1, 1})}, {{"ignore_index", 1}}},
      {"nll_loss", {R({2, 3}), I({2}, {2, 0})}, {}, 2},
      {"nll_loss", {R({3}), I({}, {1})}},
      {"nll_loss", {R({2, 3, 1}), I({2, 1}, {2, 0})}, {{"ignore_index", 0}}},
      {"cosine_similarity", {R({2, 3}), R({2, 3})}, {}, 2},
      {"cosine_similarity", {R({3, 2}), R({1, 2})}, {{"axis", 0}}},
      {"cosine_similarity", {R({2, 3}), R({2, 3})}, {{"eps", 10.0}}},
  };
  cases.insert(cases.end(), more.begin(), more.end());
  return cases;
}

}  // namespace

std::vector<Case> ReductionCases() {
  std::vector<Case> cases = Reductions();
  for (const std::vector<Case>& more : {Norms(), Losses()}) {
    cases.insert(cases.end(), more.begin(), more.end());
  }
  return cases;
}

}  // namespace kiln::tensor::functions
