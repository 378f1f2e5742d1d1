// The library as a whole: each function is declared well, and has a test.
#include <set>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/tensor/functions/schema.h"

namespace kiln::tensor::functions {
namespace {

TEST(Library, EveryFunctionHasATest) {
  std::set<std::string> tests;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const testing::TestSuite& suite = *all.GetTestSuite(i);
    if (std::string(suite.name()) != "Function") continue;
    for (int k = 0; k < suite.total_test_count(); ++k) tests.insert(suite.GetTestInfo(k)->name());
  }
  for (const FunctionSchema& f : AllFunctions()) {
    EXPECT_TRUE(tests.erase(f.name) == 1) << f.name << " has no TEST(Function, " << f.name << ")";
  }
  EXPECT_THAT(tests, testing::IsEmpty()) << "tests of functions that do not exist";
}

TEST(Library, IsDeclaredWell) {
  std::string last;
  for (const FunctionSchema& f : AllFunctions()) {
    SCOPED_TRACE(f.name);
    EXPECT_LT(last, f.name) << "declared twice";
    last = f.name;
    EXPECT_EQ(Find(f.name), &f);
    EXPECT_FALSE(f.doc.empty() || f.outputs.empty() || f.compose == nullptr);
    EXPECT_FALSE(f.doc.empty() || f.doc.back() != '.') << "the doc has no full stop";
    std::set<std::string> names;
    for (size_t i = 0; i < f.inputs.size(); ++i) {
      const InputSchema& in = f.inputs[i];
      EXPECT_TRUE(names.insert(in.name).second) << in.name;
      EXPECT_FALSE(in.doc.empty()) << in.name;
      EXPECT_TRUE(!in.is_variadic || i + 1 == f.inputs.size()) << in.name << " is not the last";
    }
    for (const AttributeSchema& a : f.attributes) {
      EXPECT_TRUE(names.insert(a.name).second) << a.name;
      EXPECT_FALSE(a.doc.empty()) << a.name;
      // Alternatives of AttributeValue are in the order of AttributeType; one size is an integer.
      if (!a.default_value.has_value()) continue;
      const auto type = a.type == AttributeType::kSize ? AttributeType::kInt : a.type;
      EXPECT_EQ(a.default_value->index(), static_cast<size_t>(type)) << a.name;
    }
  }
  EXPECT_EQ(Find("no_such_function"), nullptr);
}

TEST(Library, TheReferenceListsEveryFunction) {
  const std::string page = ReferencePage();
  for (const FunctionSchema& f : AllFunctions()) {
    EXPECT_NE(page.find("\n### " + f.name + "\n"), std::string::npos) << f.name;
  }
  EXPECT_NE(LibraryDigest(), uop::Key());
}

}  // namespace
}  // namespace kiln::tensor::functions
