#include "tests/replay/graphs_compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/dtype/cast.h"
#include "core/dtype/scalar.h"
#include "core/dtype/status.h"
#include "tests/replay/fixture_dtype.h"
#include "tests/replay/value.h"

namespace kiln::replay {
namespace {

using Bytes = std::vector<std::byte>;

Scalar Element(const Bytes& bytes, DType dtype, size_t i) {
  const auto size = static_cast<size_t>(dtype::SizeBytes(dtype));
  uint64_t bits = 0;
  std::memcpy(&bits, &bytes[i * size], size);
  return dtype::FromBits(bits, dtype);
}

// How far off, in units of what is allowed: at most 1 is right.
double Deviation(double e, double g, Tolerance t) {
  if (e == g || (std::isnan(e) && std::isnan(g))) return 0;
  const double off = std::fabs(g - e), allowed = t.atol + t.rtol * std::fabs(e);
  if (off <= allowed) return off / allowed;
  const double ratio = off / allowed;
  return std::isnan(ratio) ? HUGE_VAL : std::max(ratio, 1.0000001);
}
double Deviation(Scalar e, Scalar g, DType dtype, Tolerance t) {
  if (dtype::IsFloat(dtype)) return Deviation(e.AsFloat(), g.AsFloat(), t);
  return e == g ? 0 : HUGE_VAL;
}

// Counts what differs.
class Differences {
 public:
  explicit Differences(Tolerance t) : tolerance_(t) {}

  void Add(double deviation, const std::string& where, const std::string& want,
           const std::string& got) {
    ++all_;
    if (deviation <= 1) return;
    worst_ = std::max(worst_, deviation);
    if (wrong_++ == 0) first_ = absl::StrCat(where, ": want ", want, ", got ", got);
  }
  absl::Status Finish() const {
    if (wrong_ == 0) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat(wrong_, " of ", all_, " differ, by up to ", worst_, " times the tolerance (",
                     tolerance_.rtol, ", ", tolerance_.atol, "); ", first_));
  }

 private:
  Tolerance tolerance_;
  int64_t all_ = 0, wrong_ = 0;
  double worst_ = 0;
  std::string first_;
};

absl::Status CompareAll(const support::TensorArray& got, const Bytes& want, Tolerance t) {
  Differences differences(t);
  const size_t elems = want.size() / static_cast<size_t>(dtype::SizeBytes(got.dtype));
  for (size_t i = 0; i < elems; ++i) {
    const Scalar e = Element(want, got.dtype, i), g = Element(got.bytes, got.dtype, i);
    const double deviation = Deviation(e, g, got.dtype, t);
    if (deviation > 1) {
      differences.Add(deviation, absl::StrCat("element ", i), ToText(e, got.dtype),
                      ToText(g, got.dtype));
    } else {
      differences.Add(deviation, {}, {}, {});
    }
  }
  return differences.Finish();
}

// Mean, deviation, and elements at some coordinates.
absl::Status CompareSummary(const support::TensorArray& got, const Json& expect, Tolerance t) {
  Differences differences(t);
  const size_t elems = got.bytes.size() / static_cast<size_t>(dtype::SizeBytes(got.dtype));
  const auto at = [&](size_t i) {
    const Scalar v = Element(got.bytes, got.dtype, i);
    return dtype::IsFloat(got.dtype) ? v.AsFloat() : static_cast<double>(v.AsWide(got.dtype));
  };
  double sum = 0, squares = 0;
  for (size_t i = 0; i < elems; ++i) sum += at(i);
  const double mean = sum / static_cast<double>(elems);
  for (size_t i = 0; i < elems; ++i) squares += (at(i) - mean) * (at(i) - mean);
  const double std = std::sqrt(squares / static_cast<double>(elems));
  const auto check = [&](const std::string& where, const Json& want, double value) -> absl::Status {
    KILN_ASSIGN_OR_RETURN(const double e, ParseDouble(want));
    differences.Add(Deviation(e, value, t), where, absl::StrCat(e), absl::StrCat(value));
    return absl::OkStatus();
  };
  KILN_RETURN_IF_ERROR(check("mean", expect.at("mean"), mean));
  KILN_RETURN_IF_ERROR(check("std", expect.at("std"), std));
  const Json &coords = expect.at("coords"), &values = expect.at("values");
  if (coords.size() != values.size()) return absl::InvalidArgumentError("coords without values");
  for (size_t k = 0; k < coords.size(); ++k) {
    const auto index = coords.at(k).get<std::vector<int64_t>>();
    if (index.size() != got.shape.size()) return absl::InvalidArgumentError("coords of other rank");
    int64_t i = 0;
    for (size_t axis = 0; axis < index.size(); ++axis) {
      if (index[axis] < 0 || index[axis] >= got.shape[axis]) {
        return absl::InvalidArgumentError("coords outside of the shape");
      }
      i = i * got.shape[axis] + index[axis];
    }
    KILN_RETURN_IF_ERROR(
        check(absl::StrCat("element ", i), values.at(k), at(static_cast<size_t>(i))));
  }
  return differences.Finish();
}

}  // namespace

absl::Status CompareArray(const support::TensorArray& got, const Json& expect,
                          const GraphData& data, Tolerance tolerance) {
  KILN_ASSIGN_OR_RETURN(const DType dtype, ParseScalarDType(expect.at("dtype")));
  if (dtype != got.dtype) {
    return absl::FailedPreconditionError(
        absl::StrCat("dtype ", std::string(Name(got.dtype)), ", not ", std::string(Name(dtype))));
  }
  std::vector<int64_t> shape;
  if (expect.contains("size")) {
    shape = {expect.at("size").get<int64_t>()};
  } else {
    shape = expect.at("shape").get<std::vector<int64_t>>();
  }
  if (shape != got.shape) {
    return absl::FailedPreconditionError(absl::StrCat("shape [", absl::StrJoin(got.shape, ", "),
                                                      "], not [", absl::StrJoin(shape, ", "), "]"));
  }
  if (expect.contains("atol")) {
    KILN_ASSIGN_OR_RETURN(tolerance.atol, ParseDouble(expect.at("atol")));
  }
  if (expect.contains("mean")) return CompareSummary(got, expect, tolerance);
  KILN_ASSIGN_OR_RETURN(const Bytes want,
                        data.Array(expect, static_cast<int64_t>(got.bytes.size())));
  return CompareAll(got, want, tolerance);
}

}  // namespace kiln::replay
