#include "tests/replay/graphs_data.h"

#include <cstring>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/support/status_matchers.h"

namespace kiln::replay {
namespace {

using ::kiln::support::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <typename T>
std::vector<T> As(const std::vector<std::byte>& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

Json Parsed(std::string_view text) { return *ParseJson(text); }

TEST(GraphData, GeneratesWhatTheReadmeOfTheFixturesSays) {
  EXPECT_EQ(SplitMix64(42, 0), 0xbdd732262feb6e95u);
  EXPECT_EQ(SplitMix64(42, 1), 0x28efe333b266f103u);
  EXPECT_EQ(SplitMix64(42, 2), 0x47526757130f9f52u);
  const GraphData data;
  KILN_ASSERT_OK_AND_ASSIGN(
      const auto uniform,
      data.Input(Parsed(R"({"init": "uniform", "seed": 42, "lo": -1, "hi": 1})"), DType::kFloat32,
                 4));
  EXPECT_THAT(As<float>(uniform), ElementsAre(0.4831297695636749f, -0.680179238319397f,
                                              -0.4427977502346039f, -0.3116185665130615f));
  KILN_ASSERT_OK_AND_ASSIGN(
      const auto integers,
      data.Input(Parsed(R"({"init": "randint", "seed": 7, "lo": 0, "hi": 10})"), DType::kInt32, 8));
  EXPECT_THAT(As<int32_t>(integers), ElementsAre(3, 0, 9, 5, 4, 2, 4, 3));
  KILN_ASSERT_OK_AND_ASSIGN(
      const auto full, data.Input(Parsed(R"({"init": "full", "value": 2})"), DType::kInt16, 2));
  EXPECT_THAT(As<int16_t>(full), ElementsAre(2, 2));
}

TEST(GraphData, ReadsInlineArrays) {
  const GraphData data;
  KILN_ASSERT_OK_AND_ASSIGN(const auto bytes, data.Array(Parsed(R"({"hex": "0100ff7f"})"), 4));
  EXPECT_THAT(As<int16_t>(bytes), ElementsAre(1, 32767));
}

TEST(GraphData, RefusesWhatIsNoArray) {
  const GraphData data;
  const auto code = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(data.Array(Parsed(R"({"hex": "0g"})"), 1), StatusIs(code, HasSubstr("hex")));
  EXPECT_THAT(data.Array(Parsed(R"({"hex": "012"})"), 1), StatusIs(code, HasSubstr("odd")));
  EXPECT_THAT(data.Array(Parsed(R"({"hex": "01"})"), 2), StatusIs(code, HasSubstr("not 2")));
  EXPECT_THAT(data.Array(Parsed(R"({"off": 0, "nbytes": 1})"), 1), StatusIs(code));
  EXPECT_THAT(data.Array(Parsed(R"({"off": -1, "nbytes": 0})"), 0), StatusIs(code));
  EXPECT_THAT(
      data.Input(Parsed(R"({"init": "normal", "seed": 1, "lo": 0, "hi": 1})"), DType::kFloat32, 4),
      StatusIs(code, HasSubstr("unknown init")));
  EXPECT_THAT(data.Input(Parsed("{}"), DType::kFloat32, INT64_MAX), StatusIs(code));
}

}  // namespace
}  // namespace kiln::replay
