// Wrong arguments of every kind, for each argument of each function: the message names node, function
// and argument, says what was given, and what would be right.
#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/tensor/functions/schema.h"
#include "core/tensor/graph_builder.h"

namespace kiln::tensor::functions {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// One call with good arguments as the schema declares them, but for one.
class Call {
 public:
  explicit Call(const FunctionSchema& f) : f_(f) {
    for (const InputSchema& in : f.inputs) inputs_.push_back(Good(in));
    for (const AttributeSchema& a : f.attributes) {
      if (a.is_required) attributes_.push_back({a.name, Good(a)});
    }
  }

  std::vector<std::optional<Source>>& inputs() { return inputs_; }
  std::vector<Attribute>& attributes() { return attributes_; }
  void Set(const std::string& name, AttributeValue value) {
    std::erase_if(attributes_, [&](const Attribute& a) { return a.name == name; });
    attributes_.push_back({name, std::move(value)});
  }
  std::optional<Source> Made(DType dtype, int rank) {
    return Source(b_.Input(slot_++, dtype, std::vector<Dim>(static_cast<size_t>(rank), Dim(2))));
  }
  GraphBuilder& builder() { return b_; }

  // What is said about `argument`.
  std::string Refusal(const std::string& argument) {
    const auto made = b_.Call(f_.name, inputs_, attributes_);
    if (made.ok()) return "not refused";
    EXPECT_EQ(made.status().code(), absl::StatusCode::kInvalidArgument);
    const std::string message(made.status().message());
    const std::string start = absl::StrCat(" (call ", f_.name, "), ", argument, ": ");
    const size_t at = message.find(start);
    if (at == std::string::npos || !message.starts_with("node ")) return message;
    return message.substr(at + start.size());
  }

 private:
  std::optional<Source> Good(const InputSchema& in) {
    const bool is_integer = in.rule == DTypeRule::kInteger || in.rule == DTypeRule::kBits;
    return Made(is_integer ? DType::kInt32 : DType::kFloat32, in.min_rank);
  }
  static AttributeValue Good(const AttributeSchema& a) {
    const double number = std::clamp(1.0, a.min, a.max);
    const auto whole = static_cast<int64_t>(number);
    switch (a.type) {
      case AttributeType::kInt:
      case AttributeType::kSize:
        return whole;
      case AttributeType::kFloat:
        return number;
      case AttributeType::kBool:
        return true;
      case AttributeType::kText:
        return a.choices.empty() ? std::string("a->a") : a.choices[0];
      case AttributeType::kDType:
        return DType::kFloat32;
      case AttributeType::kInts:
      case AttributeType::kSizes:
        return std::vector<int64_t>{whole};
    }
    return whole;
  }

