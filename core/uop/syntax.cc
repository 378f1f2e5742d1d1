#include "core/uop/syntax.h"

#include <charconv>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include "core/dtype/cast.h"

namespace kiln::uop::internal {
namespace {

template <typename T>
std::optional<T> ParseNumber(std::string_view s) {
  T v{};
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), v);
  if (error != std::errc() || end != s.data() + s.size()) return std::nullopt;
  return v;
}

std::string Shortest(double v, DType d) {
  char buffer[64];
  const auto text = [&buffer](std::to_chars_result r) { return std::string(buffer, r.ptr); };
  char* const end = buffer + sizeof(buffer);
  // Fewer digits than a double needs, if those are enough for the narrower type; but 448 is not
  // 450.
  const bool whole = std::trunc(v) == v && std::abs(v) < 1e15;
  for (int digits = 1; d != DType::kFloat64 && !whole && digits < 17; ++digits) {
    const std::string s = text(std::to_chars(buffer, end, v, std::chars_format::general, digits));
    const double close = *ParseNumber<double>(s);
    if (std::abs(close) <= dtype::MaxFinite(d) && dtype::RoundToFloat(close, d) == v) {
      return text(std::to_chars(buffer, end, close));  // 100, not 1e+02.
    }
  }
  return text(std::to_chars(buffer, end, v));
}

std::optional<Scalar> ParseFloat(bool negative, std::string_view text, DType d) {
  if (text == "nan") return negative ? std::nullopt : std::optional(Scalar::Float(NAN));
  std::optional<double> v = text == "inf" ? INFINITY : ParseNumber<double>(text);
  if (!v.has_value()) return std::nullopt;
  const double exact = negative ? -*v : *v;
  if (dtype::Represents(d, exact)) return Scalar::Float(exact);
  if (std::abs(exact) > dtype::MaxFinite(d)) return std::nullopt;
  return Scalar::Float(dtype::RoundToFloat(exact, d));
}

}  // namespace

std::string RangeName(int32_t axis_id) {
  return axis_id < 0 ? absl::StrCat("rm", -int64_t{axis_id}) : absl::StrCat("r", axis_id);
}

std::optional<int32_t> ParseRangeName(std::string_view s) {
  const bool negative = s.starts_with("rm");
  const std::optional<int64_t> v =
      s.starts_with("r") ? ParseNumber<int64_t>(s.substr(negative ? 2 : 1)) : std::nullopt;
  if (!v.has_value() || *v < 0 || *v > int64_t{INT32_MAX} + 1) return std::nullopt;
  const int64_t id = negative ? -*v : *v;
  // Refuses leading zeros as well: one axis, one name.
  if (id > INT32_MAX || RangeName(static_cast<int32_t>(id)) != s) return std::nullopt;
  return static_cast<int32_t>(id);
}

std::string LiteralText(Scalar v, DType d) {
  if (!dtype::IsFloat(d)) return kiln::ToString(v.AsWide(d));
  const double f = v.AsFloat();
  if (std::isnan(f)) return "nan";
  if (std::isinf(f)) return f < 0 ? "-inf" : "inf";
  std::string s = Shortest(f, d);
  if (s.find_first_of(".e") == std::string::npos) s += ".0";
  return s;
}

std::optional<Scalar> ParseLiteral(bool negative, std::string_view text, DType d) {
  if (d == DType::kVoid || d == DType::kBool) return std::nullopt;
  if (dtype::IsFloat(d)) return ParseFloat(negative, text, d);
  const std::optional<uint64_t> magnitude = ParseNumber<uint64_t>(text);
  if (!magnitude.has_value()) return std::nullopt;
  const Int128 v = negative ? -Int128{*magnitude} : Int128{*magnitude};
  const std::optional<Scalar> wrapped = dtype::WrapInteger(v, d);
  return wrapped.has_value() && wrapped->AsWide(d) == v ? wrapped : std::nullopt;
}

std::string Quote(std::string_view s) {
  std::string quoted = "\"";
  for (char c : s) {
    if (c == '"' || c == '\\') {
      quoted += {'\\', c};
    } else if (c >= ' ' && c <= '~') {
      quoted += c;
    } else {
      absl::StrAppendFormat(&quoted, "\\x%02x", static_cast<uint8_t>(c));
    }
  }
  return quoted + '"';
}

}  // namespace kiln::uop::internal
