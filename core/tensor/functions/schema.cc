#include "core/tensor/functions/schema.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/tensor/functions/tables.h"
#include "core/tensor/functions/tensor.h"
#include "core/uop/hash.h"

namespace kiln::tensor::functions {

// ** declarations **

InputSchema Input(std::string_view name, DTypeRule rule, std::string_view doc) {
  InputSchema input;
  input.name = name;
  input.rule = rule;
  input.doc = doc;
  // What has a meaning of its own does not mix with the others.
  input.is_promoted = rule != DTypeRule::kInteger && rule != DTypeRule::kTruth;
  return input;
}

namespace {
AttributeSchema Declared(std::string_view name, AttributeType type, std::string_view doc) {
  AttributeSchema a;
  a.name = name;
  a.type = type;
  a.doc = doc;
  return a;
}
}  // namespace

AttributeSchema Int(std::string_view name, std::string_view doc) {
  return Declared(name, AttributeType::kInt, doc);
}
AttributeSchema Float(std::string_view name, std::string_view doc) {
  return Declared(name, AttributeType::kFloat, doc);
}
AttributeSchema Flag(std::string_view name, bool otherwise, std::string_view doc) {
  return Declared(name, AttributeType::kBool, doc).Default(otherwise);
}
AttributeSchema Text(std::string_view name, std::string_view doc) {
  return Declared(name, AttributeType::kText, doc);
}
AttributeSchema Choice(std::string_view name, std::vector<std::string> choices,
                       std::string_view doc) {
  AttributeSchema a = Declared(name, AttributeType::kText, doc).Default(choices.front());
  a.choices = std::move(choices);
  return a;
}
AttributeSchema DTypeIn(std::string_view name, std::string_view doc) {
  return Declared(name, AttributeType::kDType, doc);
}
AttributeSchema Ints(std::string_view name, std::string_view doc) {
  return Declared(name, AttributeType::kInts, doc);
}
AttributeSchema Sizes(std::string_view name, std::string_view doc) {
  return Declared(name, AttributeType::kSizes, doc);
}
AttributeSchema OneSize(std::string_view name, std::string_view doc) {
  return Declared(name, AttributeType::kSize, doc);
}

AttributeSchema AxisOf(std::string_view input) {
  return Int("axis", absl::StrCat("an axis of ", std::string(input), ", negative from the end"))
      .Default(int64_t{-1});
}
AttributeSchema AxesOf(std::string_view input) {
  return Ints("axes", absl::StrCat("axes of ", std::string(input),
                                   ", each once, negative from the end; all, if left out"))
      .Optional();
}
AttributeSchema KeepDim() {
  return Flag("keepdim", false, "whether reduced axes stay with size 1");
}

// ** the library **

absl::Span<const FunctionSchema> AllFunctions() {
  static const auto* const all = [] {
    auto* functions = new std::vector<FunctionSchema>;
    for (const Table& table : Tables()) {
      for (FunctionSchema& f : table.functions()) {
        f.subject = table.subject;
        functions->push_back(std::move(f));
      }
    }
    std::sort(functions->begin(), functions->end(),
              [](const FunctionSchema& a, const FunctionSchema& b) { return a.name < b.name; });
    return functions;
  }();
  return *all;
}

const FunctionSchema* Find(std::string_view name) {
  const absl::Span<const FunctionSchema> all = AllFunctions();
  const auto it =
      std::lower_bound(all.begin(), all.end(), name,
                       [](const FunctionSchema& f, std::string_view n) { return f.name < n; });
  return it != all.end() && it->name == name ? &*it : nullptr;
}

// The reference says everything that a description has.
uop::Key LibraryDigest() {
  static const uop::Key digest = [] {
    const std::string page = ReferencePage();
    uop::Hasher128 hasher;
    hasher.Add(page.size(), 0);
    hasher.AddText(page);
    const auto [hi, lo] = hasher.Finish();
    return uop::Key{hi, lo};
  }();
  return digest;
}

// ** text **

std::string_view NameOf(DTypeRule rule) {
  switch (rule) {
    case DTypeRule::kAny:
      return "any dtype";
    case DTypeRule::kNumber:
      return "a number";
    case DTypeRule::kFloat:
      return "a float";
    case DTypeRule::kInteger:
      return "an integer";
    case DTypeRule::kBits:
      return "bool or an integer";
    case DTypeRule::kTruth:
      return "a truth";
  }
  return "";
}

std::string_view NameOf(AttributeType type) {
  switch (type) {
    case AttributeType::kInt:
      return "an integer";
    case AttributeType::kFloat:
      return "a number";
    case AttributeType::kBool:
      return "true or false";
    case AttributeType::kText:
      return "a text";
    case AttributeType::kDType:
      return "a dtype";
    case AttributeType::kInts:
      return "a list of integers";
    case AttributeType::kSizes:
      return "a list of sizes";
    case AttributeType::kSize:
      return "a size";
  }
  return "";
}

namespace {
struct ToTextVisitor {
  std::string operator()(int64_t v) const { return absl::StrCat(v); }
  std::string operator()(double v) const { return absl::StrCat(v); }
  std::string operator()(bool v) const { return v ? "true" : "false"; }
  std::string operator()(const std::string& v) const { return absl::StrCat("\"", v, "\""); }
  std::string operator()(DType v) const {
    return static_cast<int>(v) < dtype::kNumDTypes ? std::string(dtype::Name(v)) : "no dtype";
  }
  std::string operator()(const std::vector<int64_t>& v) const {
    return absl::StrCat("[", absl::StrJoin(v, ", "), "]");
  }
  std::string operator()(const std::vector<Dim>& v) const {
    return absl::StrCat("[",
                        absl::StrJoin(v, ", ",
                                      [](std::string* out, const Dim& d) {
                                        if (d.node().has_value()) {
                                          out->append("a node");
                                        } else {
                                          absl::StrAppend(out, d.size());
                                        }
                                      }),
                        "]");
  }
};
}  // namespace

std::string ToText(const AttributeValue& value) { return std::visit(ToTextVisitor(), value); }

}  // namespace kiln::tensor::functions
