// Declarations of elementwise functions in a line each.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "core/tensor/functions/schema.h"
#include "core/tensor/functions/tensor.h"

namespace kiln::tensor::functions {

using Unary = std::function<Tensor(const Tensor&)>;
using Binary = Tensor (*)(const Tensor&, const Tensor&);

// Of "x".
FunctionSchema UnaryRow(std::string_view name, DTypeRule rule, std::string_view doc, Unary f);
FunctionSchema NumberRow(std::string_view name, std::string_view doc, Unary f);
// `f` sees floats of 32 bits at least; its result, if it is a float, goes back to the dtype of x.
FunctionSchema FloatRow(std::string_view name, std::string_view doc, Unary f);
// With attributes.
FunctionSchema FloatRow(std::string_view name, std::string_view doc,
                        std::vector<AttributeSchema> attributes,
                        Tensor (*f)(const Tensor&, const Arguments&));
// Of "x" and "y", which are broadcast and promoted. Floats as in FloatRow where the rule is kFloat.
FunctionSchema BinaryRow(std::string_view name, DTypeRule rule, std::string_view doc, Binary f,
                         bool promoted = false);

// ** attributes that functions without a tensor to follow have **
AttributeSchema Result(std::string_view otherwise);  // "dtype".
AttributeSchema ShapeAttribute();                    // "shape".
// The attribute "dtype".
DType DTypeOr(const Arguments& a, DType otherwise);

}  // namespace kiln::tensor::functions
