#include "client/cpp/ctl/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

#include "tests/support/status_matchers.h"

namespace kiln::ctl {
namespace {

using ::kiln::support::IsOk;
using ::kiln::support::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A file's start with this text as header, of version `version`.
std::string FileWith(std::string text, char version = 1) {
  std::string out("\x93NUMPY", 6);
  out += {version, 0, static_cast<char>(text.size() & 255), static_cast<char>(text.size() >> 8)};
  if (version > 1) out += {0, 0};
  return out + text;
}
std::string Dict(const std::string& descr, const std::string& shape,
                 const std::string& order = "False") {
  return absl::StrCat("{'descr': ", descr, ", 'fortran_order': ", order, ", 'shape': ", shape,
                      ", }\n");
}

void ExpectRefused(const std::string& file, const std::string& message) {
  EXPECT_THAT(ParseNpyHeader(file),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)))
      << ::testing::PrintToString(file);
}

class NpyFile : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = absl::StrCat(::testing::TempDir(), "/npy_test_",
                         ::testing::UnitTest::GetInstance()->current_test_info()->name(), ".npy");
  }
  void TearDown() override { std::remove(path_.c_str()); }
  void Fill(const std::string& contents) { std::ofstream(path_, std::ios::binary) << contents; }
  std::string path_;
};

TEST(NpyHeader, IsReadInEveryVersionAndOrderOfKeys) {
  for (const char version : {'\x01', '\x02', '\x03'}) {
    absl::StatusOr<NpyHeader> header = ParseNpyHeader(FileWith(Dict("'<f4'", "(2, 3)"), version));
    ASSERT_THAT(header, IsOk());
    EXPECT_EQ(header->kind, 'f');
    EXPECT_EQ(header->item_bytes, 4);
    EXPECT_THAT(header->dims, ElementsAre(2, 3));
    EXPECT_EQ(header->data_bytes, 24);
    EXPECT_EQ(header->header_bytes, Dict("'<f4'", "(2, 3)").size() + (version == 1 ? 10u : 12u));
  }
  absl::StatusOr<NpyHeader> other =
      ParseNpyHeader(FileWith("{\"shape\":(5,),\"fortran_order\":False,\"descr\":\"|u1\"}"));
  ASSERT_THAT(other, IsOk());
  EXPECT_THAT(other->dims, ElementsAre(5));
}

TEST(NpyHeader, ScalarsAndEmptyArraysHaveTheirBytes) {
  EXPECT_EQ(ParseNpyHeader(FileWith(Dict("'<i8'", "()")))->data_bytes, 8);
  EXPECT_EQ(ParseNpyHeader(FileWith(Dict("'<i8'", "(0,)")))->data_bytes, 0);
  // The product of the others would overflow.
  EXPECT_EQ(ParseNpyHeader(FileWith(Dict("'<i8'", "(9223372036854775807, 9223372036854775807, 0)")))
                ->data_bytes,
            0);
}

