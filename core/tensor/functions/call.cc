// GraphBuilder::Call: finds, checks, expands.
#include "core/tensor/functions/arguments.h"
#include "core/tensor/functions/schema.h"
#include "core/tensor/graph_builder_impl.h"

namespace kiln::tensor {

absl::StatusOr<std::vector<Value>> GraphBuilder::Call(
    absl::string_view function, absl::Span<const std::optional<Source>> inputs,
    absl::Span<const Attribute> attributes) {
  const std::string_view name(function.data(), function.size());
  return impl_->AddCall(function, [&]() -> absl::StatusOr<std::vector<Value>> {
    const functions::FunctionSchema* schema = functions::Find(name);
    if (schema == nullptr) {
      return absl::NotFoundError(absl::StrCat(impl_->CallName(), ": there is no such function"));
    }
    functions::Composer composer(*this, *impl_);
    functions::Arguments arguments(composer, *schema, inputs, attributes);
    KILN_RETURN_IF_ERROR(composer.status());
    const functions::Tensors outputs = schema->compose(arguments);
    KILN_RETURN_IF_ERROR(composer.status());
    std::vector<Value> values;
    for (const functions::Tensor& y : outputs) values.push_back(y.value());
    return values;
  });
}

}  // namespace kiln::tensor
