#include <bit>

#include "core/dtype/alu.h"
#include "core/dtype/alu_kinds.h"
#include "core/dtype/cast.h"

namespace kiln::dtype {
namespace {

// Threefry-2x32 with 20 rounds; low word first in counter, key and result.
// Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
uint64_t Threefry(uint64_t counter, uint64_t key) {
  constexpr int kRotations[8] = {13, 15, 26, 6, 17, 29, 16, 24};
  const uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  const uint32_t keys[3] = {k0, k1, k0 ^ k1 ^ 0x1BD11BDA};
  uint32_t x0 = static_cast<uint32_t>(counter) + k0;
  uint32_t x1 = static_cast<uint32_t>(counter >> 32) + k1;
  for (uint32_t round = 0; round < 20; ++round) {
    x0 += x1;
    x1 = std::rotl(x1, kRotations[round % 8]) ^ x0;
    if (round % 4 != 3) continue;
    const uint32_t injection = round / 4 + 1;
    x0 += keys[injection % 3];
    x1 += keys[(injection + 1) % 3] + injection;
  }
  return uint64_t{x1} << 32 | x0;
}

// Value of base ** -n for n > 0, truncated; x / 0 = 0.
template <typename T>
T NegativePower(T base, bool odd) {
  if (base == 1) return 1;
  if (base == -1) return odd ? -1 : 1;
  return 0;
}

uint64_t WrappingPower(uint64_t base, uint64_t exponent) {
  uint64_t result = 1;
  for (; exponent != 0; exponent >>= 1, base *= base) {
    if (exponent & 1) result *= base;
  }
  return result;
}

std::optional<Int128> Add(Int128 a, Int128 b) {
  Int128 result;
  if (__builtin_add_overflow(a, b, &result)) return std::nullopt;
  return result;
}

std::optional<Int128> Sub(Int128 a, Int128 b) {
  Int128 result;
  if (__builtin_sub_overflow(a, b, &result)) return std::nullopt;
  return result;
}

std::optional<Int128> Mul(Int128 a, Int128 b) {
  Int128 result;
  if (__builtin_mul_overflow(a, b, &result)) return std::nullopt;
  return result;
}

std::optional<Int128> Power(Int128 base, Int128 exponent) {
  if (exponent < 0) return NegativePower(base, exponent % 2 != 0);
  Int128 result = 1;
  while (true) {
    if (exponent & 1 && __builtin_mul_overflow(result, base, &result)) return std::nullopt;
    exponent >>= 1;
    if (exponent == 0) return result;
    if (__builtin_mul_overflow(base, base, &base)) return std::nullopt;
  }
}

std::optional<Int128> ShiftLeft(Int128 a, Int128 n) {
  if (n < 0 || a == 0) return 0;
  if (n > 126) return std::nullopt;  // NOTE: also refuses -1 << 127, which would fit.
  return Mul(a, Int128{1} << static_cast<int>(n));
}

}  // namespace

namespace internal {

Scalar EvalFixedWidth(AluOp op, DType d, absl::Span<const Scalar> operands) {
  // Wrapping arithmetic is the same for signed and unsigned: the low bits of what 64-bit words
  // give. Where the sign matters, canonical form makes the words comparable, as int64 or as uint64.
  const bool is_signed = IsSigned(d);
  const uint64_t a = operands[0].bits();
  const uint64_t b = operands.size() > 1 ? operands[1].bits() : 0;
  const int64_t sa = static_cast<int64_t>(a), sb = static_cast<int64_t>(b);
  const auto wrap = [d](uint64_t bits) { return FromBits(bits, d); };
  // Shifts out of range count as shifts by the width.
  const bool shift_in_range = b < static_cast<uint64_t>(SizeBits(d));
  switch (op) {
    case AluOp::kNeg:
      return wrap(0 - a);
    case AluOp::kTrunc:
      return operands[0];
    case AluOp::kAdd:
      return wrap(a + b);
    case AluOp::kSub:
      return wrap(a - b);
    case AluOp::kMul:
      return wrap(a * b);
    case AluOp::kMulAcc:
      return wrap(a * b + operands[2].bits());
    case AluOp::kIDiv:
      if (b == 0) return Scalar::Int(0);
      if (!is_signed) return wrap(a / b);
      return wrap(sb == -1 ? 0 - a : static_cast<uint64_t>(sa / sb));
    case AluOp::kMod:
      if (b == 0) return operands[0];
      if (!is_signed) return wrap(a % b);
      return wrap(sb == -1 ? 0 : static_cast<uint64_t>(sa % sb));
    case AluOp::kMax:
      return (is_signed ? sa < sb : a < b) ? operands[1] : operands[0];
    case AluOp::kPow:
      if (is_signed && sb < 0) return Scalar::Int(NegativePower(sa, sb % 2 != 0));
      return wrap(WrappingPower(a, b));
    case AluOp::kCmpLt:
      return Scalar::Bool(is_signed ? sa < sb : a < b);
    case AluOp::kCmpNe:
      return Scalar::Bool(a != b);
    case AluOp::kCmpEq:
      return Scalar::Bool(a == b);
    case AluOp::kAnd:
      return wrap(a & b);
    case AluOp::kOr:
      return wrap(a | b);
    case AluOp::kXor:
      return wrap(a ^ b);
    case AluOp::kShl:
      return wrap(shift_in_range ? a << b : 0);
    case AluOp::kShr:
      if (is_signed) return Scalar::Int(sa >> (shift_in_range ? b : 63));
      return wrap(shift_in_range ? a >> b : 0);
    case AluOp::kThreefry:
      return Scalar::FromBits(Threefry(a, b));
    default:
      return Scalar();  // Not defined on integers.
  }
}

}  // namespace internal

std::optional<Int128> EvalWide(AluOp op, absl::Span<const Int128> operands) {
  if (!IsDefined(op, DType::kIndex) || operands.size() != static_cast<size_t>(NumOperands(op))) {
    return std::nullopt;
  }
  const Int128 a = operands[0];
  const Int128 b = operands.size() > 1 ? operands[1] : 0;
  switch (op) {
    case AluOp::kNeg:
      return Sub(0, a);
    case AluOp::kTrunc:
      return a;
    case AluOp::kAdd:
      return Add(a, b);
    case AluOp::kSub:
      return Sub(a, b);
    case AluOp::kMul:
      return Mul(a, b);
    case AluOp::kMulAcc: {
      const std::optional<Int128> product = Mul(a, b);
      return product.has_value() ? Add(*product, operands[2]) : std::nullopt;
    }
    case AluOp::kIDiv:
      if (b == 0) return std::nullopt;
      return b == -1 ? Sub(0, a) : a / b;
    case AluOp::kMod:
      if (b == 0) return std::nullopt;
      return b == -1 ? 0 : a % b;
    case AluOp::kMax:
      return a < b ? b : a;
    case AluOp::kPow:
      return Power(a, b);
    case AluOp::kCmpLt:
      return a < b ? 1 : 0;
    case AluOp::kCmpNe:
      return a != b ? 1 : 0;
    case AluOp::kCmpEq:
      return a == b ? 1 : 0;
    case AluOp::kAnd:
      return a & b;
    case AluOp::kOr:
      return a | b;
    case AluOp::kXor:
      return a ^ b;
    case AluOp::kShl:
      return ShiftLeft(a, b);
    case AluOp::kShr:
      return a >> (b < 0 || b > 127 ? 127 : static_cast<int>(b));
    case AluOp::kWhere:
      return a != 0 ? b : operands[2];
    default:
      return std::nullopt;
  }
}

}  // namespace kiln::dtype
