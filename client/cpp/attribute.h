// Attributes of library functions, and sizes of tensors.
//
//   Call("softmax", {x}, {{"axis", 1}});
//   Call("reshape", {x}, {{"shape", Dims{n, 64}}});    // n is a Variable.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "kiln/v1/graph.pb.h"

namespace kiln {

// A size that each run of a captured graph gives by name, min <= value <= max.
struct Variable {
  std::string name;
  int64_t min = 0, max = 0;
};

// A number of elements: known, or a variable.
struct Dim {
  template <typename T, std::enable_if_t<std::is_integral_v<T>, int> = 0>
  Dim(T size) : value(static_cast<int64_t>(size)) {}  // NOLINT(google-explicit-constructor)
  Dim(Variable v) : variable(std::move(v)) {}         // NOLINT(google-explicit-constructor)

  int64_t value = 0;
  std::optional<Variable> variable;
};
using Dims = std::vector<Dim>;

// Converts from what an attribute may be.
class Attribute {
 public:
  template <typename T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
  Attribute(T number) {  // NOLINT(google-explicit-constructor)
    if constexpr (std::is_same_v<T, bool>) {
      value_ = number;
    } else if constexpr (std::is_floating_point_v<T>) {
      value_ = static_cast<double>(number);
    } else {
      value_ = static_cast<int64_t>(number);
    }
  }
  Attribute(const char* text) : value_(std::string(text)) {}         // NOLINT
  Attribute(std::string text) : value_(std::move(text)) {}           // NOLINT
  Attribute(v1::DType dtype) : value_(dtype) {}                      // NOLINT
  Attribute(std::vector<int64_t> ints) : value_(std::move(ints)) {}  // NOLINT
  Attribute(Dims sizes) : value_(std::move(sizes)) {}                // NOLINT

  const auto& value() const { return value_; }

 private:
  std::variant<int64_t, double, bool, std::string, v1::DType, std::vector<int64_t>, Dims> value_;
};
using Attributes = std::vector<std::pair<std::string, Attribute>>;

}  // namespace kiln
