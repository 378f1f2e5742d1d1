#include "tests/replay/fixture_dtype.h"

#include <algorithm>
#include <optional>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include "core/dtype/cast.h"
#include "core/dtype/status.h"
#include "tests/replay/value.h"

namespace kiln::replay {
namespace {

// More lanes than any vector has, fewer than would hurt.
constexpr int64_t kMaxLanes = 4096;
constexpr absl::string_view kSkipUrl = "kiln-replay/skip";

absl::Status Bad(absl::string_view message) { return absl::InvalidArgumentError(message); }

absl::StatusOr<FixtureDType> ParseLanes(const std::string& name) {
  if (const auto scalar = dtype::ParseDType(name)) return FixtureDType{.scalar = *scalar};
  const size_t x = name.rfind('x');
  int64_t lanes = 0;
  if (x != std::string::npos && absl::SimpleAtoi(name.substr(x + 1), &lanes)) {
    const auto scalar = dtype::ParseDType(name.substr(0, x));
    if (scalar.has_value() && *scalar != DType::kVoid && lanes >= 1 && lanes <= kMaxLanes) {
      return FixtureDType{.scalar = *scalar, .lanes = static_cast<int>(lanes)};
    }
  }
  return Bad(absl::StrCat("not a dtype: ", name));
}

}  // namespace

absl::StatusOr<FixtureDType> ParseFixtureDType(const Json& json) {
  if (json.is_string()) return ParseLanes(json.get_ref<const std::string&>());
  if (!json.is_object()) return Bad(absl::StrCat("not a dtype: ", Shorten(json)));
  if (json.contains("image")) return NotInOurIr("images are not in our IR");
  if (json.contains("vec")) return NotInOurIr("vectors of pointers are not in our IR");
  KILN_ASSIGN_OR_RETURN(FixtureDType dtype, ParseFixtureDType(json.at("ptr")));
  if (dtype.is_pointer || dtype.scalar == DType::kVoid) {
    return Bad(absl::StrCat("a pointer to no value: ", Shorten(json)));
  }
  if (dtype.lanes != 1) return NotInOurIr("pointers to vectors are not in our IR");
  dtype.is_pointer = true;
  KILN_ASSIGN_OR_RETURN(dtype.elems, ParseInt64(json.at("size")));
  if (dtype.elems < -1) return Bad(absl::StrCat("a buffer of ", dtype.elems, " elements"));
  const std::string& space = json.at("space").get_ref<const std::string&>();
  const auto* const name =
      std::find(std::begin(uop::kAddressSpaceNames), std::end(uop::kAddressSpaceNames), space);
  if (name == std::end(uop::kAddressSpaceNames)) {
    return Bad(absl::StrCat("unknown address space ", space));
  }
  dtype.space = static_cast<AddressSpace>(name - std::begin(uop::kAddressSpaceNames));
  return dtype;
}

std::string ToText(const FixtureDType& dtype) {
  std::string text(dtype::Name(dtype.scalar));
  if (dtype.lanes != 1) absl::StrAppend(&text, "x", dtype.lanes);
  if (dtype.is_pointer) {
    absl::StrAppend(&text, " in ",
                    std::string(uop::kAddressSpaceNames[static_cast<int>(dtype.space)]),
                    " memory, ", dtype.elems, " elements");
  }
  return text;
}

absl::StatusOr<int64_t> ParseInt64(const Json& json) {
  KILN_ASSIGN_OR_RETURN(const Int128 v, ParseWide(json));
  if (!FitsInt64(v)) return Bad(absl::StrCat("not a 64-bit integer: ", Shorten(json)));
  return static_cast<int64_t>(v);
}

absl::StatusOr<Scalar> ParseConstant(const Json& json, DType dtype) {
  if (dtype::IsFloat(dtype)) {
    KILN_ASSIGN_OR_RETURN(const double v, ParseDouble(json));
    return Scalar::Float(dtype::RoundToFloat(v, dtype));
  }
  if (dtype == DType::kVoid) return Bad("a constant without a dtype");
  KILN_ASSIGN_OR_RETURN(const Int128 v, ParseWide(json));
  const std::optional<Scalar> scalar = dtype::WrapInteger(v, dtype);
  if (!scalar.has_value()) return Bad(absl::StrCat("beyond int64: ", Shorten(json)));
  return *scalar;
}

absl::StatusOr<Op> ParseElementwiseOp(const Json& json) {
  const std::string& name = json.get_ref<const std::string&>();
  const std::optional<dtype::AluOp> op = dtype::ParseAluOp(name);
  if (!op.has_value()) return Bad(absl::StrCat("unknown op ", name));
  return uop::FromAlu(*op);
}

std::string Shorten(const Json& json) {
  std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > 80) text = text.substr(0, 77) + "...";
  return text;
}

absl::Status NotInOurIr(absl::string_view reason) {
  absl::Status status = absl::UnimplementedError(reason);
  status.SetPayload(kSkipUrl, absl::Cord());
  return status;
}

bool IsReasonToSkip(const absl::Status& status) { return status.GetPayload(kSkipUrl).has_value(); }

Result ResultOf(const absl::Status& status) {
  if (IsReasonToSkip(status)) return Skip(std::string(status.message()));
  return Fail(status.ToString());
}

}  // namespace kiln::replay
