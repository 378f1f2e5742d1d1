#include "core/tensor/functions/rows.h"

#include "core/tensor/functions/algebra.h"
#include "core/tensor/functions/arguments.h"

namespace kiln::tensor::functions {
namespace {

// The result of a function of wide floats, as that of narrow ones.
Tensor Narrowed(const Tensor& y, DType dtype) { return y.is_float() ? Cast(y, dtype) : y; }

}  // namespace

FunctionSchema UnaryRow(std::string_view name, DTypeRule rule, std::string_view doc, Unary f) {
  FunctionSchema row;
  row.name = name;
  row.doc = doc;
  row.inputs = {Input("x", rule, "the operand")};
  row.outputs = {"y"};
  row.compose = [f = std::move(f)](Arguments& a) -> Tensors { return {f(a["x"])}; };
  return row;
}

FunctionSchema NumberRow(std::string_view name, std::string_view doc, Unary f) {
  return UnaryRow(name, DTypeRule::kNumber, doc, std::move(f));
}

FunctionSchema FloatRow(std::string_view name, std::string_view doc, Unary f) {
  return UnaryRow(name, DTypeRule::kFloat, doc, [f = std::move(f)](const Tensor& x) {
    return Narrowed(f(Widened(x)), x.dtype());
  });
}

FunctionSchema FloatRow(std::string_view name, std::string_view doc,
                        std::vector<AttributeSchema> attributes,
                        Tensor (*f)(const Tensor&, const Arguments&)) {
  FunctionSchema row = UnaryRow(name, DTypeRule::kFloat, doc, nullptr);
  row.attributes = std::move(attributes);
  row.compose = [f](Arguments& a) -> Tensors {
    const Tensor x = a["x"];
    return {Narrowed(f(Widened(x), a), x.dtype())};
  };
  return row;
}

FunctionSchema BinaryRow(std::string_view name, DTypeRule rule, std::string_view doc, Binary f,
                         bool promoted) {
  FunctionSchema row;
  row.name = name;
  row.doc = doc;
  row.inputs = {Input("x", rule, "the first operand"), Input("y", rule, "the second operand")};
  for (InputSchema& in : row.inputs) in.is_promoted = in.is_promoted || promoted;
  row.outputs = {"y"};
  row.compose = [f, rule](Arguments& a) -> Tensors {
    const Tensor x = a["x"], y = a["y"];
    if (rule != DTypeRule::kFloat) return {f(x, y)};
    return {Narrowed(f(Widened(x), Widened(y)), x.dtype())};
  };
  return row;
}

AttributeSchema Result(std::string_view otherwise) {
  return DTypeIn("dtype", absl::StrCat("of the result; ", std::string(otherwise), " if left out"))
      .Optional();
}
AttributeSchema ShapeAttribute() { return Sizes("shape", "the shape").AtLeast(0); }
DType DTypeOr(const Arguments& a, DType otherwise) {
  return a.DTypeIn("dtype").value_or(otherwise);
}

}  // namespace kiln::tensor::functions
