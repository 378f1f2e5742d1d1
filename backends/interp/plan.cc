#include "backends/interp/plan.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include "core/dtype/status.h"
#include "core/uop/facts.h"
#include "core/uop/node_map.h"
#include "core/uop/text.h"

namespace kiln::interp {

// Makes a Plan of a program. Confined to the compile job.
class Planner {
 public:
  Planner(Graph& g, const codegen::Program& program) : g_(g), program_(program) {
    plan_->buffers = program.buffers;
    plan_->variables = program.variables;
    plan_->num_cores = program.num_cores;
  }

  absl::StatusOr<Interpreter> Run() {
    for (Ref n : program_.linear->src()) {
      KILN_RETURN_IF_ERROR(Add(n));
    }
    return Interpreter(std::move(plan_));
  }

 private:
  using Lanes = codegen::Lanes;

  static int64_t Count(const Lanes& lanes) {
    int64_t count = 1;
    for (Ref r : lanes) count *= r->src(0)->IntValue();
    return count;
  }

  Value NewValue(int64_t lanes) {
    const Value v = {static_cast<uint32_t>(plan_->values.size()), static_cast<uint32_t>(lanes)};
    plan_->values.resize(plan_->values.size() + static_cast<size_t>(lanes));
    return v;
  }

  // The value of a source; constants and lane counters get theirs when they are first met.
  absl::StatusOr<Value> ValueOf(Ref n) {
    if (const Value* known = known_.Get(n) == 0 ? nullptr : &values_[known_.Get(n) - 1u];
        known != nullptr) {
      return *known;
    }
    Value v;
    if (n->IsConst()) {
      v = NewValue(1);
      plan_->values[v.begin] = n->arg.scalar();
    } else if (codegen::IsLane(n)) {
      v = NewValue(n->src(0)->IntValue());
      for (uint32_t i = 0; i < v.lanes; ++i) {
        plan_->values[v.begin + i] = Scalar::Int(static_cast<int64_t>(i));
      }
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("instruction ", uop::Excerpt(n), " is no value"));
    }
    Keep(n, v);
    return v;
  }

  void Keep(Ref n, Value v) {
    values_.push_back(v);
    known_[n] = static_cast<uint32_t>(values_.size());
  }

  // For each combination of `lanes`, the number of the one of `own` that is part of it.
  static std::vector<uint16_t> Map(const Lanes& lanes, const Lanes& own) {
    const int64_t count = Count(lanes);
    std::vector<uint16_t> map(static_cast<size_t>(count), 0);
    int64_t stride = 1, inner = 1;
    for (auto r = lanes.rbegin(); r != lanes.rend(); ++r) {
      const int64_t size = (*r)->src(0)->IntValue();
      if (std::find(own.begin(), own.end(), *r) != own.end()) {
        for (int64_t i = 0; i < count; ++i) {
          map[static_cast<size_t>(i)] =
              static_cast<uint16_t>(map[static_cast<size_t>(i)] + i / inner % size * stride);
        }
        stride *= size;
      }
      inner *= size;
    }
    return map;
  }

  absl::StatusOr<Operand> OperandOf(Ref n, const Lanes& lanes) {
    Operand operand;
    KILN_ASSIGN_OR_RETURN(operand.value, ValueOf(n));
    operand.dtype = n->dtype;
    if (operand.value.lanes > 1) operand.lane = Map(lanes, codegen::LanesOf(g_, n));
    return operand;
  }

  absl::Status AddOperand(Instruction& step, Ref n, const Lanes& lanes, int* index = nullptr) {
    if (index != nullptr) *index = static_cast<int>(step.in.size());
    KILN_ASSIGN_OR_RETURN(Operand operand, OperandOf(n, lanes));
    step.in.push_back(std::move(operand));
    return absl::OkStatus();
  }

  absl::Status Add(Ref n) {
    // Places are part of their accesses, and orders of the list.
    if (n->Is(Op::kIndex) || n->Is(Op::kAfter)) return absl::OkStatus();
    Instruction step = {.op = n->op, .dtype = n->dtype, .text = uop::Excerpt(n)};
    const Lanes lanes = codegen::LanesOf(g_, n);
    if (Count(lanes) > codegen::kMaxLanes) return absl::InvalidArgumentError("too many lanes");
    step.lanes = static_cast<uint32_t>(Count(lanes));
    if (uop::IsAlu(n->op)) {
      for (Ref s : n->src()) KILN_RETURN_IF_ERROR(AddOperand(step, s, lanes));
    } else {
      KILN_RETURN_IF_ERROR(AddOther(n, lanes, step));
    }
    if (n->dtype != DType::kVoid) {
      step.out = NewValue(Count(lanes));
      Keep(n, step.out);
    }
    plan_->instructions.push_back(std::move(step));
    return absl::OkStatus();
  }

