#include "tests/conformance/hard_operands.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/dtype/cast.h"
#include "tests/support/random.h"

namespace kiln::conformance {
namespace {

void AddIntegers(DType d, std::vector<Scalar>& values) {
  const Int128 min = dtype::MinValue(d), max = dtype::MaxValue(d);
  const int width = dtype::SizeBits(d);
  for (const Int128 v : {Int128{0}, Int128{1}, Int128{2}, Int128{-1}, Int128{-2}, Int128{3},
                         Int128{7}, Int128{-7}, Int128{10}, min, min + 1, max, max - 1, max / 2,
                         Int128{width - 1}, Int128{width}, Int128{width + 1}}) {
    values.push_back(*dtype::WrapInteger(v, d));
  }
}

void AddFloats(DType d, std::vector<Scalar>& values) {
  const double max = dtype::MaxFinite(d);
  // The smallest value: what the last bit of the encoding stands for.
  const double tiny = dtype::FromBits(1, d).AsFloat();
  for (const double v : {0.0,
                         1.0,
                         1.5,
                         2.0,
                         2.5,
                         3.0,
                         0.75,
                         0.1,
                         7.0,
                         100.3,
                         255.5,
                         32768.0,
                         65504.0,
                         16777217.0,
                         2147483648.0,
                         9.3e18,
                         1e30,
                         max,
                         max / 2,
                         max * 0.999,
                         tiny,
                         tiny * 3,
                         tiny * 2.5,
                         std::ldexp(1.0, -14),
                         std::ldexp(1.999, -15),
                         std::numeric_limits<double>::infinity()}) {
    for (const double sign : {1.0, -1.0}) {
      const double rounded = std::isinf(v) && d == DType::kFp8E5M2
                                 ? v  // A value that no rounding gives.
                                 : dtype::RoundToFloat(v, d);
      values.push_back(Scalar::Float(sign * rounded));
    }
  }
  values.push_back(Scalar::Float(std::numeric_limits<double>::quiet_NaN()));
}

}  // namespace

std::vector<Scalar> HardOperands(DType d, int num_random) {
  std::vector<Scalar> values;
  if (d == DType::kBool) return {Scalar::Bool(false), Scalar::Bool(true)};
  dtype::IsFloat(d) ? AddFloats(d, values) : AddIntegers(d, values);
  support::Random random(static_cast<uint64_t>(d) + 1);
  for (int i = 0; i < num_random; ++i) values.push_back(dtype::FromBits(random.Next(), d));
  std::sort(values.begin(), values.end(), [](Scalar a, Scalar b) { return a.bits() < b.bits(); });
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

}  // namespace kiln::conformance
