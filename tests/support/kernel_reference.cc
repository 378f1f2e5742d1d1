#include "tests/support/kernel_reference.h"

#include <array>
#include <limits>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include "core/dtype/alu.h"
#include "core/dtype/cast.h"
#include "core/dtype/status.h"
#include "core/uop/text.h"

namespace kiln::support {
namespace {

// NOLINTBEGIN(misc-no-recursion): kernels of tests are small.

class Evaluator {
 public:
  Evaluator(const std::map<std::string, int64_t>& variables, const Contents& contents)
      : variables_(variables), contents_(contents) {}

  std::map<Ref, int64_t> counters;

  absl::StatusOr<Scalar> Value(Ref n) {
    switch (n->op) {
      case Op::kConst:
        return n->arg.scalar();
      case Op::kRange:
        return Scalar::Int(counters.at(n));
      case Op::kVariable:
        return Scalar::Int(variables_.at(std::string(uop::VariableOf(n).name)));
      case Op::kLoad:
        return Load(n);
      case Op::kReduce:
        return Reduce(n);
      case Op::kWhere: {
        KILN_ASSIGN_OR_RETURN(const Scalar c, Value(n->src(0)));
        return Value(n->src(c.AsBool() ? 1 : 2));
      }
      default:
        return Elementwise(n);
    }
  }

  // The element that a place names; null if its gate is off.
  absl::StatusOr<std::optional<size_t>> Element(Ref place) {
    if (place->num_src > 2) {
      KILN_ASSIGN_OR_RETURN(const Scalar gate, Value(place->src(2)));
      if (!gate.AsBool()) return std::nullopt;
    }
    KILN_ASSIGN_OR_RETURN(const Scalar element, Value(place->src(1)));
    const auto& buffer = contents_[static_cast<size_t>(uop::ParamOf(place->src(0)).number)];
    if (element.AsInt() < 0 || element.AsInt() >= static_cast<int64_t>(buffer.size())) {
      return absl::InvalidArgumentError(
          absl::StrCat("element ", element.AsInt(), " of ", uop::Excerpt(place)));
    }
    return static_cast<size_t>(element.AsInt());
  }

  // Calls `body` for each combination of the counters of `ranges`, outermost first.
  template <typename Body>
  absl::Status ForEach(absl::Span<const Ref> ranges, Body body) {
    if (ranges.empty()) return body();
    KILN_ASSIGN_OR_RETURN(const Scalar end, Value(ranges[0]->src(0)));
    for (int64_t i = 0; i < end.AsInt(); ++i) {
      counters[ranges[0]] = i;
      KILN_RETURN_IF_ERROR(ForEach(ranges.subspan(1), body));
    }
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<Scalar> Load(Ref n) {
    KILN_ASSIGN_OR_RETURN(const std::optional<size_t> element, Element(n->src(0)));
    if (!element.has_value()) return n->num_src > 1 ? Value(n->src(1)) : Scalar();
    return contents_[static_cast<size_t>(uop::ParamOf(n->src(0)->src(0)).number)][*element];
  }

  absl::StatusOr<Scalar> Reduce(Ref n) {
    const Op by = n->arg.reduce().op;
    const std::map<Ref, int64_t> outside = counters;
    std::optional<Scalar> total;
    KILN_RETURN_IF_ERROR(ForEach(n->src().subspan(1), [&]() -> absl::Status {
      KILN_ASSIGN_OR_RETURN(const Scalar v, Value(n->src(0)));
      const std::array<Scalar, 2> operands = {total.value_or(v), v};
      total = total.has_value() ? dtype::EvalAlu(uop::ToAlu(by), n->dtype, operands) : v;
      return absl::OkStatus();
    }));
    counters = outside;
    if (total.has_value()) return *total;
    if (by != Op::kMax)
      return *dtype::Cast(Scalar::Int(by == Op::kMul ? 1 : 0), DType::kInt64, n->dtype);
    if (!dtype::IsFloat(n->dtype))
      return Scalar::Int(static_cast<int64_t>(dtype::MinValue(n->dtype)));
    return Scalar::Float(-std::numeric_limits<double>::infinity());
  }

  absl::StatusOr<Scalar> Elementwise(Ref n) {
    std::vector<Scalar> operands;
    for (Ref s : n->src()) {
      KILN_ASSIGN_OR_RETURN(const Scalar v, Value(s));
      operands.push_back(v);
    }
    std::optional<Scalar> result;
    const DType from = n->src(0)->dtype;
    if (n->Is(Op::kCast)) {
      result = dtype::Cast(operands[0], from, n->dtype);
    } else if (n->Is(Op::kBitcast)) {
      result = dtype::Bitcast(operands[0], from, n->dtype);
    } else if (uop::IsAlu(n->op)) {
      result =
          dtype::EvalAlu(uop::ToAlu(n->op), uop::IsComparison(n->op) ? from : n->dtype, operands);
    }
    if (result.has_value()) return *result;
    return absl::InvalidArgumentError(absl::StrCat("no value: ", uop::Excerpt(n)));
  }

  const std::map<std::string, int64_t>& variables_;
  const Contents& contents_;
};

// NOLINTEND(misc-no-recursion)

}  // namespace

absl::Status RunKernel(Ref kernel, const std::map<std::string, int64_t>& variables,
                       Contents& contents) {
  const Contents before = contents;
  for (Ref store : kernel->src()) {
    Evaluator evaluator(variables, before);
    const absl::Span<const Ref> ranges = store->src().subspan(2);
    KILN_RETURN_IF_ERROR(evaluator.ForEach(ranges, [&]() -> absl::Status {
      KILN_ASSIGN_OR_RETURN(const std::optional<size_t> element, evaluator.Element(store->src(0)));
      if (!element.has_value()) return absl::OkStatus();
      KILN_ASSIGN_OR_RETURN(const Scalar v, evaluator.Value(store->src(1)));
      contents[static_cast<size_t>(uop::ParamOf(store->src(0)->src(0)).number)][*element] = v;
      return absl::OkStatus();
    }));
  }
  return absl::OkStatus();
}

}  // namespace kiln::support
