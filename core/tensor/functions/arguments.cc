#include "core/tensor/functions/arguments.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_join.h"

#include "core/dtype/promote.h"
#include "core/tensor/functions/algebra.h"

namespace kiln::tensor::functions {
namespace {

std::string AxesText(int64_t n) { return n == 1 ? "1 axis" : absl::StrCat(n, " axes"); }
std::string Str(std::string_view s) { return std::string(s); }

bool Admits(DTypeRule rule, DType d) {
  const bool is_integer = dtype::IsFixedWidthInteger(d) || d == DType::kBool;
  return (rule != DTypeRule::kInteger && rule != DTypeRule::kBits) || is_integer;
}

// What a rule makes of a dtype that it admits.
DType Made(DTypeRule rule, DType d) {
  switch (rule) {
    case DTypeRule::kAny:
    case DTypeRule::kBits:
      return d;
    case DTypeRule::kNumber:
    case DTypeRule::kInteger:
      return d == DType::kBool ? DType::kInt32 : d;
    case DTypeRule::kFloat:
      return dtype::IsFloat(d) ? d : DType::kFloat32;
    case DTypeRule::kTruth:
      return DType::kBool;
  }
  return d;
}

}  // namespace

Arguments::Arguments(Composer& composer, const FunctionSchema& schema,
                     absl::Span<const std::optional<Source>> inputs,
                     absl::Span<const Attribute> attributes)
    : composer_(composer), schema_(schema) {
  TakeAttributes(attributes);
  if (ok()) TakeInputs(inputs);
}

// ** inputs **

void Arguments::TakeInputs(absl::Span<const std::optional<Source>> inputs) {
  const size_t declared = schema_.inputs.size();
  const bool variadic = declared > 0 && schema_.inputs.back().is_variadic;
  if (inputs.size() > declared && !variadic) {
    Fail("inputs", inputs.size(), " given, it takes ", declared);
    return;
  }
  std::vector<DType> promoted;
  for (size_t i = 0; i < std::max(declared, inputs.size()); ++i) {
    const InputSchema& input = schema_.inputs[std::min(i, declared - 1)];
    if (i >= inputs.size() || !inputs[i].has_value()) {
      if (!input.is_optional) Fail(input.name, "it is missing");
      inputs_.emplace_back();
      continue;
    }
    const Tensor x = composer_.Take(inputs[i]->value());
    const Ref node = ok() ? composer_.NodeOf(x.value()) : nullptr;
    if (!ok()) return;
    if (node == nullptr) {
      Fail(input.name, "there is no node ", x.value().node);
      return;
    }
    if (node->dtype == DType::kIndex) {
      Fail(input.name, "it has dtype index, which is for sizes: cast it first");
      return;
    }
    if (x.rank() < input.min_rank || x.rank() > input.max_rank) {
      const std::string want = input.min_rank == input.max_rank ? AxesText(input.min_rank)
                               : input.max_rank == kMaxRank
                                   ? absl::StrCat("at least ", AxesText(input.min_rank))
                                   : absl::StrCat(input.min_rank, " to ", AxesText(input.max_rank));
      Fail(input.name, "its shape ", ToText(x.shape()), " has ", AxesText(x.rank()), ", it needs ",
           want);
      return;
    }
    if (!Admits(input.rule, x.dtype())) {
      Fail(input.name, "its dtype is ", Str(dtype::Name(x.dtype())), ", it must be ",
           Str(NameOf(input.rule)));
      return;
    }
    if (input.is_promoted) promoted.push_back(x.dtype());
    inputs_.push_back(x);
  }
  const DType common = promoted.empty() ? DType::kVoid : dtype::LeastUpperDType(promoted);
  for (size_t i = 0; i < inputs_.size() && ok(); ++i) {
    const InputSchema& input = schema_.inputs[std::min(i, declared - 1)];
    if (inputs_[i]) inputs_[i] = WithRule(input, inputs_[i], common);
  }
}

Tensor Arguments::WithRule(const InputSchema& schema, const Tensor& x, DType common) const {
  return Cast(x, Made(schema.rule, schema.is_promoted ? common : x.dtype()));
}

Tensor Arguments::operator[](std::string_view input) const {
  for (size_t i = 0; i < inputs_.size() && i < schema_.inputs.size(); ++i) {
    if (schema_.inputs[i].name == input) return inputs_[i];
  }
  return {};
}

Tensors Arguments::List(std::string_view input) const {
  for (size_t i = 0; i < schema_.inputs.size() && i <= inputs_.size(); ++i) {
    if (schema_.inputs[i].name != input) continue;
    return {inputs_.begin() + static_cast<int64_t>(i), inputs_.end()};
  }
  return {};
}

Tensor Arguments::Shaped(std::string_view input, const Shape& shape) const {
  const Tensor x = (*this)[input];
  if (!x || !ok() || x.shape() == shape) return x;
  return Fail(input, "its shape is ", ToText(x.shape()), ", it must be ", ToText(shape));
}

// ** attributes **

void Arguments::TakeAttributes(absl::Span<const Attribute> attributes) {
  for (const Attribute& given : attributes) {
    const auto declared =
        std::find_if(schema_.attributes.begin(), schema_.attributes.end(),
                     [&given](const AttributeSchema& a) { return a.name == given.name; });
    if (declared == schema_.attributes.end()) {
      const std::string known = absl::StrJoin(
          schema_.attributes, ", ",
          [](std::string* out, const AttributeSchema& a) { absl::StrAppend(out, a.name); });
      Fail(given.name, "no such attribute, there ",
           known.empty() ? "are none" : absl::StrCat("is ", known));
      return;
    }
    std::optional<AttributeValue> value = Converted(*declared, given.value);
    if (!value.has_value()) return;
    if (!attributes_.emplace(given.name, *std::move(value)).second) {
      Fail(given.name, "it is given twice");
      return;
    }
  }
  for (const AttributeSchema& a : schema_.attributes) {
    if (attributes_.contains(a.name)) continue;
    if (a.is_required) Fail(a.name, "it is missing");
    if (a.default_value.has_value()) attributes_.emplace(a.name, *a.default_value);
  }
}

bool Arguments::InRange(const AttributeSchema& schema, double v) const {
  if (v >= schema.min && v <= schema.max) return true;
  const std::string want = std::isinf(schema.max) ? absl::StrCat("at least ", schema.min)
                           : std::isinf(schema.min)
                               ? absl::StrCat("at most ", schema.max)
                               : absl::StrCat("between ", schema.min, " and ", schema.max);
  Fail(schema.name, v, " given, it must be ", want);
  return false;
}

std::optional<AttributeValue> Arguments::Converted(const AttributeSchema& schema,
                                                   const AttributeValue& given) const {
  const auto wrong = [&]() -> std::optional<AttributeValue> {
    Fail(schema.name, ToText(given), " given, it must be ", Str(NameOf(schema.type)));
    return std::nullopt;
  };
  switch (schema.type) {
    case AttributeType::kInt: {
      const auto* v = std::get_if<int64_t>(&given);
      if (v == nullptr) return wrong();
      return InRange(schema, static_cast<double>(*v)) ? std::optional(given) : std::nullopt;
    }
    case AttributeType::kFloat: {
      double v = 0;
      if (const auto* f = std::get_if<double>(&given)) {
        v = *f;
      } else if (const auto* i = std::get_if<int64_t>(&given)) {
        v = static_cast<double>(*i);
      } else {
        return wrong();
      }
      return InRange(schema, v) ? std::optional<AttributeValue>(v) : std::nullopt;
    }
    case AttributeType::kBool:
      return std::holds_alternative<bool>(given) ? std::optional(given) : wrong();
    case AttributeType::kText: {
      const auto* v = std::get_if<std::string>(&given);
      if (v == nullptr) return wrong();
      const auto& choices = schema.choices;
      if (choices.empty() || std::find(choices.begin(), choices.end(), *v) != choices.end()) {
        return given;
      }
      Fail(schema.name, "\"", *v, "\" given, it must be one of ", absl::StrJoin(choices, ", "));
      return std::nullopt;
    }
    case AttributeType::kDType: {
      const auto* v = std::get_if<DType>(&given);
      if (v == nullptr) return wrong();
      if (static_cast<int>(*v) < dtype::kNumDTypes && dtype::SizeBits(*v) > 0) return given;
      Fail(schema.name, "it is no dtype of tensors");
      return std::nullopt;
    }
    case AttributeType::kInts: {
      std::vector<int64_t> list;
      if (const auto* v = std::get_if<std::vector<int64_t>>(&given)) {
        list = *v;
      } else if (const auto* one = std::get_if<int64_t>(&given)) {
        list.push_back(*one);
      } else if (const auto* sizes = std::get_if<std::vector<Dim>>(&given)) {
        for (const Dim& d : *sizes) {
          if (d.node().has_value()) return wrong();
          list.push_back(d.size());
        }
      } else {
        return wrong();
      }
      for (int64_t v : list) {
        if (!InRange(schema, static_cast<double>(v))) return std::nullopt;
      }
      return list;
    }
    case AttributeType::kSize:
    case AttributeType::kSizes: {
      std::vector<Dim> list;
      if (const auto* v = std::get_if<std::vector<Dim>>(&given)) {
        list = *v;
      } else if (const auto* ints = std::get_if<std::vector<int64_t>>(&given)) {
        list.assign(ints->begin(), ints->end());
      } else if (const auto* one = std::get_if<int64_t>(&given)) {
        list.emplace_back(*one);
      } else {
        return wrong();
      }
      if (schema.type == AttributeType::kSize && list.size() != 1) return wrong();
      for (const Dim& d : list) {
        if (!d.node().has_value() && !InRange(schema, static_cast<double>(d.size()))) {
          return std::nullopt;
        }
      }
      return list;
    }
  }
  return wrong();
}

const AttributeValue* Arguments::Get(std::string_view name) const {
  const auto it = attributes_.find(name);
  return it == attributes_.end() ? nullptr : &it->second;
}

namespace {
template <typename T>
T ValueOr(const AttributeValue* v, T otherwise) {
  const T* held = v == nullptr ? nullptr : std::get_if<T>(v);
  return held == nullptr ? otherwise : *held;
}
}  // namespace

bool Arguments::Has(std::string_view name) const { return Get(name) != nullptr; }
int64_t Arguments::Int(std::string_view name) const { return ValueOr<int64_t>(Get(name), 0); }
double Arguments::Float(std::string_view name) const { return ValueOr<double>(Get(name), 0); }
bool Arguments::Flag(std::string_view name) const { return ValueOr<bool>(Get(name), false); }
std::string Arguments::Text(std::string_view name) const {
  return ValueOr<std::string>(Get(name), "");
}
std::optional<DType> Arguments::DTypeIn(std::string_view name) const {
  if (!Has(name)) return std::nullopt;
  return ValueOr<DType>(Get(name), DType::kVoid);
}
std::vector<int64_t> Arguments::Ints(std::string_view name) const {
  return ValueOr<std::vector<int64_t>>(Get(name), {});
}
Shape Arguments::Sizes(std::string_view name) const {
  Shape sizes;
  for (const Dim& d : ValueOr<std::vector<Dim>>(Get(name), {})) {
    sizes.push_back(composer_.FromDim(d));
  }
  return sizes;
}

Size Arguments::OneSize(std::string_view name) const {
  const AttributeValue* const v = Get(name);
  if (v != nullptr && std::holds_alternative<int64_t>(*v)) return std::get<int64_t>(*v);
  const Shape sizes = Sizes(name);
  return sizes.empty() ? Size(0) : sizes[0];
}

namespace {
std::string NoAxis(int64_t axis, int64_t rank) {
  return rank == 0 ? absl::StrCat(axis, " given, there are no axes")
                   : absl::StrCat(axis, " given, there are axes ", -rank, " to ", rank - 1);
}
}  // namespace

int64_t Arguments::Axis(std::string_view name, int64_t rank) const {
  const int64_t axis = Int(name);
  if (axis >= -rank && axis < rank) return axis < 0 ? axis + rank : axis;
  Fail(name, NoAxis(axis, rank));
  return 0;
}

Axes Arguments::AxesIn(std::string_view name, int64_t rank) const {
  Axes axes;
  if (!Has(name)) {
    for (int64_t a = 0; a < rank; ++a) axes.push_back(a);
    return axes;
  }
  for (int64_t axis : Ints(name)) {
    if (axis < -rank || axis >= rank) {
      Fail(name, NoAxis(axis, rank));
      return {};
    }
    axes.push_back(axis < 0 ? axis + rank : axis);
  }
  std::sort(axes.begin(), axes.end());
  const auto twice = std::adjacent_find(axes.begin(), axes.end());
  if (twice == axes.end()) return axes;
  Fail(name, "axis ", *twice, " is named twice");
  return {};
}

std::vector<int64_t> Arguments::PerAxis(std::string_view name, int64_t count) const {
  std::vector<int64_t> list = Ints(name);
  if (list.size() == 1) list.resize(static_cast<size_t>(count), list[0]);
  if (static_cast<int64_t>(list.size()) == count) return list;
  Fail(name, list.size(), " numbers given, it needs one, or ", count);
  return std::vector<int64_t>(static_cast<size_t>(count), 1);
}

}  // namespace kiln::tensor::functions
