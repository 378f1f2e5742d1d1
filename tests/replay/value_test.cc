#include "tests/replay/value.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdio>
#include <fstream>
#include <vector>

#include "absl/strings/str_cat.h"

#include "tests/replay/record.h"

namespace kiln::replay {
namespace {

Scalar Parse(const char* text, DType dtype) { return ParseScalar(*ParseJson(text), dtype).value(); }
bool Parses(const char* text, DType dtype) { return ParseScalar(*ParseJson(text), dtype).ok(); }

TEST(ParseJson, KeepsIntegersOfAnySize) {
  EXPECT_TRUE(*ParseWide(*ParseJson("18446744073709551615")) == UINT64_MAX);
  EXPECT_TRUE(*ParseWide(*ParseJson("-9223372036854775808")) == INT64_MIN);
  EXPECT_TRUE(*ParseWide(*ParseJson("18446744075857035259")) ==
              Int128{UINT64_MAX} + 1 + 2147483643);
  EXPECT_EQ(ToString(*ParseWide(*ParseJson("-170141183460469231731687303715884105728"))),
            "-170141183460469231731687303715884105728");
  EXPECT_FALSE(ParseWide(*ParseJson("170141183460469231731687303715884105728")).ok());
}

TEST(ParseJson, RefusesWhatIsNotJson) {
  for (const char* text : {"", "{", "[1,]", "{\"a\"}", "nan", "1 2", "\"\xff\"", "1e999"}) {
    EXPECT_FALSE(ParseJson(text).ok()) << text;
  }
  EXPECT_FALSE(ParseJson(std::string(100000, '[')).ok());
}

TEST(ParseJson, ReadsNestedValues) {
  const Json json = *ParseJson(R"({"a": [1, {"b": [true, null, "x"]}, -0.0], "c": {}})");
  EXPECT_EQ(json.at("a").at(1).at("b").at(2), "x");
  EXPECT_EQ(json.at("a").size(), 3);
  EXPECT_TRUE(json.at("c").is_object());
  EXPECT_TRUE(std::signbit(json.at("a").at(2).get<double>()));
}

TEST(ParseScalar, LetsTheDTypeDecideTheType) {
  EXPECT_EQ(Parse("3", DType::kFloat32), Scalar::Float(3));
  EXPECT_EQ(Parse("3.0", DType::kInt8), Scalar::Int(3));
  EXPECT_EQ(Parse("true", DType::kBool), Scalar::Bool(true));
  EXPECT_EQ(Parse("-0.0", DType::kFloat16), Scalar::Float(-0.0));
  EXPECT_EQ(Parse("\"-inf\"", DType::kFloat16).AsFloat(), -1 / 0.0);
  EXPECT_EQ(ToText(Parse("\"nan\"", DType::kFloat64), DType::kFloat64), "nan");
  EXPECT_EQ(Parse("18446744073709551615", DType::kUInt64), Scalar::FromBits(UINT64_MAX));
}

TEST(ParseScalar, RefusesWhatIsNoValueOfTheType) {
  EXPECT_FALSE(Parses("128", DType::kInt8));
  EXPECT_FALSE(Parses("-1", DType::kUInt64));
  EXPECT_FALSE(Parses("0.5", DType::kInt8));
  EXPECT_FALSE(Parses("0.1", DType::kFloat32));
  EXPECT_FALSE(Parses("9007199254740993", DType::kFloat64));
  EXPECT_FALSE(Parses("18446744073709551616", DType::kIndex));
  EXPECT_FALSE(Parses("\"inf\"", DType::kFp8E4M3));
  EXPECT_FALSE(Parses("\"x\"", DType::kFloat32));
  EXPECT_FALSE(Parses("[]", DType::kFloat32));
  EXPECT_FALSE(Parses("null", DType::kInt32));
  EXPECT_FALSE(Parses("0", DType::kVoid));
}

TEST(Matches, CountsUnitsInTheLastPlaceOfTheType) {
  const auto matches = [](double a, double b, DType d, uint64_t ulp) {
    return Matches(Scalar::Float(a), Scalar::Float(b), d, ulp);
  };
  EXPECT_TRUE(matches(1, 1 + 0x1p-9, DType::kFloat16, 2));
  EXPECT_FALSE(matches(1, 1 + 3 * 0x1p-10, DType::kFloat16, 2));
  EXPECT_TRUE(matches(1, 1 - 0x1p-11, DType::kFloat16, 1));
  EXPECT_TRUE(matches(-0x1p-24, 0x1p-24, DType::kFloat16, 2));
  EXPECT_FALSE(matches(0, 0x1p-24, DType::kFloat16, 2)) << "zero is exact";
  EXPECT_FALSE(matches(0.0, -0.0, DType::kFloat32, 4));
  EXPECT_FALSE(matches(65504, 1 / 0.0, DType::kFloat16, 4));
  EXPECT_TRUE(matches(0 / 0.0, -(0 / 0.0), DType::kFloat32, 0));
  EXPECT_EQ(UlpDistance(Scalar::Float(-1), Scalar::Float(1), DType::kFloat64),
            uint64_t{0x7FE0} << 48);
}

TEST(ForEachRecord, ReadsPlainAndGzippedFilesLineByLine) {
  const std::string text = "{\"id\": \"a\", \"kind\": \"k\"}\n\n[1]\n{\n{\"id\": \"last\"}";
  const std::string plain = absl::StrCat(testing::TempDir(), "/records.jsonl");
  std::ofstream(plain) << text;
  const std::string zipped = plain + ".gz";
  gzFile file = gzopen(zipped.c_str(), "wb");
  gzputs(file, text.c_str());
  gzclose(file);
  for (const std::string& path : {plain, zipped}) {
    std::vector<std::string> ids;
    int malformed = 0;
    ASSERT_TRUE(ForEachRecord(path, [&](const Record& record) {
                  ids.push_back(record.id);
                  malformed += record.malformed.empty() ? 0 : 1;
                }).ok());
    const std::string name = path.substr(path.rfind('/') + 1);
    EXPECT_EQ(ids, (std::vector<std::string>{"a", name + ":3", name + ":4", "last"}));
    EXPECT_EQ(malformed, 2);
  }
  std::ofstream(zipped, std::ios::in | std::ios::out | std::ios::binary).seekp(20) << "garbage";
  EXPECT_FALSE(ForEachRecord(zipped, [](const Record&) {}).ok());
  EXPECT_TRUE(absl::IsNotFound(ForEachRecord(plain + "x", [](const Record&) {})));
}

}  // namespace
}  // namespace kiln::replay
