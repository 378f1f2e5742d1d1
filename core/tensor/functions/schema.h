// What a function of the library is to those who call it: declared once, in the table of its subject
// (reductions.cc, ...), together with how it is made of primitives. Checks of arguments, the served
// description, the reference page and methods of SDKs all come from these declarations.
//
//   {.name = "mean",
//    .doc = "The mean over `axes`.",
//    .inputs = {Input("x", kFloat, "what is averaged")},
//    .attributes = {AxesOf("x"), KeepDim()},
//    .outputs = {"y"},
//    .compose = Mean}
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"

#include "core/tensor/graph_builder.h"
#include "core/uop/key.h"

namespace kiln::tensor::functions {

class Arguments;
class Tensor;

// What an input may consist of, and what it is made of before the function sees it.
enum class DTypeRule : uint8_t {
  kAny,      // Whatever lies in memory.
  kNumber,   // Integers and floats; bool counts as int32 0 and 1.
  kFloat,    // Floats; integers and bool become float32.
  kInteger,  // Fixed-width integers; bool counts as int32 0 and 1.
  kBits,     // Bool and fixed-width integers.
  kTruth,    // Anything: what is not 0 is true.
};

struct InputSchema {
  std::string name;
  DTypeRule rule = DTypeRule::kAny;
  std::string doc;
  int min_rank = 0, max_rank = kMaxRank;
  bool is_optional = false;
  bool is_variadic = false;  // Any number of tensors, one at least; the last input only.
  // The inputs of a function for which this holds are cast to their least common dtype
  // (dtype/promote.h).
  bool is_promoted = true;

  InputSchema Rank(int rank) && { return std::move(*this).Ranks(rank, rank); }
  InputSchema Ranks(int least, int most = kMaxRank) && {
    min_rank = least;
    max_rank = most;
    return std::move(*this);
  }
  InputSchema Optional() && {
    is_optional = true;
    return std::move(*this);
  }
  InputSchema Variadic() && {
    is_variadic = true;
    return std::move(*this);
  }
  // Keeps a dtype of its own.
  InputSchema Alone() && {
    is_promoted = false;
    return std::move(*this);
  }
};

// The alternatives of AttributeValue, in their order, and kSize: one size, as an integer or as a list
// of one.
enum class AttributeType : uint8_t { kInt, kFloat, kBool, kText, kDType, kInts, kSizes, kSize };

struct AttributeSchema {
  std::string name;
  AttributeType type = AttributeType::kInt;
  std::string doc;
  std::optional<AttributeValue> default_value;  // As `type` says; of a size, an integer.
  bool is_required = true;                      // If neither, the function sees that it is absent.
  // Of numbers, also in lists.
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  std::vector<std::string> choices;  // Of texts; empty: any.

  AttributeSchema Default(AttributeValue value) && {
    default_value = std::move(value);
    is_required = false;
    return std::move(*this);
  }
  AttributeSchema Optional() && {
    is_required = false;
    return std::move(*this);
  }
  AttributeSchema AtLeast(double least) && {
    min = least;
    return std::move(*this);
  }
  AttributeSchema Between(double least, double most) && {
    min = least;
    max = most;
    return std::move(*this);
  }
};

// Immutable.
struct FunctionSchema {
  std::string name;
  std::string doc;  // Formula, shapes, source.
  std::vector<InputSchema> inputs;
  std::vector<AttributeSchema> attributes;
  std::vector<std::string> outputs;  // "ys...": as many as the arguments ask for.
  std::function<std::vector<Tensor>(Arguments&)> compose;
  std::string subject = {};  // The heading of its table; filled in by AllFunctions.
};

// ** declarations **

InputSchema Input(std::string_view name, DTypeRule rule, std::string_view doc);
AttributeSchema Int(std::string_view name, std::string_view doc);
AttributeSchema Float(std::string_view name, std::string_view doc);
AttributeSchema Flag(std::string_view name, bool otherwise, std::string_view doc);
AttributeSchema Text(std::string_view name, std::string_view doc);
// The first choice is the default.
AttributeSchema Choice(std::string_view name, std::vector<std::string> choices,
                       std::string_view doc);
AttributeSchema DTypeIn(std::string_view name, std::string_view doc);
AttributeSchema Ints(std::string_view name, std::string_view doc);
AttributeSchema Sizes(std::string_view name, std::string_view doc);
AttributeSchema OneSize(std::string_view name, std::string_view doc);
// Those that many functions have.
AttributeSchema AxisOf(std::string_view input);  // "axis", -1 unless given.
AttributeSchema AxesOf(std::string_view input);  // "axes", all unless given.
AttributeSchema KeepDim();                       // "keepdim".

// ** the library **

// All functions, by name. Thread-safe; lives for ever.
absl::Span<const FunctionSchema> AllFunctions();
// Null if there is none.
const FunctionSchema* Find(std::string_view name);
// Of everything that a description says: changes if a client might notice a difference.
uop::Key LibraryDigest();
// All functions with their docs, in Markdown.
std::string ReferencePage();

std::string_view NameOf(DTypeRule rule);
std::string_view NameOf(AttributeType type);
// As messages and the reference show it.
std::string ToText(const AttributeValue& value);

}  // namespace kiln::tensor::functions
