// The arguments of one call of a library function, checked against its schema.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "core/tensor/functions/schema.h"
#include "core/tensor/functions/tensor.h"

namespace kiln::tensor::functions {

// Confined to one call. What is asked for by name must be in the schema, with this type.
class Arguments {
 public:
  // Checks ranks, dtypes, attributes, and makes inputs what the schema says they are made of. Errors
  // go to the composer.
  Arguments(Composer& composer, const FunctionSchema& schema,
            absl::Span<const std::optional<Source>> inputs, absl::Span<const Attribute> attributes);

  Composer& composer() const { return composer_; }
  bool ok() const { return composer_.ok(); }

  // ** inputs **
  // Absent if it is optional and not given.
  Tensor operator[](std::string_view input) const;
  // Those of a variadic input.
  Tensors List(std::string_view input) const;

  // The same; an error if it is there and has another shape.
  Tensor Shaped(std::string_view input, const Shape& shape) const;

  // ** attributes **
  bool Has(std::string_view name) const;
  int64_t Int(std::string_view name) const;
  double Float(std::string_view name) const;
  bool Flag(std::string_view name) const;
  std::string Text(std::string_view name) const;
  std::optional<DType> DTypeIn(std::string_view name) const;
  std::vector<int64_t> Ints(std::string_view name) const;
  Shape Sizes(std::string_view name) const;
  Size OneSize(std::string_view name) const;
  // An axis of a tensor of this rank, counted from 0.
  int64_t Axis(std::string_view name, int64_t rank) const;
  // Axes, each once, sorted. All, if the attribute is absent.
  Axes AxesIn(std::string_view name, int64_t rank) const;
  // `count` integers; one stands for all.
  std::vector<int64_t> PerAxis(std::string_view name, int64_t count) const;

  // ** errors **: "node 7 (call softmax), axis: 5 given, ...".
  template <typename... Parts>
  Tensor Fail(std::string_view argument, const Parts&... parts) const {
    return composer_.FailIn(argument, parts...);
  }

 private:
  const AttributeValue* Get(std::string_view name) const;
  void TakeInputs(absl::Span<const std::optional<Source>> inputs);
  void TakeAttributes(absl::Span<const Attribute> attributes);
  // The attribute as `schema` wants it; null after an error.
  std::optional<AttributeValue> Converted(const AttributeSchema& schema,
                                          const AttributeValue& given) const;
  bool InRange(const AttributeSchema& schema, double v) const;
  Tensor WithRule(const InputSchema& schema, const Tensor& x, DType common) const;

  Composer& composer_;
  const FunctionSchema& schema_;
  Tensors inputs_;  // One per input of the schema, those of a variadic one from its place on.
  std::map<std::string, AttributeValue, std::less<>> attributes_;
};

}  // namespace kiln::tensor::functions