  const FunctionSchema& f_;
  GraphBuilder b_;
  int64_t slot_ = 0;
  std::vector<std::optional<Source>> inputs_;
  std::vector<Attribute> attributes_;
};

std::string Plural(int n) { return n == 1 ? "1 axis" : absl::StrCat(n, " axes"); }

TEST(Refusals, OfInputs) {
  int rows = 0;
  for (const FunctionSchema& f : AllFunctions()) {
    SCOPED_TRACE(f.name);
    for (size_t i = 0; i < f.inputs.size(); ++i, ++rows) {
      const InputSchema& in = f.inputs[i];
      SCOPED_TRACE(in.name);
      if (!in.is_optional) {
        Call missing(f);
        missing.inputs()[i] = std::nullopt;
        EXPECT_EQ(missing.Refusal(in.name), "it is missing");
      }
      Call nowhere(f);
      nowhere.inputs()[i] = Source(Value{12345});
      EXPECT_EQ(nowhere.Refusal(in.name), "there is no node 12345");
      Call size(f);
      size.inputs()[i] = Source(size.builder().Index(3));
      EXPECT_EQ(size.Refusal(in.name), "it has dtype index, which is for sizes: cast it first");
      if (in.rule == DTypeRule::kInteger || in.rule == DTypeRule::kBits) {
        Call real(f);
        real.inputs()[i] = real.Made(DType::kFloat64, in.min_rank);
        EXPECT_EQ(real.Refusal(in.name),
                  absl::StrCat("its dtype is float64, it must be ", std::string(NameOf(in.rule))));
      }
      const std::string want = in.min_rank == in.max_rank ? Plural(in.min_rank)
                               : in.max_rank == kMaxRank
                                   ? absl::StrCat("at least ", Plural(in.min_rank))
                                   : absl::StrCat(in.min_rank, " to ", Plural(in.max_rank));
      const DType dtype = in.rule == DTypeRule::kInteger || in.rule == DTypeRule::kBits
                              ? DType::kInt32
                              : DType::kFloat32;
      for (int rank : {in.min_rank - 1, in.max_rank + 1}) {
        if (rank < 0 || rank > kMaxRank) continue;
        Call other(f);
        other.inputs()[i] = other.Made(dtype, rank);
        EXPECT_THAT(other.Refusal(in.name),
                    HasSubstr(absl::StrCat(" has ", Plural(rank), ", it needs ", want)));
      }
    }
    if (f.inputs.empty() || !f.inputs.back().is_variadic) {
      Call more(f);
      const size_t given = f.inputs.size() + 1;
      more.inputs().resize(given, more.Made(DType::kFloat32, 1));
      EXPECT_EQ(more.Refusal("inputs"), absl::StrCat(given, " given, it takes ", f.inputs.size()));
    }
  }
  EXPECT_GT(rows, 250);
}

// Of a type that no attribute of type `type` takes.
AttributeValue OfOtherType(AttributeType type) {
  return type == AttributeType::kText ? AttributeValue(true) : AttributeValue("text");
}

TEST(Refusals, OfAttributes) {
  int rows = 0;
  for (const FunctionSchema& f : AllFunctions()) {
    SCOPED_TRACE(f.name);
    Call unknown(f);
    unknown.Set("no_such", int64_t{1});
    const std::string known = absl::StrJoin(
        f.attributes, ", ",
        [](std::string* out, const AttributeSchema& a) { absl::StrAppend(out, a.name); });
    EXPECT_EQ(unknown.Refusal("no_such"),
              absl::StrCat("no such attribute, there ",
                           known.empty() ? "are none" : absl::StrCat("is ", known)));
    for (const AttributeSchema& a : f.attributes) {
      ++rows;
      SCOPED_TRACE(a.name);
      if (a.is_required) {
        Call missing(f);
        std::erase_if(missing.attributes(),
                      [&](const Attribute& given) { return given.name == a.name; });
        EXPECT_EQ(missing.Refusal(a.name), "it is missing");
      }
      Call other(f);
      const AttributeValue wrong = OfOtherType(a.type);
      other.Set(a.name, wrong);
      EXPECT_EQ(other.Refusal(a.name),
                absl::StrCat(ToText(wrong), " given, it must be ", std::string(NameOf(a.type))));
      if (a.default_value.has_value()) {
        Call twice(f);
        twice.attributes().insert(twice.attributes().end(), 2, {a.name, *a.default_value});
        EXPECT_EQ(twice.Refusal(a.name), "it is given twice");
      }
      if (!a.choices.empty()) {
        Call choice(f);
        choice.Set(a.name, "none of these");
        EXPECT_EQ(choice.Refusal(a.name),
                  absl::StrCat("\"none of these\" given, it must be one of ",
                               absl::StrJoin(a.choices, ", ")));
      }
      for (const double limit : {a.min, a.max}) {
        if (std::isinf(limit)) continue;
        const double beyond = limit == a.min ? std::floor(limit) - 1 : std::ceil(limit) + 1;
        Call outside(f);
        if (a.type == AttributeType::kFloat) {
          outside.Set(a.name, beyond);
        } else {
          outside.Set(a.name, static_cast<int64_t>(beyond));
        }
        EXPECT_THAT(outside.Refusal(a.name),
                    StartsWith(absl::StrCat(beyond, " given, it must be ")));
      }
      if (a.type == AttributeType::kFloat && !std::isinf(a.min)) {
        Call nan(f);
        nan.Set(a.name, std::numeric_limits<double>::quiet_NaN());
        EXPECT_THAT(nan.Refusal(a.name), StartsWith("nan given, it must be "));
      }
      if (a.type == AttributeType::kSize) {
        Call two(f);
        two.Set(a.name, std::vector<int64_t>{1, 2});
        EXPECT_EQ(two.Refusal(a.name), "[1, 2] given, it must be a size");
      }
    }
  }
  EXPECT_GT(rows, 200);
}

}  // namespace
}  // namespace kiln::tensor::functions
