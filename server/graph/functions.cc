#include "server/graph/functions.h"

#include <cmath>
#include <string_view>
#include <variant>
#include <vector>

#include "core/tensor/functions/schema.h"
#include "server/graph/dtypes.h"

namespace kiln::server {
namespace {

using tensor::functions::AttributeSchema;
using tensor::functions::AttributeType;
using tensor::functions::DTypeRule;
using tensor::functions::FunctionSchema;
using tensor::functions::InputSchema;

pb::DTypeRule ToProto(DTypeRule rule) {
  switch (rule) {
    case DTypeRule::kAny:
      return pb::DTYPE_RULE_ANY;
    case DTypeRule::kNumber:
      return pb::DTYPE_RULE_NUMBER;
    case DTypeRule::kFloat:
      return pb::DTYPE_RULE_FLOAT;
    case DTypeRule::kInteger:
      return pb::DTYPE_RULE_INTEGER;
    case DTypeRule::kBits:
      return pb::DTYPE_RULE_BITS;
    case DTypeRule::kTruth:
      return pb::DTYPE_RULE_TRUTH;
  }
  return pb::DTYPE_RULE_UNSPECIFIED;
}

pb::AttributeType ToProto(AttributeType type) {
  switch (type) {
    case AttributeType::kInt:
      return pb::ATTRIBUTE_TYPE_INT;
    case AttributeType::kFloat:
      return pb::ATTRIBUTE_TYPE_FLOAT;
    case AttributeType::kBool:
      return pb::ATTRIBUTE_TYPE_BOOL;
    case AttributeType::kText:
      return pb::ATTRIBUTE_TYPE_TEXT;
    case AttributeType::kDType:
      return pb::ATTRIBUTE_TYPE_DTYPE;
    case AttributeType::kInts:
      return pb::ATTRIBUTE_TYPE_INTS;
    case AttributeType::kSizes:
      return pb::ATTRIBUTE_TYPE_SIZES;
    case AttributeType::kSize:
      return pb::ATTRIBUTE_TYPE_SIZE;
  }
  return pb::ATTRIBUTE_TYPE_UNSPECIFIED;
}

// Sets the field of an AttributeValue that a value of its type has.
struct SetValue {
  pb::AttributeValue& to;

  void operator()(int64_t v) const { to.set_int_value(v); }
  void operator()(double v) const { to.set_float_value(v); }
  void operator()(bool v) const { to.set_bool_value(v); }
  void operator()(const std::string& v) const { to.set_text(v); }
  void operator()(DType v) const { to.set_dtype(server::ToProto(v)); }
  void operator()(const std::vector<int64_t>& v) const {
    to.mutable_ints()->mutable_values()->Add(v.begin(), v.end());
  }
  void operator()(const std::vector<tensor::Dim>& v) const {
    pb::Dims& sizes = *to.mutable_sizes();
    for (const tensor::Dim& dim : v) sizes.add_dims()->set_value(dim.size());
  }
};

void Describe(const InputSchema& input, pb::FunctionInput& to) {
  to.set_name(input.name);
  to.set_dtype_rule(ToProto(input.rule));
  to.set_doc(input.doc);
  to.set_min_rank(static_cast<uint32_t>(input.min_rank));
  to.set_max_rank(static_cast<uint32_t>(input.max_rank));
  to.set_is_optional(input.is_optional);
  to.set_is_variadic(input.is_variadic);
  to.set_is_promoted(input.is_promoted);
}

void Describe(const AttributeSchema& attribute, pb::FunctionAttribute& to) {
  to.set_name(attribute.name);
  to.set_type(ToProto(attribute.type));
  to.set_doc(attribute.doc);
  to.set_is_required(attribute.is_required);
  if (attribute.default_value.has_value()) {
    std::visit(SetValue{*to.mutable_default_value()}, *attribute.default_value);
  }
  if (!std::isinf(attribute.min)) to.set_min(attribute.min);
  if (!std::isinf(attribute.max)) to.set_max(attribute.max);
  to.mutable_choices()->Add(attribute.choices.begin(), attribute.choices.end());
}

void Describe(const FunctionSchema& function, pb::Function& to) {
  to.set_name(function.name);
  to.set_subject(function.subject);
  to.set_doc(function.doc);
  for (const InputSchema& input : function.inputs) Describe(input, *to.add_inputs());
  for (const AttributeSchema& a : function.attributes) Describe(a, *to.add_attributes());
  to.mutable_outputs()->Add(function.outputs.begin(), function.outputs.end());
}

}  // namespace

const pb::ListFunctionsResponse& DescribeFunctions() {
  static const pb::ListFunctionsResponse* const kAll = [] {
    auto* all = new pb::ListFunctionsResponse;
    all->set_digest(FunctionsDigest());
    for (const FunctionSchema& f : tensor::functions::AllFunctions()) {
      Describe(f, *all->add_functions());
    }
    return all;
  }();
  return *kAll;
}

std::string FunctionsDigest() {
  const uop::Key key = tensor::functions::LibraryDigest();
  std::string bytes;
  for (const uint64_t half : {key.hi, key.lo}) {
    for (int shift = 56; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(half >> shift));
  }
  return bytes;
}

}  // namespace kiln::server
