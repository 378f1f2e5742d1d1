#include "tests/replay/value.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>

#include "absl/strings/str_cat.h"

#include "core/dtype/cast.h"

namespace kiln::replay {
namespace {

absl::Status NotA(const std::string& what, const Json& json) {
  std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > 80) text = text.substr(0, 77) + "...";
  return absl::InvalidArgumentError(absl::StrCat("not ", what, ": ", text));
}

std::optional<Int128> ParseDigits(std::string_view digits) {
  const bool negative = !digits.empty() && digits[0] == '-';
  if (negative) digits.remove_prefix(1);
  if (digits.empty()) return std::nullopt;
  Int128 value = 0;
  for (char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
    const int digit = negative ? -(c - '0') : c - '0';
    if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, digit, &value)) {
      return std::nullopt;
    }
  }
  return value;
}

// Numbers the values of a float type in order, both zeros as 0.
int64_t Ordinal(Scalar v, DType dtype) {
  const int width = dtype::SizeBits(dtype);
  const uint64_t bits = dtype::ToBits(v, dtype);
  const uint64_t sign = uint64_t{1} << (width - 1);
  const int64_t magnitude = static_cast<int64_t>(bits & (sign - 1));
  return bits & sign ? -magnitude : magnitude;
}

}  // namespace

absl::StatusOr<DType> ParseScalarDType(const Json& json) {
  if (!json.is_string()) return NotA("the name of a scalar dtype", json);
  const std::optional<DType> dtype = dtype::ParseDType(json.get_ref<const std::string&>());
  if (!dtype.has_value()) return NotA("the name of a scalar dtype", json);
  return *dtype;
}

absl::StatusOr<Int128> ParseWide(const Json& json) {
  if (json.is_boolean()) return json.get<bool>() ? 1 : 0;
  if (json.is_number_unsigned()) return json.get<uint64_t>();
  if (json.is_number_integer()) return json.get<int64_t>();
  if (json.is_number_float()) {
    const double v = json.get<double>();
    if (v == std::trunc(v) && std::fabs(v) < 0x1p126) return static_cast<Int128>(v);
  }
  if (json.is_string()) {
    if (const auto v = ParseDigits(json.get_ref<const std::string&>())) return *v;
  }
  return NotA("an integer", json);
}

absl::StatusOr<double> ParseDouble(const Json& json) {
  if (json.is_number_float()) return json.get<double>();
  if (json.is_number_unsigned()) return static_cast<double>(json.get<uint64_t>());
  if (json.is_number_integer()) return static_cast<double>(json.get<int64_t>());
  if (json.is_string()) {
    const std::string& text = json.get_ref<const std::string&>();
    if (text == "inf") return std::numeric_limits<double>::infinity();
    if (text == "-inf") return -std::numeric_limits<double>::infinity();
    if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
    if (const auto v = ParseDigits(text)) return static_cast<double>(*v);
  }
  return NotA("a number", json);
}

absl::StatusOr<Scalar> ParseScalar(const Json& json, DType dtype) {
  if (dtype == DType::kVoid) return NotA("a value of void", json);
  if (dtype::IsFloat(dtype)) {
    const absl::StatusOr<double> v = ParseDouble(json);
    if (!v.ok()) return v.status();
    const bool rounded = json.is_number_integer() && *ParseWide(json) != static_cast<Int128>(*v);
    if (rounded || !dtype::Represents(dtype, *v)) {
      return NotA(absl::StrCat("a value of ", std::string(dtype::Name(dtype))), json);
    }
    return Scalar::Float(*v);
  }
  const absl::StatusOr<Int128> v = ParseWide(json);
  if (!v.ok()) return v.status();
  const std::optional<Scalar> scalar = dtype::WrapInteger(*v, dtype);
  if (!scalar.has_value() || scalar->AsWide(dtype) != *v) {
    return NotA(absl::StrCat("a value of ", std::string(dtype::Name(dtype))), json);
  }
  return *scalar;
}

std::string ToText(Scalar v, DType dtype) {
  if (dtype == DType::kBool) return v.AsBool() ? "True" : "False";
  if (!dtype::IsFloat(dtype)) return ToString(v.AsWide(dtype));
  char text[40];
  const auto end = std::to_chars(text, text + sizeof(text), v.AsFloat()).ptr;  // Shortest.
  return std::isnan(v.AsFloat()) ? "nan" : std::string(text, end);
}

std::optional<uint64_t> UlpDistance(Scalar a, Scalar b, DType dtype) {
  if (!std::isfinite(a.AsFloat()) || !std::isfinite(b.AsFloat())) return std::nullopt;
  const int64_t x = Ordinal(a, dtype), y = Ordinal(b, dtype);
  return x < y ? static_cast<uint64_t>(y) - static_cast<uint64_t>(x)
               : static_cast<uint64_t>(x) - static_cast<uint64_t>(y);
}

bool Matches(Scalar got, Scalar want, DType dtype, uint64_t ulp) {
  if (got == want) return true;
  if (ulp == 0 || !dtype::IsFloat(dtype) || got.AsFloat() == 0 || want.AsFloat() == 0) return false;
  const std::optional<uint64_t> distance = UlpDistance(got, want, dtype);
  return distance.has_value() && *distance <= ulp;
}

}  // namespace kiln::replay