TEST(NpyHeader, EveryDTypeComesBackAsItself) {
  for (int i = v1::DTYPE_BOOL; i <= v1::DTYPE_FLOAT64; ++i) {
    const auto dtype = static_cast<v1::DType>(i);
    absl::StatusOr<std::string> start = MakeNpyHeader(dtype, {7, 1});
    ASSERT_THAT(start, IsOk());
    EXPECT_EQ(start->size() % 64, 0) << "elements are aligned";
    absl::StatusOr<NpyHeader> header = ParseNpyHeader(*start);
    ASSERT_THAT(header, IsOk()) << DTypeName(dtype);
    EXPECT_TRUE(IsOfDType(*header, dtype)) << DTypeName(dtype);
    EXPECT_THAT(header->dims, ElementsAre(7, 1));
  }
  EXPECT_THAT(MakeNpyHeader(v1::DTYPE_INDEX, {}), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(NpyHeader, DTypesOfOneSizeAreNotTakenForEachOther) {
  const NpyHeader half = *ParseNpyHeader(FileWith(Dict("'<f2'", "()")));
  EXPECT_TRUE(IsOfDType(half, v1::DTYPE_FLOAT16));
  EXPECT_FALSE(IsOfDType(half, v1::DTYPE_BFLOAT16));
  EXPECT_FALSE(IsOfDType(half, v1::DTYPE_UINT16));
  const NpyHeader byte = *ParseNpyHeader(FileWith(Dict("'|u1'", "()")));
  EXPECT_FALSE(IsOfDType(byte, v1::DTYPE_BOOL));
}

TEST(NpyHeader, WhatKilnHasNoDTypeForIsRefused) {
  ExpectRefused(FileWith(Dict("'<c8'", "(2,)")), "dtype \"<c8\"");
  ExpectRefused(FileWith(Dict("'<U5'", "(2,)")), "dtype");
  ExpectRefused(FileWith(Dict("'|O'", "(2,)")), "dtype");
  ExpectRefused(FileWith(Dict("'<f16'", "(2,)")), "dtype");
  ExpectRefused(FileWith(Dict("'<f3'", "(2,)")), "dtype");
  ExpectRefused(FileWith(Dict("'<i0'", "(2,)")), "dtype");
  ExpectRefused(FileWith(Dict("[('a', '<f4')]", "(2,)")), "records");
  ExpectRefused(FileWith(Dict("'>f4'", "(2,)")), "big-endian: save it with .astype(\"<f4\")");
  ExpectRefused(FileWith(Dict("'|f4'", "(2,)")), "order of bytes");
}

TEST(NpyHeader, FortranOrderIsRefusedWithWhatToDo) {
  ExpectRefused(FileWith(Dict("'<f4'", "(2, 3)", "True")), "np.ascontiguousarray");
  ExpectRefused(FileWith(Dict("'<f4'", "(2, 3)", "1")), "neither True nor False");
}

TEST(NpyHeader, MalformedOnesAreRefused) {
  ExpectRefused("", "not a .npy file");
  ExpectRefused("PK\x03\x04", "not a .npy file");
  ExpectRefused(std::string("\x93NUMPY\x01", 7), "cut off");
  ExpectRefused(FileWith("", 4), "version 4");
  ExpectRefused(FileWith(""), "does not begin with {");
  ExpectRefused(FileWith("{}"), "needs the keys");
  ExpectRefused(FileWith("{'descr': '<f4', 'descr': '<f4'}"), "repeated key");
  ExpectRefused(FileWith("{'colour': 3}"), "unknown");
  ExpectRefused(FileWith("{'descr: '<f4'}"), "dictionary");
  ExpectRefused(FileWith("{'descr': '<f4' 'shape': ()}"), "lacks a comma");
  ExpectRefused(FileWith(Dict("'<f4'", "(2,)") + "x"), "after its }");
  for (const char* shape : {"2", "(2", "(2 3)", "(-1,)", "(2.5,)", "(,)", "(2)", "[2]",
                            "(9223372036854775808,)", "(99999999999999999999,)"}) {
    ExpectRefused(FileWith(Dict("'<f4'", shape)), "shape");
  }
  std::string deep = "(";
  for (int i = 0; i < 65; ++i) deep += "1, ";
  ExpectRefused(FileWith(Dict("'<f4'", deep + ")")), "more than 64 sizes");
}

TEST(NpyHeader, SizesAreBounded) {
  ExpectRefused(FileWith(Dict("'<f8'", "(4294967296, 4294967296)")), "2^63 bytes or more");
  ExpectRefused(FileWith(Dict("'<f8'", "(1152921504606846976,)")), "2^63 bytes or more");
  std::string huge("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12);
  ExpectRefused(huge, "header of 4294967295 bytes");
}

TEST(NpyHeader, EveryStartAndEveryDamageOfAFileIsAnswered) {
  const std::string whole = FileWith(Dict("'<f4'", "(2, 3)"));
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(ParseNpyHeader(whole.substr(0, size)).ok()) << size;
  }
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    std::string damaged = whole;
    for (int k = 0; k < 3; ++k) damaged[random() % damaged.size()] = static_cast<char>(random());
    const absl::StatusOr<NpyHeader> header = ParseNpyHeader(damaged);
    if (header.ok()) {
      EXPECT_LE(header->header_bytes, damaged.size());
    }
  }
}

TEST_F(NpyFile, ComesBackAsWritten) {
  const std::vector<float> values = {1, -2, 3.5, 0, 5, 6};
  const auto bytes = absl::MakeConstSpan(reinterpret_cast<const std::byte*>(values.data()), 24);
  ASSERT_THAT(WriteNpy(path_, v1::DTYPE_FLOAT32, {3, 2}, bytes), IsOk());
  absl::StatusOr<NpyArray> array = ReadNpy(path_);
  ASSERT_THAT(array, IsOk());
  EXPECT_THAT(array->header.dims, ElementsAre(3, 2));
  EXPECT_EQ(std::memcmp(array->bytes().data(), values.data(), 24), 0);
}

TEST_F(NpyFile, ThatIsTooShortOrTooLongIsRefusedBeforeMemoryIsTaken) {
  const std::string start = FileWith(Dict("'<f4'", "(2,)"));
  for (const size_t bytes : {0, 7, 9}) {
    Fill(start + std::string(bytes, 'x'));
    EXPECT_THAT(ReadNpy(path_), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(" + 8")));
  }
  Fill(FileWith(Dict("'<f4'", "(1000000000000,)")));
  EXPECT_THAT(ReadNpy(path_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("4000000000000")));
}

TEST_F(NpyFile, ThatCanNotBeOpenedIsNamed) {
  EXPECT_THAT(ReadNpy(path_), StatusIs(absl::StatusCode::kNotFound, HasSubstr(path_)));
  EXPECT_FALSE(ReadNpy(::testing::TempDir()).ok());
  EXPECT_THAT(WriteNpy(path_ + "/no/such", v1::DTYPE_INT8, {0}, {}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(path_)));
}

}  // namespace
}  // namespace kiln::ctl
