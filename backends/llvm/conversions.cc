// Conversions between dtypes, and between registers and memory.
#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/llvm/value_builder.h"
#include "core/dtype/cast.h"
#include "core/dtype/float_format.h"

namespace kiln::backend_llvm {

using dtype::internal::FloatFormat;
using dtype::internal::Format;
using llvm::Value;

namespace {

constexpr int kFractionBits = 23;  // Of float32.
constexpr int kBias = 127;
constexpr uint64_t kSignBit = 0x80000000;

bool IsNarrow(DType d) { return dtype::IsFloat(d) && d != DType::kFloat32 && d != DType::kFloat64; }

}  // namespace

Value* ValueBuilder::Cast(Value* v, DType from, DType to) {
  if (from == to) return v;
  if (!dtype::IsFloat(from)) {
    if (dtype::IsFloat(to)) return IntegerToFloat(v, from, to);
    if (to == DType::kBool) return b_.CreateICmpNE(v, Int(v, 0));
    return b_.CreateIntCast(v, Like(v, RegisterType(to)), dtype::IsSigned(from));
  }
  if (to == DType::kBool) return b_.CreateFCmpUNE(v, Float(v, 0));
  if (!dtype::IsFloat(to)) return FloatToInteger(v, to);
  if (to == DType::kFloat64) return b_.CreateFPExt(v, Like(v, b_.getDoubleTy()));
  if (to != DType::kFloat32) return Round(v, to);
  return from == DType::kFloat64 ? b_.CreateFPTrunc(v, Like(v, b_.getFloatTy())) : v;
}

Value* ValueBuilder::IntegerToFloat(Value* v, DType from, DType to) {
  if (from == DType::kBool) {
    llvm::Type* type = Like(v, RegisterType(to));
    return Select(v, llvm::ConstantFP::get(type, 1.0), llvm::ConstantFP::get(type, 0.0));
  }
  const auto convert = [&](Value* x, llvm::Type* scalar) {
    llvm::Type* type = Like(x, scalar);
    return dtype::IsSigned(from) ? b_.CreateSIToFP(x, type) : b_.CreateUIToFP(x, type);
  };
  if (!IsNarrow(to)) return convert(v, RegisterType(to));
  const int bits = dtype::SizeBits(from);
  if (bits <= 16) return Round(convert(v, b_.getFloatTy()), to);
  if (bits == 64) {
    // What 53 bits don't hold: cut to a multiple of 2^11, the last bit of which is set if anything
    // was lost. Rounds to odd.
    Value* lost = b_.CreateICmpNE(b_.CreateAnd(v, Int(v, 0x7ff)), Int(v, 0));
    Value* cut = b_.CreateAnd(v, Int(v, ~uint64_t{0x7ff}));
    Value* odd = Select(lost, b_.CreateOr(cut, Int(v, 0x800)), cut);
    Value* magnitude = v;
    if (dtype::IsSigned(from)) magnitude = b_.CreateXor(v, b_.CreateAShr(v, Int(v, 63)));
    v = Select(b_.CreateICmpULT(magnitude, Int(v, uint64_t{1} << 53)), v, odd);
  }
  return Round(convert(v, b_.getDoubleTy()), to);  // The conversion is exact.
}

// Out of range, the machine's conversion is not defined: it gets a 0 there.
Value* ValueBuilder::FloatToInteger(Value* v, DType to) {
  const bool is_signed = dtype::IsSigned(to);
  const int bits = dtype::SizeBits(to);
  const double end = std::ldexp(1.0, bits - (is_signed ? 1 : 0));
  llvm::Type* wide = Like(v, b_.getIntNTy(static_cast<unsigned>(std::max(bits, 32))));
  llvm::Type* narrow = Like(v, RegisterType(to));
  Value* too_large = b_.CreateFCmpOGE(v, Float(v, end));
  Value* above = is_signed ? b_.CreateFCmpOGE(v, Float(v, -end)) : b_.CreateFCmpOGE(v, Float(v, 0));
  Value* in_range = b_.CreateAnd(above, b_.CreateFCmpOLT(v, Float(v, end)));
  Value* safe = Select(in_range, v, Float(v, 0));
  Value* integer =
      is_signed || bits < 32 ? b_.CreateFPToSI(safe, wide) : b_.CreateFPToUI(safe, wide);
  integer = b_.CreateTrunc(integer, narrow);
  const auto limit = [&](Int128 value) {
    return llvm::ConstantInt::get(narrow, static_cast<uint64_t>(value), is_signed);
  };
  integer = Select(too_large, limit(dtype::MaxValue(to)), integer);
  if (!is_signed) return integer;
  return Select(b_.CreateFCmpOLT(v, Float(v, -end)), limit(dtype::MinValue(to)), integer);
}

Value* ValueBuilder::Bitcast(Value* v, DType from, DType to) {
  if (dtype::IsFloat(from)) v = Select(IsNan(v), Nan(v), v);  // There is one NaN.
  Value* bits = ToMemory(v, from);
  bits = b_.CreateBitCast(bits, Like(bits, MemoryType(to)));
  return FromMemory(bits, to);
}

// ** rounding **

// Source: Boldo & Melquiond, "When double rounding is odd", IMACS 2005.
Value* ValueBuilder::RoundToOdd(Value* v) {
  Value* nearest = b_.CreateFPTrunc(v, Like(v, b_.getFloatTy()));
  Value* back = b_.CreateFPExt(nearest, v->getType());
  Value* bits = Bits(nearest);
  Value* away = b_.CreateFCmpOGT(Magnitude(back), Magnitude(v));
  Value* cut = b_.CreateSub(bits, b_.CreateZExt(away, bits->getType()));
  Value* odd = b_.CreateOr(cut, Int(bits, 1));
  return FromBits(Select(b_.CreateFCmpONE(back, v), odd, bits));
}

Value* ValueBuilder::Round(Value* v, DType d) {
  if (!IsNarrow(d)) return v;
  if (v->getType()->getScalarType()->isDoubleTy()) v = RoundToOdd(v);
  if (HasHalf(d)) return b_.CreateFPExt(b_.CreateFPTrunc(v, Like(v, b_.getHalfTy())), v->getType());
  return d == DType::kBFloat16 ? RoundToBFloat16(v) : RoundToSmall(v, d);
}

// Not by the machine's instruction, which takes denormals for zero.
Value* ValueBuilder::RoundToBFloat16(Value* v) {
  Value* bits = Bits(v);
  Value* odd = b_.CreateAnd(b_.CreateLShr(bits, Int(bits, 16)), Int(bits, 1));
  Value* sum = b_.CreateAdd(bits, b_.CreateAdd(odd, Int(bits, 0x7fff)));
  Value* rounded = FromBits(b_.CreateAnd(sum, Int(bits, 0xffff0000)));
  return Select(IsNan(v), Nan(v), rounded);
}

Value* ValueBuilder::RoundToSmall(Value* v, DType d) {
  const FloatFormat f = Format(d);
  Value* magnitude = Magnitude(v);
  Value* bits = Bits(magnitude);
  const int drop = kFractionBits + 1 - f.precision;
  const uint64_t half = uint64_t{1} << (drop - 1);
  // Normal: half of the last place that stays is added to the bits, a tie goes to even.
  Value* odd = b_.CreateAnd(b_.CreateLShr(bits, Int(bits, drop)), Int(bits, 1));
  Value* sum = b_.CreateAdd(bits, b_.CreateAdd(odd, Int(bits, half - 1)));
  Value* normal = FromBits(b_.CreateAnd(sum, Int(bits, ~(2 * half - 1))));
  // Denormal: added to a number whose last place is that of the result.
  const double shift = std::ldexp(1.0, f.min_exponent - (f.precision - 1) + kFractionBits);
  Value* denormal = b_.CreateFSub(b_.CreateFAdd(magnitude, Float(v, shift)), Float(v, shift));
  Value* is_denormal = b_.CreateFCmpOLT(magnitude, Float(v, std::ldexp(1.0, f.min_exponent)));
  Value* rounded = Select(is_denormal, denormal, normal);
  const double overflow = f.saturates ? f.max_finite : std::numeric_limits<double>::infinity();
  Value* too_large = b_.CreateFCmpOGT(rounded, Float(v, f.max_finite));
  rounded = Select(too_large, Float(v, overflow), rounded);
  Value* sign = b_.CreateAnd(Bits(v), Int(bits, kSignBit));
  Value* result = FromBits(b_.CreateOr(Bits(rounded), sign));
  return Select(IsNan(v), Nan(v), result);
}

// ** memory **

Value* ValueBuilder::FromMemory(Value* v, DType d) {
  if (d == DType::kBool) return b_.CreateICmpNE(v, Int(v, 0));
  if (!IsNarrow(d)) return v;
  if (HasHalf(d)) return b_.CreateFPExt(v, Like(v, b_.getFloatTy()));
  if (d != DType::kBFloat16) return DecodeSmall(v, d);
  Value* bits = b_.CreateZExt(v, Like(v, b_.getInt32Ty()));
  return FromBits(b_.CreateShl(bits, Int(bits, 16)));
}

Value* ValueBuilder::ToMemory(Value* v, DType d) {
  if (d == DType::kBool) return b_.CreateZExt(v, Like(v, b_.getInt8Ty()));
  if (!IsNarrow(d)) return v;
  if (HasHalf(d)) return b_.CreateFPTrunc(v, Like(v, b_.getHalfTy()));
  if (d != DType::kBFloat16) return EncodeSmall(v, d);
  Value* bits = Bits(v);
  return b_.CreateTrunc(b_.CreateLShr(bits, Int(bits, 16)), Like(v, b_.getInt16Ty()));
}

// A small float whose bits are moved to where float32 has them is the right value but for the bias
// of the exponent, denormals included: a product with a power of two makes up for it.
Value* ValueBuilder::DecodeSmall(Value* v, DType d) {
  const FloatFormat f = Format(d);
  const unsigned width = static_cast<unsigned>(dtype::SizeBits(d));
  Value* bits = b_.CreateZExt(v, Like(v, b_.getInt32Ty()));
  Value* magnitude = b_.CreateAnd(bits, Int(bits, (uint64_t{1} << (width - 1)) - 1));
  Value* sign = b_.CreateShl(b_.CreateXor(bits, magnitude), Int(bits, 32 - width));
  Value* moved = FromBits(b_.CreateShl(magnitude, Int(bits, kFractionBits + 1 - f.precision)));
  Value* value = b_.CreateFMul(moved, Float(moved, std::ldexp(1.0, kBias - 1 + f.min_exponent)));
  Value* special = Nan(value);
  if (f.infinity != f.nan) {
    Value* infinite = b_.CreateICmpEQ(magnitude, Int(bits, f.infinity));
    special = Select(infinite, llvm::ConstantFP::getInfinity(value->getType()), special);
  }
  value = Select(b_.CreateICmpUGE(magnitude, Int(bits, f.infinity)), special, value);
  return FromBits(b_.CreateOr(Bits(value), sign));
}

Value* ValueBuilder::EncodeSmall(Value* v, DType d) {
  const FloatFormat f = Format(d);
  const unsigned width = static_cast<unsigned>(dtype::SizeBits(d));
  Value* magnitude = Magnitude(v);
  Value* scaled = b_.CreateFMul(magnitude, Float(v, std::ldexp(1.0, 1 - f.min_exponent - kBias)));
  Value* bits = b_.CreateLShr(Bits(scaled), Int(Bits(v), kFractionBits + 1 - f.precision));
  if (f.infinity != f.nan) {
    Value* infinity = llvm::ConstantFP::getInfinity(v->getType());
    bits = Select(b_.CreateFCmpOEQ(magnitude, infinity), Int(bits, f.infinity), bits);
  }
  bits = Select(IsNan(v), Int(bits, f.nan), bits);
  Value* sign = b_.CreateAnd(b_.CreateLShr(Bits(v), Int(bits, 32 - width)),
                             Int(bits, uint64_t{1} << (width - 1)));
  return b_.CreateTrunc(b_.CreateOr(bits, sign), Like(v, b_.getIntNTy(width)));
}

}  // namespace kiln::backend_llvm
