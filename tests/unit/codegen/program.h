// Fast evaluation of one expression for many values.
#pragma once

#include <array>
#include <vector>

#include "absl/types/span.h"

#include "core/dtype/alu.h"
#include "core/dtype/cast.h"
#include "core/dtype/check.h"
#include "core/uop/node_map.h"
#include "core/uop/walk.h"

namespace kiln::codegen {

// The elementwise ops below a root as a list of instructions, run by dtype::EvalAlu. Independent of
// symbolic::Evaluate.
class Program {
 public:
  // `inputs` are nodes whose values will be given; everything else is made of them and of
  // constants.
  Program(Ref root, absl::Span<const Ref> inputs) {
    uop::NodeMap<int> slots;
    for (Ref input : inputs) {
      slots[input] = static_cast<int>(values_.size()) + 1;
      values_.emplace_back();
    }
    num_inputs_ = values_.size();
    for (Ref n : uop::Toposort(root)) {
      if (slots.Get(n) != 0) continue;
      if (!n->IsConst() && !uop::IsAlu(n->op)) continue;  // Below an input.
      slots[n] = static_cast<int>(values_.size()) + 1;
      values_.push_back(n->arg.scalar());
      if (n->IsConst()) continue;
      Instruction step = {
          n->op,
          n->dtype,
          n->src(n->num_src == 1 || uop::IsComparison(n->op) ? 0 : n->num_src - 1)->dtype,
          n->num_src,
          {},
          values_.size() - 1};
      for (int i = 0; i < n->num_src; ++i) {
        KILN_CHECK(slots.Get(n->src(i)) != 0);
        step.src[static_cast<size_t>(i)] = static_cast<size_t>(slots.Get(n->src(i)) - 1);
      }
      steps_.push_back(step);
    }
    result_ = static_cast<size_t>(slots.Get(root) - 1);
  }

  Scalar operator()(Scalar x) { return Run({x}); }
  Scalar operator()(Scalar x, Scalar y) { return Run({x, y}); }

 private:
  struct Instruction {
    Op op;
    DType dtype, operand;
    int num_src;
    std::array<size_t, 3> src;
    size_t result;
  };

  Scalar Run(std::initializer_list<Scalar> inputs) {
    KILN_CHECK(inputs.size() == num_inputs_);
    std::copy(inputs.begin(), inputs.end(), values_.begin());
    for (const Instruction& step : steps_) {
      std::array<Scalar, 3> operands;
      for (int i = 0; i < step.num_src; ++i)
        operands[static_cast<size_t>(i)] = values_[step.src[static_cast<size_t>(i)]];
      values_[step.result] =
          Value(step, absl::MakeConstSpan(operands.data(), static_cast<size_t>(step.num_src)));
    }
    return values_[result_];
  }

  static Scalar Value(const Instruction& step, absl::Span<const Scalar> operands) {
    if (step.op == Op::kCast) return *dtype::Cast(operands[0], step.operand, step.dtype);
    if (step.op == Op::kBitcast) return *dtype::Bitcast(operands[0], step.operand, step.dtype);
    return *dtype::EvalAlu(uop::ToAlu(step.op), step.operand, operands);
  }

  std::vector<Scalar> values_;
  std::vector<Instruction> steps_;
  size_t num_inputs_ = 0, result_ = 0;
};

}  // namespace kiln::codegen
