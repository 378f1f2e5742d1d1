#include "backends/interp/interpret.h"

#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include "backends/interp/plan.h"
#include "core/dtype/alu.h"
#include "core/dtype/cast.h"
#include "core/dtype/status.h"

namespace kiln::interp {
namespace {

static_assert(std::endian::native == std::endian::little);

Scalar ReadElement(const std::byte* from, DType d) {
  uint64_t bits = 0;
  std::memcpy(&bits, from, static_cast<size_t>(dtype::SizeBytes(d)));
  return dtype::FromBits(bits, d);
}
void WriteElement(std::byte* to, DType d, Scalar v) {
  const uint64_t bits = dtype::ToBits(v, d);
  std::memcpy(to, &bits, static_cast<size_t>(dtype::SizeBytes(d)));
}

absl::Status Bad(const Instruction& step, std::string_view what) {
  return absl::InternalError(absl::StrCat("instruction ", step.text, " ", std::string(what)));
}

}  // namespace

// The state of one run.
class Run {
 public:
  Run(const Interpreter::Plan& plan, Buffers buffers, int32_t core)
      : plan_(plan), buffers_(buffers), core_(core), values_(plan.values) {
    for (const auto& a : plan.accumulators) accumulators_.emplace_back(a.elems);
  }

  absl::Status Bind(absl::Span<const int64_t> variables) {
    if (core_ < 0 || core_ >= plan_.num_cores) {
      return absl::InvalidArgumentError(
          absl::StrCat("core ", core_, " of a program for ", plan_.num_cores));
    }
    if (buffers_.size() < plan_.buffers.size()) {
      return absl::InvalidArgumentError(absl::StrCat("program has ", plan_.buffers.size(),
                                                     " buffers, ", buffers_.size(), " are bound"));
    }
    for (size_t i = 0; i < plan_.buffers.size(); ++i) {
      const codegen::ProgramBuffer& b = plan_.buffers[i];
      const auto needed = static_cast<Int128>(b.elems) * dtype::SizeBytes(b.dtype);
      // With variables, `elems` is what the largest values need; each access is checked below.
      if (plan_.variables.empty() && static_cast<Int128>(buffers_[i].size()) < needed) {
        return absl::InvalidArgumentError(absl::StrCat("buffer ", i, " has ", buffers_[i].size(),
                                                       " bytes, program needs ", ToString(needed)));
      }
    }
    if (variables.size() != plan_.variables.size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "program has ", plan_.variables.size(), " variables, ", variables.size(), " are bound"));
    }
    for (size_t i = 0; i < variables.size(); ++i) {
      const codegen::ProgramVariable& v = plan_.variables[i];
      if (variables[i] < v.min || variables[i] > v.max) {
        return absl::InvalidArgumentError(absl::StrCat("variable ", v.name, " is ", variables[i],
                                                       ", not in [", v.min, ", ", v.max, "]"));
      }
      variables_.push_back(Scalar::Int(variables[i]));
    }
    return absl::OkStatus();
  }

  absl::Status Execute() {
    const std::vector<Instruction>& steps = plan_.instructions;
    for (size_t at = 0; at < steps.size(); ++at) {
      const Instruction& step = steps[at];
      switch (step.op) {
        case Op::kRange:
          values_[step.out.begin] = Scalar::Int(0);
          if (values_[step.in[0].At(0)].AsInt() <= 0) at = step.jump;
          break;
        case Op::kEnd: {
          const Instruction& range = steps[step.jump];
          Scalar& counter = values_[range.out.begin];
          counter = Scalar::Int(counter.AsInt() + 1);
          if (counter.AsInt() < values_[range.in[0].At(0)].AsInt()) at = step.jump;
          break;
        }
        default:
          KILN_RETURN_IF_ERROR(Do(step));
      }
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Do(const Instruction& step) {
    switch (step.op) {
      case Op::kLoad:
        for (uint32_t i = 0; i < step.lanes; ++i) KILN_RETURN_IF_ERROR(Load(step, i));
        return absl::OkStatus();
      case Op::kStore:
        for (uint32_t i = 0; i < step.lanes; ++i) KILN_RETURN_IF_ERROR(Store(step, i));
        return absl::OkStatus();
      case Op::kReduce:
        return Reduce(step);
      case Op::kVariable:
        values_[step.out.begin] = variables_[step.variable];
        return absl::OkStatus();
      case Op::kSpecial:
        values_[step.out.begin] = Scalar::Int(core_);
        return absl::OkStatus();
      default:
        for (uint32_t i = 0; i < step.lanes; ++i) KILN_RETURN_IF_ERROR(Compute(step, i));
        return absl::OkStatus();
    }
  }

  Scalar In(const Instruction& step, int operand, uint32_t lane) const {
    return values_[step.in[static_cast<size_t>(operand)].At(lane)];
  }
  Scalar& Out(const Instruction& step, uint32_t lane) { return values_[step.out.begin + lane]; }

  absl::Status Compute(const Instruction& step, uint32_t lane) {
    std::optional<Scalar> result;
    const DType from = step.in[0].dtype;
    if (step.op == Op::kCast) {
      result = dtype::Cast(In(step, 0, lane), from, step.dtype);
    } else if (step.op == Op::kBitcast) {
      result = dtype::Bitcast(In(step, 0, lane), from, step.dtype);
    } else {
      std::array<Scalar, 3> operands;
      for (size_t i = 0; i < step.in.size(); ++i) {
        operands[i] = In(step, static_cast<int>(i), lane);
      }
      const DType d = uop::IsComparison(step.op) ? from : step.dtype;
      result = dtype::EvalAlu(uop::ToAlu(step.op), d,
                              absl::MakeConstSpan(operands.data(), step.in.size()));
    }
    if (!result.has_value()) return Bad(step, "has no value");
    Out(step, lane) = *result;
    return absl::OkStatus();
  }

  absl::Status Reduce(const Instruction& step) {
    std::array<bool, codegen::kMaxLanes> begun = {};
    for (uint32_t i = 0; i < step.lanes; ++i) {
      const uint32_t to = step.to[i];
      Scalar& total = Out(step, to);
      if (!std::exchange(begun[to], true)) {
        total = In(step, 0, i);
        continue;
      }
      const std::array<Scalar, 2> operands = {total, In(step, 0, i)};
      const std::optional<Scalar> sum =
          dtype::EvalAlu(uop::ToAlu(step.reduce), step.dtype, operands);
      if (!sum.has_value()) return Bad(step, "has no value");
      total = *sum;
    }
    return absl::OkStatus();
  }

  // The element of an access; null if its gate is off.
  absl::StatusOr<std::optional<size_t>> Element(const Instruction& step, uint32_t lane) const {
    if (step.gate >= 0 && !In(step, step.gate, lane).AsBool()) return std::nullopt;
    const int64_t element = In(step, step.element, lane).AsInt();
    int64_t elems = 0;
    if (step.is_register) {
      elems = static_cast<int64_t>(plan_.accumulators[step.memory].elems);
    } else {
      const codegen::ProgramBuffer& b = plan_.buffers[step.memory];
      const auto bound =
          static_cast<int64_t>(buffers_[step.memory].size()) / dtype::SizeBytes(b.dtype);
      elems = b.elems < 0 ? bound : std::min(b.elems, bound);
    }
    if (element >= 0 && element < elems) return static_cast<size_t>(element);
    return Bad(step, absl::StrCat("accesses element ", element, " of ", elems, " of ",
                                  step.is_register ? "accumulator " : "buffer ", step.memory));
  }

  std::byte* Address(const Instruction& step, size_t element) const {
    const auto size = static_cast<size_t>(dtype::SizeBytes(plan_.buffers[step.memory].dtype));
    return buffers_[step.memory].data() + element * size;
  }

  absl::Status Load(const Instruction& step, uint32_t lane) {
    KILN_ASSIGN_OR_RETURN(const std::optional<size_t> element, Element(step, lane));
    if (!element.has_value()) {
      Out(step, lane) = step.data >= 0 ? In(step, step.data, lane) : Scalar();
    } else if (!step.is_register) {
      Out(step, lane) = ReadElement(Address(step, *element), step.dtype);
    } else {
      const std::optional<Scalar>& v = accumulators_[step.memory][*element];
      if (!v.has_value()) return Bad(step, "reads an element that was not written");
      Out(step, lane) = *v;
    }
    return absl::OkStatus();
  }

  absl::Status Store(const Instruction& step, uint32_t lane) {
    KILN_ASSIGN_OR_RETURN(const std::optional<size_t> element, Element(step, lane));
    if (!element.has_value()) return absl::OkStatus();
    const Scalar v = In(step, step.data, lane);
    if (step.is_register) {
      accumulators_[step.memory][*element] = v;
    } else {
      WriteElement(Address(step, *element), plan_.buffers[step.memory].dtype, v);
    }
    return absl::OkStatus();
  }

  const Interpreter::Plan& plan_;
  Buffers buffers_;
  int32_t core_;
  std::vector<Scalar> values_;
  std::vector<Scalar> variables_;
  std::vector<std::vector<std::optional<Scalar>>> accumulators_;
};

Interpreter::Interpreter(std::unique_ptr<const Plan> plan) : plan_(std::move(plan)) {}
Interpreter::Interpreter(Interpreter&&) noexcept = default;
Interpreter& Interpreter::operator=(Interpreter&&) noexcept = default;
Interpreter::~Interpreter() = default;

absl::Status Interpreter::Run(Buffers buffers, absl::Span<const int64_t> variables,
                              int32_t core) const {
  interp::Run run(*plan_, buffers, core);
  KILN_RETURN_IF_ERROR(run.Bind(variables));
  return run.Execute();
}

absl::Status Interpret(Graph& g, const codegen::Program& program, Buffers buffers,
                       absl::Span<const int64_t> variables) {
  KILN_ASSIGN_OR_RETURN(const Interpreter interpreter, Interpreter::Create(g, program));
  for (int32_t core = 0; core < program.num_cores; ++core) {
    KILN_RETURN_IF_ERROR(interpreter.Run(buffers, variables, core));
  }
  return absl::OkStatus();
}

}  // namespace kiln::interp
