// functions: the library that a daemon offers, and what each function means.
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "client/cpp/ctl/command.h"
#include "client/cpp/ctl/npy.h"
#include "client/cpp/ctl/output.h"

namespace kiln::ctl {
namespace {

// DTYPE_RULE_NUMBER -> "number".
std::string LowerTail(std::string name, size_t prefix_bytes) {
  name.erase(0, std::min(prefix_bytes, name.size()));
  for (char& c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return name;
}
std::string RuleText(const v1::FunctionInput& input) {
  return LowerTail(v1::DTypeRule_Name(input.dtype_rule()), sizeof("DTYPE_RULE_") - 1);
}
std::string TypeText(const v1::FunctionAttribute& attribute) {
  return LowerTail(v1::AttributeType_Name(attribute.type()), sizeof("ATTRIBUTE_TYPE_") - 1);
}

std::string ValueText(const v1::AttributeValue& value) {
  switch (value.value_case()) {
    case v1::AttributeValue::kIntValue:
      return absl::StrCat(value.int_value());
    case v1::AttributeValue::kFloatValue:
      return absl::StrCat(value.float_value());
    case v1::AttributeValue::kBoolValue:
      return value.bool_value() ? "true" : "false";
    case v1::AttributeValue::kText:
      return absl::StrCat("\"", SafeText(value.text()), "\"");
    case v1::AttributeValue::kDtype:
      return DTypeName(value.dtype());
    case v1::AttributeValue::kInts:
      return absl::StrCat("[", absl::StrJoin(value.ints().values(), ", "), "]");
    case v1::AttributeValue::kSizes: {
      std::vector<std::string> sizes;
      for (const v1::Dim& dim : value.sizes().dims()) {
        sizes.push_back(dim.has_node() ? absl::StrCat("node ", dim.node())
                                       : absl::StrCat(dim.value()));
      }
      return absl::StrCat("[", absl::StrJoin(sizes, ", "), "]");
    }
    case v1::AttributeValue::VALUE_NOT_SET:
      return "";
  }
  return "";
}

// "conv(x, weight, [bias]; stride = [1, 1])": inputs, then attributes.
std::string SignatureText(const v1::Function& function) {
  std::vector<std::string> inputs, attributes;
  for (const v1::FunctionInput& input : function.inputs()) {
    const std::string name = absl::StrCat(SafeText(input.name()), input.is_variadic() ? "..." : "");
    inputs.push_back(input.is_optional() ? absl::StrCat("[", name, "]") : name);
  }
  for (const v1::FunctionAttribute& attribute : function.attributes()) {
    const std::string value = ValueText(attribute.default_value());
    attributes.push_back(
        absl::StrCat(SafeText(attribute.name()), value.empty() ? "" : " = ", value));
  }
  return absl::StrCat(SafeText(function.name()), "(", absl::StrJoin(inputs, ", "),
                      attributes.empty() ? "" : "; ", absl::StrJoin(attributes, ", "), ")");
}

// Text of several lines, each safe for a terminal.
std::string SafeLines(const std::string& text) {
  std::string out;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    absl::StrAppend(&out, SafeText(text.substr(begin, end - begin), 10'000), "\n");
    begin = end + 1;
  }
  return out;
}

std::string DocText(const v1::Function& function) {
  std::string out =
      absl::StrCat(SignatureText(function), "\n  -> ", absl::StrJoin(function.outputs(), ", "),
                   "\n\n", SafeLines(function.doc()));
  if (function.inputs_size() > 0) {
    Table table({"INPUT", "DTYPE", "RANK", ""});
    for (const v1::FunctionInput& input : function.inputs()) {
      const std::string rank = input.min_rank() == input.max_rank()
                                   ? absl::StrCat(input.min_rank())
                                   : absl::StrCat(input.min_rank(), " to ", input.max_rank());
      table.AddRow(
          {SafeText(input.name()),
           absl::StrCat(RuleText(input), input.is_promoted() ? ", promoted" : ""), rank,
           absl::StrCat(input.is_optional() ? "(optional) " : "",
                        input.is_variadic() ? "(one or more) " : "", SafeText(input.doc(), 1000))});
    }
    absl::StrAppend(&out, "\n", table.Text());
  }
  if (function.attributes_size() > 0) {
    Table table({"ATTRIBUTE", "TYPE", "DEFAULT", ""});
    for (const v1::FunctionAttribute& attribute : function.attributes()) {
      std::string range;
      if (attribute.has_min()) absl::StrAppend(&range, ">= ", attribute.min(), " ");
      if (attribute.has_max()) absl::StrAppend(&range, "<= ", attribute.max(), " ");
      if (attribute.choices_size() > 0) {
        absl::StrAppend(&range, "(", absl::StrJoin(attribute.choices(), " | "), ") ");
      }
      const std::string value = ValueText(attribute.default_value());
      table.AddRow({SafeText(attribute.name()), TypeText(attribute),
                    attribute.is_required() ? "(required)" : value,
                    absl::StrCat(SafeText(range), SafeText(attribute.doc(), 1000))});
    }
    absl::StrAppend(&out, "\n", table.Text());
  }
  return out;
}

std::string ListText(const v1::ListFunctionsResponse& list) {
  std::map<std::string, std::vector<const v1::Function*>> subjects;
  for (const v1::Function& function : list.functions()) {
    subjects[function.subject()].push_back(&function);
  }
  std::string out;
  for (const auto& [subject, functions] : subjects) {
    Table table({SafeText(subject), ""});
    for (const v1::Function* function : functions) {
      const std::string line = function->doc().substr(0, function->doc().find('\n'));
      table.AddRow({absl::StrCat("  ", SafeText(function->name())), SafeText(line, 90)});
    }
    absl::StrAppend(&out, out.empty() ? "" : "\n", table.Text());
  }
  return out;
}

// Names that a wrong one may stand for.
std::string SimilarText(const v1::ListFunctionsResponse& list, const std::string& name) {
  std::vector<std::string> similar;
  for (const v1::Function& function : list.functions()) {
    const std::string& other = function.name();
    const bool begins_alike = name.size() > 2 && other.substr(0, 3) == name.substr(0, 3);
    if (begins_alike || (name.size() > 1 && other.find(name) != std::string::npos)) {
      similar.push_back(SafeText(other));
    }
  }
  if (similar.size() > 8) similar.resize(8);
  if (similar.empty()) return "kilnctl functions lists those there are";
  return absl::StrCat("there is ", absl::StrJoin(similar, ", "));
}

absl::Status ShowFunctions(const Invocation& invocation, const std::string& name, bool as_json) {
  absl::StatusOr<Server> server = invocation.Connect();
  if (!server.ok()) return server.status();
  v1::ListFunctionsResponse list;
  absl::Status status = server->Call([&](grpc::ClientContext& context) {
    return server->kiln().ListFunctions(&context, {}, &list);
  });
  if (!status.ok()) return status;
  if (name.empty()) {
    std::fputs((as_json ? JsonText(list) : ListText(list)).c_str(), stdout);
    return absl::OkStatus();
  }
  for (const v1::Function& function : list.functions()) {
    if (function.name() != name) continue;
    std::fputs((as_json ? JsonText(function) : DocText(function)).c_str(), stdout);
    return absl::OkStatus();
  }
  return absl::NotFoundError(
      absl::StrCat("there is no function \"", name, "\": ", SimilarText(list, name)));
}

}  // namespace

void AddFunctionsCommand(CLI::App& app, Invocation& invocation) {
  CLI::App* functions = app.add_subcommand("functions", "the function library, or one function");
  auto name = std::make_shared<std::string>();
  auto as_json = std::make_shared<bool>(false);
  functions->add_option("NAME", *name, "describe this one");
  functions->add_flag("--json", *as_json, "as JSON (ListFunctionsResponse, or Function)");
  functions->footer("Example:\n  kilnctl functions softmax");
  functions->callback([&invocation, name, as_json] {
    invocation.action = [&invocation, name, as_json] {
      return ShowFunctions(invocation, *name, *as_json);
    };
  });
}

}  // namespace kiln::ctl
