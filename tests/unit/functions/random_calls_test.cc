// Calls as strangers might make them: any function, any inputs, any attributes. They are carried out or refused with a
// status that says so, in bounded time.
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/tensor/functions/schema.h"
#include "core/tensor/graph_builder.h"
#include "tests/support/random.h"

namespace kiln::tensor::functions {
namespace {

using support::Random;

int64_t AnyInt(Random& r) {
  switch (r.Uniform(0, 9)) {
    case 0:
      return std::numeric_limits<int64_t>::max();
    case 1:
      return std::numeric_limits<int64_t>::min();
    case 2:
      return int64_t{1} << r.Uniform(0, 62);
    default:
      return r.Uniform(-3, 5);
  }
}

double AnyFloat(Random& r) {
  constexpr double kOdd[] = {0,
                             -1,
                             1,
                             0.5,
                             1e300,
                             -1e-300,
                             std::numeric_limits<double>::infinity(),
                             std::numeric_limits<double>::quiet_NaN()};
  return r.Pick<double>(kOdd);
}

Dim AnyDim(GraphBuilder& b, Random& r) {
  switch (r.Uniform(0, 7)) {
    case 0:
      return b.Variable("n", 0, 64);
    case 1:
      return AnyInt(r);
    default:
      return r.Uniform(0, 5);
  }
}

AttributeValue AnyValue(GraphBuilder& b, const AttributeSchema& schema, Random& r) {
  const auto type = r.Chance(1, 10) ? static_cast<AttributeType>(r.Uniform(0, 7)) : schema.type;
  const auto count = static_cast<size_t>(r.Uniform(0, 4));
  switch (type) {
    case AttributeType::kInt:
      return AnyInt(r);
    case AttributeType::kFloat:
      return AnyFloat(r);
    case AttributeType::kBool:
      return r.Chance(1, 2);
    case AttributeType::kText:
      if (!schema.choices.empty() && r.Chance(9, 10)) return r.Pick<std::string>(schema.choices);
      return r.Pick<std::string>({"", "ij,jk->ik", "i,i", "a->aa", "->", "ii->i", "\xff,"});
    case AttributeType::kDType:
      return static_cast<DType>(r.Uniform(0, dtype::kNumDTypes));
    case AttributeType::kInts: {
      std::vector<int64_t> list(count);
      for (int64_t& v : list) v = AnyInt(r);
      return list;
    }
    case AttributeType::kSize:
      return std::vector<Dim>{AnyDim(b, r)};
    case AttributeType::kSizes: {
      std::vector<Dim> list;
      for (size_t i = 0; i < count; ++i) list.push_back(AnyDim(b, r));
      return list;
    }
  }
  return false;
}

std::optional<Source> AnyInput(GraphBuilder& b, const InputSchema& schema, int64_t slot,
                               Random& r) {
  if (schema.is_optional && r.Chance(1, 2)) return std::nullopt;
  if (r.Chance(1, 30)) return Source(Value{static_cast<uint32_t>(AnyInt(r))});
  if (r.Chance(1, 30)) return Source(b.Index(3));
  constexpr DType kDTypes[] = {DType::kBool,   DType::kInt8,    DType::kUInt32,  DType::kInt64,
                               DType::kUInt64, DType::kFloat16, DType::kFloat32, DType::kFp8E5M2};
  DType dtype = r.Pick<DType>(kDTypes);
  if (schema.rule == DTypeRule::kInteger && r.Chance(9, 10)) dtype = DType::kInt32;
  const int64_t most = std::min<int64_t>(schema.max_rank, schema.min_rank + 2);
  const int64_t rank = r.Chance(1, 10) ? r.Uniform(0, 6) : r.Uniform(schema.min_rank, most);
  const int64_t size = r.Uniform(0, 6);  // Equal ones fit together.
  std::vector<Dim> dims;
  for (int64_t i = 0; i < rank; ++i) dims.push_back(r.Chance(1, 3) ? AnyDim(b, r) : Dim(size));
  return Source(b.Input(slot, dtype, dims));
}

TEST(Calls, OfAnyKindAreCarriedOutOrRefused) {
  const absl::Span<const FunctionSchema> all = AllFunctions();
  int carried_out = 0;
  for (uint64_t seed = 0; seed < 40 * all.size(); ++seed) {
    Random r(seed);
    const FunctionSchema& f = all[seed % all.size()];
    SCOPED_TRACE(testing::Message() << f.name << ", seed " << seed);
    GraphBuilder b(GraphLimits{.nodes = 20000});
    std::vector<std::optional<Source>> inputs;
    for (const InputSchema& in : f.inputs) {
      const int64_t count = in.is_variadic ? r.Uniform(0, 3) : 1;
      for (int64_t k = 0; k < count; ++k) {
        inputs.push_back(AnyInput(b, in, static_cast<int64_t>(inputs.size()), r));
      }
    }
    std::vector<Attribute> attributes;
    for (const AttributeSchema& a : f.attributes) {
      if (a.is_required ? r.Chance(29, 30) : r.Chance(1, 2)) {
        attributes.push_back({a.name, AnyValue(b, a, r)});
      }
    }
    const auto made = b.Call(f.name, inputs, attributes);
    if (made.ok()) {
      ++carried_out;
      EXPECT_FALSE(made->empty());
      for (Value v : *made) EXPECT_TRUE(b.ShapeOf(v).ok());
      continue;
    }
    EXPECT_TRUE(made.status().code() == absl::StatusCode::kInvalidArgument ||
                made.status().code() == absl::StatusCode::kResourceExhausted)
        << made.status();
  }
  EXPECT_GT(carried_out, 1000);
}

}  // namespace
}  // namespace kiln::tensor::functions
