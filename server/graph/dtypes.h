// Dtypes on the wire and in core: numbered alike, which this file checks.
#pragma once

#include <optional>

#include "core/dtype/dtype.h"
#include "kiln/v1/graph.pb.h"
#include "server/pb.h"

namespace kiln::server {

static_assert(pb::DTYPE_BOOL == static_cast<int>(DType::kBool));
static_assert(pb::DTYPE_INT8 == static_cast<int>(DType::kInt8));
static_assert(pb::DTYPE_UINT8 == static_cast<int>(DType::kUInt8));
static_assert(pb::DTYPE_INT16 == static_cast<int>(DType::kInt16));
static_assert(pb::DTYPE_UINT16 == static_cast<int>(DType::kUInt16));
static_assert(pb::DTYPE_INT32 == static_cast<int>(DType::kInt32));
static_assert(pb::DTYPE_UINT32 == static_cast<int>(DType::kUInt32));
static_assert(pb::DTYPE_INT64 == static_cast<int>(DType::kInt64));
static_assert(pb::DTYPE_UINT64 == static_cast<int>(DType::kUInt64));
static_assert(pb::DTYPE_FP8E4M3 == static_cast<int>(DType::kFp8E4M3));
static_assert(pb::DTYPE_FP8E5M2 == static_cast<int>(DType::kFp8E5M2));
static_assert(pb::DTYPE_FLOAT16 == static_cast<int>(DType::kFloat16));
static_assert(pb::DTYPE_BFLOAT16 == static_cast<int>(DType::kBFloat16));
static_assert(pb::DTYPE_FLOAT32 == static_cast<int>(DType::kFloat32));
static_assert(pb::DTYPE_FLOAT64 == static_cast<int>(DType::kFloat64));
static_assert(pb::DTYPE_INDEX == static_cast<int>(DType::kIndex));
static_assert(pb::DType_MAX == pb::DTYPE_INDEX);

// Pre: not kVoid.
inline pb::DType ToProto(DType dtype) { return static_cast<pb::DType>(dtype); }

// Null for DTYPE_UNSPECIFIED and for numbers that no dtype has.
inline std::optional<DType> FromProto(pb::DType dtype) {
  if (dtype <= 0 || dtype > pb::DType_MAX) return std::nullopt;
  return static_cast<DType>(dtype);
}

}  // namespace kiln::server
