// The arithmetic operations, their names, and how many operands each takes. core/uop lists them
// among its ops under the same numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace kiln::dtype {

enum class AluOp : uint8_t {
  // One operand. kCast and kBitcast change the dtype; see core/dtype/cast.h.
  kCast,
  kBitcast,
  kNeg,
  kRecip,
  kSqrt,
  kExp2,
  kLog2,
  kSin,
  kTrunc,
  // Two operands.
  kAdd,
  kSub,
  kMul,
  kFDiv,
  kIDiv,  // Truncates toward zero.
  kMod,   // Remainder of kIDiv: has the sign of the first operand.
  kMax,
  kPow,
  kCmpLt,
  kCmpNe,
  kCmpEq,
  kAnd,
  kOr,
  kXor,
  kShl,
  kShr,  // Arithmetic on signed types.
  kThreefry,
  // Three operands.
  kWhere,   // condition, if true, if false.
  kMulAcc,  // a * b + c.
};
inline constexpr int kNumAluOps = 28;
static_assert(static_cast<int>(AluOp::kMulAcc) == kNumAluOps - 1);

constexpr int NumOperands(AluOp op) {
  return op <= AluOp::kTrunc ? 1 : op <= AluOp::kThreefry ? 2 : 3;
}
constexpr bool IsComparison(AluOp op) {
  return op == AluOp::kCmpLt || op == AluOp::kCmpNe || op == AluOp::kCmpEq;
}

namespace internal {
inline constexpr std::string_view kAluOpNames[kNumAluOps] = {
    "CAST", "BITCAST", "NEG",  "RECIP", "SQRT", "EXP2",     "LOG2",  "SIN",   "TRUNC", "ADD",
    "SUB",  "MUL",     "FDIV", "IDIV",  "MOD",  "MAX",      "POW",   "CMPLT", "CMPNE", "CMPEQ",
    "AND",  "OR",      "XOR",  "SHL",   "SHR",  "THREEFRY", "WHERE", "MULACC"};
}  // namespace internal

// As in the proto and in fixtures: "ADD".
constexpr std::string_view Name(AluOp op) { return internal::kAluOpNames[static_cast<int>(op)]; }

// Null if no operation has this name.
constexpr std::optional<AluOp> ParseAluOp(std::string_view name) {
  for (int i = 0; i < kNumAluOps; ++i) {
    if (internal::kAluOpNames[i] == name) return static_cast<AluOp>(i);
  }
  return std::nullopt;
}

}  // namespace kiln::dtype
