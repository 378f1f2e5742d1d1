// Conversion of values between dtypes. The rules are those of the proto's "Values": integers wrap,
// floats round to nearest even once, float to integer truncates and saturates with NaN giving 0,
// anything to bool is x != 0, fp8 saturates.
#pragma once

#include <optional>

#include "core/dtype/int128.h"
#include "core/dtype/scalar.h"

namespace kiln::dtype {

// Rounds to the float type `to`, nearest even, in one rounding. float16 and bfloat16 overflow to
// infinity; fp8 saturates to its largest finite value, also from infinity. Pre: IsFloat(to).
double RoundToFloat(double v, DType to);

// Whether `v` is a value of the float type `d`. Infinities are values of fp8e5m2 (they have bit
// patterns), though no rounding gives them. Pre: IsFloat(d).
bool Represents(DType d, double v);

// Largest finite value. Pre: IsFloat(d).
double MaxFinite(DType d);

// Wraps an integer to bool (v != 0) or to a fixed-width integer (two's complement). For index: null
// if out of int64. Pre: not a float type, not void.
std::optional<Scalar> WrapInteger(Int128 v, DType to);

// CAST. Null only if `to` is index and the value does not fit it (NaN does not). Pre: neither dtype
// is void.
std::optional<Scalar> Cast(Scalar v, DType from, DType to);

// BITCAST. Null if the sizes differ or a dtype has none (void, index). bool reads back as bits !=
// 0; every NaN reads back as the one NaN.
std::optional<Scalar> Bitcast(Scalar v, DType from, DType to);

// The bytes of a value as it lies in memory, in the low SizeBits(d) bits; and back, ignoring higher
// bits. Pre: neither void nor index.
uint64_t ToBits(Scalar v, DType d);
Scalar FromBits(uint64_t bits, DType d);

}  // namespace kiln::dtype
