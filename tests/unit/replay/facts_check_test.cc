#include "tests/replay/facts_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace kiln::replay {
namespace {

using ::testing::HasSubstr;

class FactsCheck : public ::testing::Test {
 protected:
  FactsCheck() {
    const absl::StatusOr<Json> json = ParseJson(R"([
      {"op": "DEFINE_VAR", "dtype": "int32", "src": [], "arg": ["x", 0, 8]},
      {"op": "CONST", "dtype": "int32", "src": [], "arg": 3},
      {"op": "MUL", "dtype": "int32", "src": [0, 1], "arg": null},
      {"op": "VCONST", "dtype": "int32x2", "src": [], "arg": [3, 4]},
      {"op": "CONST", "dtype": "int32x2", "src": [], "arg": 3},
      {"op": "VECTORIZE", "dtype": "int32x2", "src": [0, 0], "arg": null},
      {"op": "GEP", "dtype": "int32", "src": [5], "arg": [1]}])");
    loaded_ = nodes_.Load(*json).ok();
  }
  void SetUp() override { ASSERT_TRUE(loaded_); }

  absl::Status Check(int node, const char* facts) {
    return CheckFacts(nodes_, *ParseJson(facts), nodes_.nodes()[node]);
  }
  void ExpectHolds(int node, const char* facts) {
    EXPECT_EQ(Check(node, facts).ToString(), "OK") << facts;
  }
  void ExpectFails(int node, const char* facts) {
    EXPECT_TRUE(absl::IsFailedPrecondition(Check(node, facts))) << facts;
  }

  bool loaded_ = false;
  RecordGraph nodes_;
};

TEST_F(FactsCheck, TellsOpsAndArguments) {
  ExpectHolds(2, R"({"op": "MUL", "dtype": "int32", "num_nodes": 3, "num_src": 2})");
  ExpectHolds(2, R"({"src": {"0": {"op": "DEFINE_VAR", "arg": ["x", 0, 8]}, "1": {"arg": 3}}})");
  ExpectHolds(2,
              R"({"has": ["MUL", "CONST"], "has_not": ["ADD"], "count": {"CONST": 1, "ADD": 0}})");
  ExpectHolds(1, R"({"arg_in": [5, 3]})");
  ExpectFails(2, R"({"op": "ADD"})");
  ExpectFails(2, R"({"src": {"2": {}}})");
  ExpectFails(2, R"({"src": {"1": {"arg": 4}}})");
  ExpectFails(2, R"({"has": ["ADD"]})");
  ExpectFails(2, R"({"has_not": ["MUL"]})");
  ExpectFails(2, R"({"dtype": "int64"})");
}

TEST_F(FactsCheck, ReadsStacksAsTheVectorsTheyStandFor) {
  ExpectHolds(3, R"({"op": "VCONST", "dtype": "int32x2", "arg": [3, 4], "num_nodes": 1})");
  ExpectHolds(3, R"({"op": "VECTORIZE", "num_src": 2, "num_nodes": 3})");
  ExpectHolds(4, R"({"op": "CONST", "dtype": "int32x2", "arg": 3})");
  ExpectHolds(5, R"({"op": "VECTORIZE", "same_src": [0, 1]})");
  ExpectHolds(6, R"({"op": "GEP", "dtype": "int32", "arg": [1]})");
  ExpectFails(3, R"({"op": "CONST"})");
  ExpectFails(3, R"({"arg": [3, 5]})");
  ExpectFails(5, R"({"op": "VCONST"})");
  ExpectFails(5, R"({"not_all_same_src": true})");
}

TEST_F(FactsCheck, EvaluatesAndCompares) {
  ExpectHolds(2, R"({"same": 2, "eval": [{"var_vals": {"x": 2}, "value": 6}]})");
  ExpectHolds(2, R"json({"render": ["(x*3)"]})json");
  ExpectFails(2, R"({"same": 1})");
  ExpectFails(2, R"({"eval": [{"var_vals": {"x": 2}, "value": 7}]})");
  EXPECT_TRUE(CheckEvalFacts(nodes_, *ParseJson(R"({"op": "ADD"})"), nodes_.nodes()[2]).ok());
}

TEST_F(FactsCheck, ReachesEveryNode) {
  ExpectHolds(2, R"({"all": [{"op": "CONST", "arg": 3}], "every_src": {"dtype": "int32"}})");
  ExpectFails(2, R"({"all": [{"op": "CONST", "arg": 4}]})");
  ExpectFails(2, R"({"every_src": {"op": "CONST"}})");
}

TEST_F(FactsCheck, RefusesUnknownFacts) {
  const absl::Status status = Check(2, R"({"colour": "red"})");
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("fact colour"));
}

}  // namespace
}  // namespace kiln::replay