  absl::Status AddOther(Ref n, const Lanes& lanes, Instruction& step) {
    switch (n->op) {
      case Op::kLoad:
      case Op::kStore:
        return AddAccess(n, lanes, step);
      case Op::kReduce: {
        const Lanes from = codegen::LanesOf(g_, n->src(0));
        Lanes all = from;  // A lane that the operand has not is reduced all the same.
        for (Ref r : n->src().subspan(1)) {
          if (std::find(all.begin(), all.end(), r) == all.end()) all.push_back(r);
        }
        step.lanes = static_cast<uint32_t>(Count(all));
        step.to = Map(all, lanes);
        step.reduce = n->arg.reduce().op;
        return AddOperand(step, n->src(0), all);
      }
      case Op::kRange:
        begins_[n] = static_cast<uint32_t>(plan_->instructions.size());
        return AddOperand(step, n->src(0), lanes);
      case Op::kEnd: {
        step.jump = begins_.Get(n->src().back());
        plan_->instructions[step.jump].jump = static_cast<uint32_t>(plan_->instructions.size());
        return absl::OkStatus();
      }
      case Op::kVariable: {
        const std::string name(uop::VariableOf(n).name);
        const auto at = std::find_if(plan_->variables.begin(), plan_->variables.end(),
                                     [&](const auto& v) { return v.name == name; });
        if (at == plan_->variables.end()) {
          return absl::InvalidArgumentError(absl::StrCat("variable ", name, " is not declared"));
        }
        step.variable = static_cast<uint32_t>(at - plan_->variables.begin());
        return absl::OkStatus();
      }
      case Op::kSpecial:
        if (n->arg.payload().text == "core") return absl::OkStatus();
        [[fallthrough]];
      default:
        return absl::UnimplementedError(
            absl::StrCat("the interpreter has no instruction ", uop::Excerpt(n)));
    }
  }

  absl::Status AddAccess(Ref n, const Lanes& lanes, Instruction& step) {
    Ref place = n->src(0);
    Ref memory = place->src(0);
    while (memory->Is(Op::kAfter)) memory = memory->src(0);
    const uop::ParamInfo param = uop::ParamOf(memory);
    step.is_register = param.space == uop::AddressSpace::kRegister;
    if (step.is_register) {
      auto [at, is_new] = accumulators_.try_emplace(param.number, plan_->accumulators.size());
      if (param.elems < 1 || param.elems > codegen::kMaxLanes) {
        return absl::InvalidArgumentError("an accumulator of no or too many elements");
      }
      if (is_new) plan_->accumulators.push_back({memory->dtype, static_cast<size_t>(param.elems)});
      step.memory = static_cast<uint32_t>(at->second);
    } else if (param.space != uop::AddressSpace::kGlobal || param.number < 0 ||
               param.number >= static_cast<int64_t>(plan_->buffers.size())) {
      return absl::InvalidArgumentError(absl::StrCat("no buffer: ", uop::Excerpt(memory)));
    } else {
      step.memory = static_cast<uint32_t>(param.number);
    }
    KILN_RETURN_IF_ERROR(AddOperand(step, place->src(1), lanes, &step.element));
    if (place->num_src > 2) {
      KILN_RETURN_IF_ERROR(AddOperand(step, place->src(2), lanes, &step.gate));
    }
    if (n->num_src > 1 && n->src(1)->dtype != DType::kVoid) {
      KILN_RETURN_IF_ERROR(AddOperand(step, n->src(1), lanes, &step.data));
    }
    if (n->Is(Op::kStore)) {
      for (Ref s : n->src().subspan(2)) {
        return absl::UnimplementedError(absl::StrCat("a store with ", uop::Excerpt(s)));
      }
    }
    return absl::OkStatus();
  }

  Graph& g_;
  const codegen::Program& program_;
  std::unique_ptr<Interpreter::Plan> plan_ = std::make_unique<Interpreter::Plan>();
  std::vector<Value> values_;
  uop::NodeMap<uint32_t> known_;   // In values_, from 1.
  uop::NodeMap<uint32_t> begins_;  // Of a loop: where its RANGE is.
  absl::flat_hash_map<int64_t, size_t> accumulators_;
};

absl::StatusOr<Interpreter> Interpreter::Create(Graph& g, const codegen::Program& program) {
  return Planner(g, program).Run();
}

}  // namespace kiln::interp
