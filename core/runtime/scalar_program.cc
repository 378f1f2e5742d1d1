#include "core/runtime/scalar_program.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/dtype/alu.h"
#include "core/dtype/cast.h"
#include "core/dtype/status.h"
#include "core/symbolic/render.h"
#include "core/uop/walk.h"

namespace kiln::runtime {
namespace {

constexpr size_t kMaxCharsInErrors = 200;

// A BIND stands for its variable: each run gives the value.
Ref SkipBind(Ref n) { return n->Is(Op::kBind) ? n->src(0) : n; }

}  // namespace

absl::StatusOr<std::vector<Scalar>> ScalarProgram::Evaluate(
    absl::Span<const int64_t> variables) const {
  std::vector<std::optional<Scalar>> values(steps_.size());
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Step& s = steps_[i];
    if (s.op == Op::kConst) {
      values[i] = s.constant;
    } else if (s.op == Op::kVariable) {
      values[i] = Scalar::Int(variables[static_cast<size_t>(s.variable)]);
    } else if (s.op == Op::kWhere) {
      const std::optional<Scalar>& condition = values[s.src[0]];
      if (condition.has_value()) values[i] = values[s.src[condition->AsBool() ? 1 : 2]];
    } else {
      std::array<Scalar, 3> operands;
      bool defined = true;
      for (int k = 0; k < s.num_src; ++k) {
        defined = defined && values[s.src[k]].has_value();
        if (defined) operands[k] = *values[s.src[k]];
      }
      if (!defined) continue;
      values[i] = s.op == Op::kCast
                      ? dtype::Cast(operands[0], s.operand, s.dtype)
                      : dtype::EvalAlu(static_cast<dtype::AluOp>(s.op), s.operand,
                                       absl::MakeConstSpan(operands.data(), s.num_src));
    }
  }
  for (const auto& [step, text] : wanted_) {
    if (!values[step].has_value()) {
      return absl::InvalidArgumentError(absl::StrCat("a size has no value within int64: ", text));
    }
  }
  std::vector<Scalar> result(steps_.size());
  for (size_t i = 0; i < steps_.size(); ++i) result[i] = values[i].value_or(Scalar());
  return result;
}

ScalarProgramBuilder::ScalarProgramBuilder(absl::Span<const std::string> variables) {
  for (size_t i = 0; i < variables.size(); ++i) variables_[variables[i]] = static_cast<int32_t>(i);
}

absl::StatusOr<SymbolicInt> ScalarProgramBuilder::Add(Ref n) {
  if (n->IsConst() && !dtype::IsFloat(n->dtype)) return SymbolicInt{.constant = n->IntValue()};
  std::vector<Ref> stack = {n};
  while (!stack.empty()) {
    const Ref top = stack.back();
    Ref missing = nullptr;
    if (steps_.Get(top) == 0) {
      if (top->Is(Op::kBind)) {
        if (steps_.Get(SkipBind(top)) == 0) missing = SkipBind(top);
      } else {
        for (Ref s : top->src()) {
          if (steps_.Get(s) == 0) missing = s;
        }
      }
    }
    if (missing != nullptr) {
      stack.push_back(missing);
      continue;
    }
    stack.pop_back();
    if (steps_.Get(top) != 0) continue;
    if (top->Is(Op::kBind)) {
      steps_[top] = steps_.Get(SkipBind(top));
      continue;
    }
    KILN_ASSIGN_OR_RETURN(ScalarProgram::Step step, StepOf(top));
    program_.steps_.push_back(step);
    steps_[top] = static_cast<int32_t>(program_.steps_.size());
  }
  const int32_t step = steps_.Get(n) - 1;
  program_.wanted_.emplace_back(step, symbolic::Render(n, kMaxCharsInErrors));
  return SymbolicInt{.step = step};
}

absl::StatusOr<ScalarProgram::Step> ScalarProgramBuilder::StepOf(Ref n) {
  const auto unfit = [n](const char* why) {
    return absl::InvalidArgumentError(
        absl::StrCat("a size ", why, ": ", symbolic::Render(n, kMaxCharsInErrors)));
  };
  ScalarProgram::Step step = {.op = n->op, .dtype = n->dtype, .operand = n->dtype};
  if (dtype::IsFloat(n->dtype) || n->dtype == DType::kVoid) return unfit("is no integer");
  if (n->Is(Op::kConst)) {
    step.constant = n->arg.scalar();
    return step;
  }
  if (n->Is(Op::kVariable)) {
    const std::string_view name = uop::VariableOf(n).name;
    const auto found = variables_.find(std::string(name));
    if (found == variables_.end())
      return unfit("depends on a variable of which the graph knows nothing");
    step.variable = found->second;
    return step;
  }
  if (!uop::IsAlu(n->op) || n->op == Op::kBitcast || n->num_src > 3) {
    return unfit("is no expression of variables");
  }
  for (Ref s : n->src()) step.src[step.num_src++] = steps_.Get(s) - 1;
  step.operand = n->src(n->num_src - 1)->dtype;
  return step;
}

}  // namespace kiln::runtime
