// Scalar types. A DType names what one element is; counts of elements are shapes (core/uop), never
// part of a type.
//
//   DType d = DType::kFloat16;
//   SizeBytes(d);               // 2
//   IsFloat(d);                 // true
//   ParseDType("float16");      // DType::kFloat16
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/dtype/int128.h"

namespace kiln::dtype {

// Order matters: promotion and printing are tables indexed by it. `kIndex` is the mathematical
// integer of index arithmetic; a value of it that leaves int64 is an error, never a wrap.
enum class DType : uint8_t {
  kVoid,
  kBool,
  kInt8,
  kUInt8,
  kInt16,
  kUInt16,
  kInt32,
  kUInt32,
  kInt64,
  kUInt64,
  kFp8E4M3,
  kFp8E5M2,
  kFloat16,
  kBFloat16,
  kFloat32,
  kFloat64,
  kIndex,
};
inline constexpr int kNumDTypes = 17;

namespace internal {
struct DTypeInfo {
  std::string_view name;        // As in text form, proto and fixtures.
  std::string_view short_name;  // As a C-like cast prints it.
  uint8_t bits;                 // Of one element in memory; 0 for void and index.
  bool is_float, is_integer, is_signed;
};
inline constexpr DTypeInfo kDTypeInfo[kNumDTypes] = {
    {"void", "void", 0, false, false, false},     {"bool", "bool", 8, false, false, false},
    {"int8", "char", 8, false, true, true},       {"uint8", "uchar", 8, false, true, false},
    {"int16", "short", 16, false, true, true},    {"uint16", "ushort", 16, false, true, false},
    {"int32", "int", 32, false, true, true},      {"uint32", "uint", 32, false, true, false},
    {"int64", "long", 64, false, true, true},     {"uint64", "ulong", 64, false, true, false},
    {"fp8e4m3", "fp8e4m3", 8, true, false, true}, {"fp8e5m2", "fp8e5m2", 8, true, false, true},
    {"float16", "half", 16, true, false, true},   {"bfloat16", "bfloat16", 16, true, false, true},
    {"float32", "float", 32, true, false, true},  {"float64", "double", 64, true, false, true},
    {"index", "index", 0, false, true, true},
};
constexpr const DTypeInfo& Info(DType d) { return kDTypeInfo[static_cast<int>(d)]; }
}  // namespace internal

constexpr std::string_view Name(DType d) { return internal::Info(d).name; }
constexpr std::string_view ShortName(DType d) { return internal::Info(d).short_name; }
constexpr int SizeBits(DType d) { return internal::Info(d).bits; }
constexpr int SizeBytes(DType d) { return internal::Info(d).bits / 8; }
constexpr bool IsFloat(DType d) { return internal::Info(d).is_float; }
// True for the fixed-width integers and for index; false for bool.
constexpr bool IsInteger(DType d) { return internal::Info(d).is_integer; }
constexpr bool IsFixedWidthInteger(DType d) { return IsInteger(d) && d != DType::kIndex; }
constexpr bool IsSigned(DType d) { return internal::Info(d).is_signed; }
constexpr bool IsUnsigned(DType d) { return IsInteger(d) && !IsSigned(d); }

// Smallest and largest value of a bool or fixed-width integer type.
constexpr Int128 MinValue(DType d) {
  return IsSigned(d) ? -(Int128{1} << (SizeBits(d) - 1)) : Int128{0};
}
constexpr Int128 MaxValue(DType d) {
  if (d == DType::kBool) return 1;
  return (Int128{1} << (SizeBits(d) - (IsSigned(d) ? 1 : 0))) - 1;
}

// Null if no type has this name.
constexpr std::optional<DType> ParseDType(std::string_view name) {
  for (int i = 0; i < kNumDTypes; ++i) {
    if (internal::kDTypeInfo[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

}  // namespace kiln::dtype

namespace kiln {
using dtype::DType;
}  // namespace kiln
