#include "tests/unit/gradient/gradient_check.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include "core/dtype/cast.h"
#include "core/dtype/status.h"
#include "core/rewrite/specs.h"
#include "core/symbolic/evaluate.h"
#include "core/tensor/gradient/gradient.h"
#include "core/uop/facts.h"
#include "core/uop/text.h"
#include "core/uop/walk.h"
#include "tests/support/random.h"
#include "tests/support/tensor_alu.h"
#include "tests/support/tensor_evaluator.h"

namespace kiln::support {
namespace {

using tensor::TensorGraph;

std::vector<std::byte> ToBytes(const std::vector<double>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(double));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}
std::vector<double> FromBytes(const std::vector<std::byte>& bytes) {
  std::vector<double> values(bytes.size() / sizeof(double));
  if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

class Checker {
 public:
  Checker(TensorGraph graph, const GradientCheck& check)
      : graph_(std::move(graph)), check_(check), random_(check.seed) {
    run_.var_vals = check.var_vals;
  }
  Ref y() const { return graph_.sink->src(0); }
  Graph& g() { return *graph_.graph; }
  const std::vector<Ref>& xs() const { return xs_; }

  absl::Status Bind() {
    for (Ref n : uop::Toposort(graph_.sink)) {
      if (!n->Is(Op::kInput)) continue;
      KILN_RETURN_IF_ERROR(Fill(n));
      if (n->dtype == DType::kFloat64) xs_.push_back(n);
    }
    std::sort(xs_.begin(), xs_.end(),
              [](Ref a, Ref b) { return a->arg.integer() < b->arg.integer(); });
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<std::vector<double>>> Values(const std::vector<Ref>& outputs) {
    graph_.sink = g().Make(Op::kSink, DType::kVoid, outputs);
    KILN_RETURN_IF_ERROR(rewrite::Verify(g(), graph_.sink, rewrite::kTensorSpec));
    KILN_ASSIGN_OR_RETURN(const TensorResults results, EvaluateTensors(graph_, run_));
    std::vector<std::vector<double>> values;
    for (const TensorArray& a : results.outputs) values.push_back(FromBytes(a.bytes));
    return values;
  }

  absl::Status Check(Ref y, int order) {
    if (order == 0 || y->dtype != DType::kFloat64) return absl::OkStatus();
    KILN_ASSIGN_OR_RETURN(const absl::Span<const Ref> shape, uop::ShapeOf(g(), y));
    Ref seed = g().Make(Op::kInput, DType::kFloat64, shape, Arg::Int(1000 + num_seeds_++));
    KILN_RETURN_IF_ERROR(Fill(seed));
    KILN_ASSIGN_OR_RETURN(const std::vector<Ref> grads, tensor::Gradients(g(), y, seed, xs_));
    KILN_ASSIGN_OR_RETURN(const auto values, Values(grads));
    for (size_t i = 0; i < xs_.size(); ++i) {
      KILN_RETURN_IF_ERROR(Compare(y, seed, xs_[i], grads[i], values[i]));
    }
    for (Ref grad : grads) {
      KILN_RETURN_IF_ERROR(Check(grad, order - 1));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Fill(Ref input) {
    int64_t elems = 1;
    symbolic::Bindings bindings;
    for (const auto& [name, value] : check_.var_vals) {
      bindings.variables.emplace(name, Scalar::Int(value));
    }
    for (Ref d : input->src()) {
      KILN_ASSIGN_OR_RETURN(const Scalar size, symbolic::Evaluate(g(), d, bindings));
      elems *= size.AsInt();
    }
    const int64_t slot = input->arg.integer();
    std::vector<double> values;
    if (const auto it = check_.values.find(slot); it != check_.values.end()) {
      values = it->second;
      if (static_cast<int64_t>(values.size()) != elems) {
        return absl::InvalidArgumentError(absl::StrCat("slot ", slot, " has ", elems, " elements"));
      }
    }
    while (static_cast<int64_t>(values.size()) < elems) values.push_back(Number(slot));
    if (input->dtype == DType::kFloat64) {
      run_.inputs[slot] = ToBytes(values);
      return absl::OkStatus();
    }
    // Of other dtypes, unless given: 0, 1, 2, and not more.
    const bool is_given = check_.values.contains(slot);
    const auto size = static_cast<size_t>(dtype::SizeBytes(input->dtype));
    Bytes bytes(values.size() * size);
    for (size_t i = 0; i < values.size(); ++i) {
      const int64_t v = is_given ? static_cast<int64_t>(values[i])
                                 : random_.Uniform(0, input->dtype == DType::kBool ? 1 : 2);
      StoreElement(bytes, input->dtype, static_cast<int64_t>(i),
                   dtype::Cast(Scalar::Int(v), DType::kInt64, input->dtype).value_or(Scalar()));
    }
    run_.inputs[slot] = bytes;
    return absl::OkStatus();
  }

  double Number(int64_t slot) {
    const double unit = static_cast<double>(random_.Uniform(0, 1 << 30)) / (1 << 30);
    const auto it = check_.limits.find(slot);
    const auto [low, high] =
        it == check_.limits.end() ? std::pair(check_.low, check_.high) : it->second;
    return low + unit * (high - low);
  }

  absl::StatusOr<double> Weighted(Ref y, Ref seed) {
    KILN_ASSIGN_OR_RETURN(const auto values, Values({y, seed}));
    double sum = 0;
    for (size_t i = 0; i < values[0].size(); ++i) {
      if (values[1][i] != 0) sum += values[0][i] * values[1][i];
    }
    return sum;
  }

  struct Difference {
    double slope;
    double doubt;  // How far it may be off.
  };
  // By Richardson's extrapolation: no error below the fifth derivative.
  absl::StatusOr<Difference> Slope(Ref y, Ref seed, Ref x, size_t i, double step) {
    auto& bytes = run_.inputs.at(x->arg.integer());
    const std::vector<double> at = FromBytes(bytes);
    std::array<double, 2> slope;
    double largest = 1;
    for (size_t halved = 0; halved < 2; ++halved) {
      const double h = (halved == 0 ? step : step / 2) * std::max(1.0, std::fabs(at[i]));
      std::vector<double> moved = at;
      moved[i] = at[i] + h;
      bytes = ToBytes(moved);
      KILN_ASSIGN_OR_RETURN(const double above, Weighted(y, seed));
      moved[i] = at[i] - h;
      bytes = ToBytes(moved);
      KILN_ASSIGN_OR_RETURN(const double below, Weighted(y, seed));
      bytes = ToBytes(at);
      slope[halved] = (above - below) / (2 * h);
      largest = std::max({largest, std::fabs(above), std::fabs(slope[halved])});
    }
    // Rounding weighs the more the smaller the step.
    return Difference{(4 * slope[1] - slope[0]) / 3,
                      0.1 * std::fabs(slope[1] - slope[0]) + 1e-14 * largest / step};
  }

  absl::Status Compare(Ref y, Ref seed, Ref x, Ref grad, const std::vector<double>& values) {
    const size_t elems = FromBytes(run_.inputs.at(x->arg.integer())).size();
    if (elems != values.size()) {
      return absl::InternalError(
          absl::StrCat("the gradient has ", values.size(), " elements, not ", elems));
    }
    for (size_t i = 0; i < elems; ++i) {
      Difference d{};
      bool agrees = false;
      // A large step may cross a kink of MAX or WHERE; a wrong gradient is wrong with any step.
      for (double step : {1e-3, 1e-4, 1e-6}) {
        KILN_ASSIGN_OR_RETURN(d, Slope(y, seed, x, i, step));
        const double allowed = check_.tolerance * std::max(1.0, std::fabs(d.slope)) + d.doubt;
        agrees = std::fabs(d.slope - values[i]) <= allowed;
        if (agrees) break;
      }
      if (agrees) continue;
      return absl::InternalError(absl::StrCat("d y / d slot ", x->arg.integer(), "[", i, "] is ",
                                              values[i], ", by differences ", d.slope,
                                              "; y: ", uop::ToText(y).substr(0, 2000),
                                              "\ngradient: ", uop::ToText(grad).substr(0, 4000)));
    }
    return absl::OkStatus();
  }

  TensorGraph graph_;
  const GradientCheck& check_;
  Random random_;
  TensorRun run_;
  std::vector<Ref> xs_;
  int64_t num_seeds_ = 0;
};

absl::StatusOr<TensorGraph> Built(const BuildFn& build) {
  tensor::GraphBuilder b;
  const absl::StatusOr<tensor::Value> y = build(b);
  return std::move(b).Finish({y});
}

}  // namespace

testing::AssertionResult GradientsAreRight(const BuildFn& build, const GradientCheck& check) {
  const absl::Status status = [&]() -> absl::Status {
    KILN_ASSIGN_OR_RETURN(TensorGraph graph, Built(build));
    Checker checker(std::move(graph), check);
    KILN_RETURN_IF_ERROR(checker.Bind());
    return checker.Check(checker.y(), check.order);
  }();
  if (status.ok()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << status;
}

std::vector<std::vector<double>> GradientsAt(const BuildFn& build,
                                             const std::map<int64_t, std::vector<double>>& values,
                                             const std::map<std::string, int64_t>& var_vals) {
  const GradientCheck check = {.values = values, .var_vals = var_vals};
  const auto result = [&]() -> absl::StatusOr<std::vector<std::vector<double>>> {
    KILN_ASSIGN_OR_RETURN(TensorGraph graph, Built(build));
    Checker checker(std::move(graph), check);
    KILN_RETURN_IF_ERROR(checker.Bind());
    KILN_ASSIGN_OR_RETURN(const std::vector<Ref> grads,
                          tensor::Gradients(checker.g(), checker.y(), nullptr, checker.xs()));
    return checker.Values(grads);
  }();
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *result : std::vector<std::vector<double>>();
}

}  // namespace kiln::support
