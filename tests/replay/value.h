// JSON values as scalars of a dtype, and their comparison. The dtype decides the type, not the
// spelling: 3 may be a float, and 3.0 an integer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

#include "core/dtype/dtype.h"
#include "core/dtype/int128.h"
#include "core/dtype/scalar.h"
#include "tests/replay/record.h"

namespace kiln::replay {

// A scalar dtype by name. InvalidArgument for vectors, pointers and images, and for unknown names.
absl::StatusOr<DType> ParseScalarDType(const Json& json);

// An integer of any size, exactly: an integer or bool, an integral float, or digits in a string.
absl::StatusOr<Int128> ParseWide(const Json& json);

// A number of any kind, or "inf", "-inf", "nan". Integers beyond 2^53 round.
absl::StatusOr<double> ParseDouble(const Json& json);

// A value of exactly `dtype`. InvalidArgument if it is not one (300 for int8, 0.1 for float16).
absl::StatusOr<Scalar> ParseScalar(const Json& json, DType dtype);

// As text for messages: True, -5, 0.5, nan.
std::string ToText(Scalar v, DType dtype);

// How many values of the float type `dtype` lie between the two, counting one end. Null unless both
// are finite.
std::optional<uint64_t> UlpDistance(Scalar a, Scalar b, DType dtype);

// Equal; or, if `ulp` is positive, finite non-zero floats of at most that distance. NaN equals NaN;
// zeros differ by sign.
bool Matches(Scalar got, Scalar want, DType dtype, uint64_t ulp = 0);

}  // namespace kiln::replay
