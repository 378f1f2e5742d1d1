#include "core/dtype/alu.h"

#include <array>

#include "core/dtype/alu_kinds.h"

namespace kiln::dtype {

bool IsDefined(AluOp op, DType d) {
  if (d == DType::kVoid) return false;
  switch (op) {
    case AluOp::kCast:
    case AluOp::kBitcast:
      return false;
    case AluOp::kRecip:
    case AluOp::kSqrt:
    case AluOp::kExp2:
    case AluOp::kLog2:
    case AluOp::kSin:
    case AluOp::kFDiv:
      return IsFloat(d);
    case AluOp::kNeg:
    case AluOp::kTrunc:
    case AluOp::kSub:
    case AluOp::kPow:
      return d != DType::kBool;
    case AluOp::kIDiv:
    case AluOp::kMod:
    case AluOp::kShl:
    case AluOp::kShr:
      return IsInteger(d);
    case AluOp::kAnd:
    case AluOp::kOr:
    case AluOp::kXor:
      return !IsFloat(d);
    case AluOp::kThreefry:
      return d == DType::kUInt64;
    case AluOp::kAdd:
    case AluOp::kMul:
    case AluOp::kMax:
    case AluOp::kCmpLt:
    case AluOp::kCmpNe:
    case AluOp::kCmpEq:
    case AluOp::kWhere:
    case AluOp::kMulAcc:
      return true;
  }
  return false;
}

std::optional<Scalar> EvalAlu(AluOp op, DType d, absl::Span<const Scalar> operands) {
  if (!IsDefined(op, d) || operands.size() != static_cast<size_t>(NumOperands(op))) {
    return std::nullopt;
  }
  if (op == AluOp::kWhere) return operands[0].AsBool() ? operands[1] : operands[2];
  if (IsFloat(d)) return internal::EvalFloat(op, d, operands);
  if (d != DType::kIndex) return internal::EvalFixedWidth(op, d, operands);
  std::array<Int128, 3> wide;
  for (size_t i = 0; i < operands.size(); ++i) wide[i] = operands[i].AsInt();
  const std::optional<Int128> result =
      EvalWide(op, absl::MakeConstSpan(wide.data(), operands.size()));
  if (!result.has_value() || !FitsInt64(*result)) return std::nullopt;
  return Scalar::Int(static_cast<int64_t>(*result));
}

}  // namespace kiln::dtype
