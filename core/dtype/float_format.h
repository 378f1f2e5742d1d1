// The layout of the float types. For the .cc files of this folder.
#pragma once

#include "core/dtype/dtype.h"

namespace kiln::dtype::internal {

// 1 sign bit, then the exponent, then precision - 1 bits of fraction. Normal values are 1.f * 2^e
// for min_exponent <= e <= max_exponent; exponent field 0 holds zero and the denormals.
struct FloatFormat {
  int precision;     // Bits of significand, the implicit one included.
  int min_exponent;  // Of the smallest normal value. The exponent field's bias is 1 minus this.
  int max_exponent;  // Of the largest finite value.
  double max_finite;
  bool saturates;     // Rounding never gives an infinity.
  uint64_t infinity;  // Bits of +infinity; of the NaN if the type has no infinities.
  uint64_t nan;  // Bits of the one NaN that is written. All patterns above `infinity` read as NaN.
};

constexpr FloatFormat Format(DType d) {
  switch (d) {
    case DType::kFp8E4M3:
      return {4, -6, 8, 448.0, true, 0x7f, 0x7f};
    case DType::kFp8E5M2:
      return {3, -14, 15, 57344.0, true, 0x7c, 0x7e};
    case DType::kFloat16:
      return {11, -14, 15, 65504.0, false, 0x7c00, 0x7e00};
    case DType::kBFloat16:
      return {8, -126, 127, 0x1.FEp127, false, 0x7f80, 0x7fc0};
    case DType::kFloat32:
      return {24, -126, 127, 0x1.FFFFFEp127, false, 0x7f800000, 0x7fc00000};
    default:  // kFloat64
      return {
          53, -1022, 1023, 0x1.FFFFFFFFFFFFFp1023, false, 0x7ff0000000000000, 0x7ff8000000000000};
  }
}

}  // namespace kiln::dtype::internal
