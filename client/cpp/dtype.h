// Types of elements, and which C++ types hold them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kiln/v1/graph.pb.h"

namespace kiln {

inline constexpr v1::DType kBool = v1::DTYPE_BOOL;
inline constexpr v1::DType kInt8 = v1::DTYPE_INT8;
inline constexpr v1::DType kUInt8 = v1::DTYPE_UINT8;
inline constexpr v1::DType kInt16 = v1::DTYPE_INT16;
inline constexpr v1::DType kUInt16 = v1::DTYPE_UINT16;
inline constexpr v1::DType kInt32 = v1::DTYPE_INT32;
inline constexpr v1::DType kUInt32 = v1::DTYPE_UINT32;
inline constexpr v1::DType kInt64 = v1::DTYPE_INT64;
inline constexpr v1::DType kUInt64 = v1::DTYPE_UINT64;
inline constexpr v1::DType kFp8E4M3 = v1::DTYPE_FP8E4M3;
inline constexpr v1::DType kFp8E5M2 = v1::DTYPE_FP8E5M2;
inline constexpr v1::DType kFloat16 = v1::DTYPE_FLOAT16;
inline constexpr v1::DType kBFloat16 = v1::DTYPE_BFLOAT16;
inline constexpr v1::DType kFloat32 = v1::DTYPE_FLOAT32;
inline constexpr v1::DType kFloat64 = v1::DTYPE_FLOAT64;

// Bytes of one element; 0 for what has no memory.
size_t SizeBytes(v1::DType dtype);

// The dtype that a C++ type holds the elements of.
template <typename T>
constexpr v1::DType DTypeOf() {
  static_assert(std::is_arithmetic_v<T>, "elements are numbers or bool");
  if constexpr (std::is_same_v<T, bool>) return kBool;
  if constexpr (std::is_floating_point_v<T>) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "there is no such dtype");
    return sizeof(T) == 4 ? kFloat32 : kFloat64;
  } else {
    constexpr v1::DType kSigned[] = {kInt8, kInt16, kInt32, kInt64};
    constexpr v1::DType kUnsigned[] = {kUInt8, kUInt16, kUInt32, kUInt64};
    constexpr int kLog2 = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    return std::is_signed_v<T> ? kSigned[kLog2] : kUnsigned[kLog2];
  }
}

}  // namespace kiln
