#include "server/graph/functions.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/tensor/functions/schema.h"

namespace kiln::server {
namespace {

const pb::Function* Find(const std::string& name) {
  for (const pb::Function& f : DescribeFunctions().functions()) {
    if (f.name() == name) return &f;
  }
  return nullptr;
}

const pb::FunctionAttribute* Find(const pb::Function& function, const std::string& name) {
  for (const pb::FunctionAttribute& a : function.attributes()) {
    if (a.name() == name) return &a;
  }
  return nullptr;
}

TEST(Functions, AllAreDescribedByName) {
  const auto& described = DescribeFunctions().functions();
  const auto all = tensor::functions::AllFunctions();
  ASSERT_EQ(described.size(), all.size());
  for (int i = 0; i < described.size(); ++i) {
    const auto& schema = all[static_cast<size_t>(i)];
    EXPECT_EQ(described[i].name(), schema.name);
    EXPECT_EQ(described[i].inputs_size(), schema.inputs.size());
    EXPECT_EQ(described[i].attributes_size(), schema.attributes.size());
    EXPECT_FALSE(described[i].doc().empty()) << schema.name;
    EXPECT_FALSE(described[i].subject().empty()) << schema.name;
    if (i > 0) {
      EXPECT_LT(described[i - 1].name(), described[i].name());
    }
  }
}

// Every enumerator has its message, and a default has the type that the attribute has.
TEST(Functions, NothingIsUnspecified) {
  for (const pb::Function& f : DescribeFunctions().functions()) {
    for (const pb::FunctionInput& input : f.inputs()) {
      EXPECT_NE(input.dtype_rule(), pb::DTYPE_RULE_UNSPECIFIED) << f.name();
      EXPECT_LE(input.min_rank(), input.max_rank()) << f.name();
    }
    for (const pb::FunctionAttribute& a : f.attributes()) {
      EXPECT_NE(a.type(), pb::ATTRIBUTE_TYPE_UNSPECIFIED) << f.name();
      if (!a.has_default_value()) continue;
      EXPECT_FALSE(a.is_required()) << f.name();
      const auto kind = a.default_value().value_case();
      switch (a.type()) {
        case pb::ATTRIBUTE_TYPE_INT:
        case pb::ATTRIBUTE_TYPE_SIZE:
          EXPECT_EQ(kind, pb::AttributeValue::kIntValue) << f.name() << " " << a.name();
          break;
        case pb::ATTRIBUTE_TYPE_FLOAT:
          EXPECT_EQ(kind, pb::AttributeValue::kFloatValue) << f.name() << " " << a.name();
          break;
        case pb::ATTRIBUTE_TYPE_BOOL:
          EXPECT_EQ(kind, pb::AttributeValue::kBoolValue) << f.name() << " " << a.name();
          break;
        case pb::ATTRIBUTE_TYPE_TEXT:
          EXPECT_EQ(kind, pb::AttributeValue::kText) << f.name() << " " << a.name();
          break;
        case pb::ATTRIBUTE_TYPE_DTYPE:
          EXPECT_EQ(kind, pb::AttributeValue::kDtype) << f.name() << " " << a.name();
          break;
        default:
          EXPECT_THAT(kind, ::testing::AnyOf(pb::AttributeValue::kInts, pb::AttributeValue::kSizes))
              << f.name() << " " << a.name();
      }
    }
  }
}

TEST(Functions, ValuesArriveInTheirFields) {
  const pb::Function* const sum = Find("sum");
  ASSERT_NE(sum, nullptr);
  EXPECT_EQ(sum->inputs(0).name(), "x");
  const pb::FunctionAttribute* const keepdim = Find(*sum, "keepdim");
  ASSERT_NE(keepdim, nullptr);
  EXPECT_EQ(keepdim->type(), pb::ATTRIBUTE_TYPE_BOOL);
  EXPECT_FALSE(keepdim->is_required());
  EXPECT_FALSE(keepdim->default_value().bool_value());
  EXPECT_FALSE(keepdim->has_min());
}

TEST(Functions, DigestIsThatOfTheLibrary) {
  EXPECT_EQ(FunctionsDigest().size(), 16);
  EXPECT_EQ(DescribeFunctions().digest(), FunctionsDigest());
}

}  // namespace
}  // namespace kiln::server
