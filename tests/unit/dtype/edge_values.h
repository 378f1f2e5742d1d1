// Values at which arithmetic goes wrong, for every dtype.
#pragma once

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "core/dtype/cast.h"

namespace kiln::dtype {

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

inline std::vector<DType> DTypesWhere(bool (*predicate)(DType)) {
  std::vector<DType> all;
  for (int i = 0; i < kNumDTypes; ++i) {
    const DType d = static_cast<DType>(i);
    if (d != DType::kVoid && predicate(d)) all.push_back(d);
  }
  return all;
}
inline std::vector<DType> AllDTypes() {
  return DTypesWhere([](DType) { return true; });
}
inline std::vector<DType> FloatDTypes() { return DTypesWhere(IsFloat); }
inline std::vector<DType> FixedWidthDTypes() {
  return DTypesWhere([](DType d) { return d == DType::kBool || IsFixedWidthInteger(d); });
}
inline std::vector<DType> SmallFloatDTypes() {
  return DTypesWhere([](DType d) { return IsFloat(d) && SizeBits(d) <= 16; });
}

// All finite values of a float type of at most 16 bits, ascending, with one zero.
inline std::vector<double> FiniteValues(DType d) {
  std::set<double> values;
  for (uint64_t bits = 0; bits < uint64_t{1} << SizeBits(d); ++bits) {
    const double v = FromBits(bits, d).AsFloat();
    if (std::isfinite(v)) values.insert(v == 0 ? 0.0 : v);
  }
  return {values.begin(), values.end()};
}

inline std::vector<Scalar> EdgeValues(DType d) {
  std::vector<Scalar> values;
  if (!IsFloat(d)) {
    const DType range = d == DType::kIndex ? DType::kInt64 : d;
    const Int128 lo = MinValue(range), hi = MaxValue(range);
    for (Int128 near :
         {Int128{0}, lo, hi, lo / 2, hi / 2, Int128{1} << (std::max(SizeBits(range), 8) / 2)}) {
      for (int offset = -2; offset <= 2; ++offset) {
        const Int128 v = near + offset;
        if (v >= lo && v <= hi) values.push_back(*WrapInteger(v, d));
      }
    }
    for (int v : {3, 7, 8, 9, 10, 31, 33, 63, 65, 100, -7, -8, -100}) {
      if (v >= lo && v <= hi) values.push_back(*WrapInteger(v, d));
    }
    return values;
  }
  const double tiny = FromBits(1, d).AsFloat();
  const double max = MaxFinite(d);
  for (double v : {0.0,
                   tiny,
                   2 * tiny,
                   3 * tiny,
                   7 * tiny,
                   9 * tiny,
                   1.0,
                   1.125,
                   1.5,
                   1.75,
                   2.0,
                   2.5,
                   3.0,
                   7.0,
                   10.0,
                   17.0,
                   0.5,
                   1 / 3.0,
                   0.1,
                   100.0,
                   255.0,
                   289.0,
                   max,
                   max / 2,
                   max * 0.75,
                   std::sqrt(max),
                   std::sqrt(tiny),
                   0x1p-14,
                   0x1p-126,
                   0x1p-1022,
                   kInf}) {
    v = RoundToFloat(v, d);
    values.push_back(Scalar::Float(v));
    values.push_back(Scalar::Float(-v));
  }
  if (Represents(d, kInf)) {
    values.push_back(Scalar::Float(kInf));
    values.push_back(Scalar::Float(-kInf));
  }
  values.push_back(Scalar::Float(kNaN));
  return values;
}

inline std::string Show(Scalar v, DType d) {
  return std::string(Name(d)) + " " +
         (IsFloat(d) ? std::to_string(v.AsFloat()) : ToString(v.AsWide(d)));
}

}  // namespace kiln::dtype
