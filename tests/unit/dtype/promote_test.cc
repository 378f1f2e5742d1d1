#include "core/dtype/promote.h"

#include <gtest/gtest.h>

#include "tests/unit/dtype/edge_values.h"

namespace kiln::dtype {
namespace {

using D = DType;

TEST(LeastUpperDType, IsTheTypeThatUsersExpect) {
  struct Case {
    D a, b, want;
  };
  for (const Case& c :
       {Case{D::kBool, D::kBool, D::kBool},           Case{D::kBool, D::kUInt8, D::kUInt8},
        Case{D::kInt8, D::kUInt8, D::kInt16},         Case{D::kInt8, D::kUInt16, D::kInt32},
        Case{D::kInt32, D::kUInt32, D::kInt64},       Case{D::kUInt8, D::kInt64, D::kInt64},
        Case{D::kUInt16, D::kUInt64, D::kUInt64},     Case{D::kInt64, D::kUInt64, D::kFloat32},
        Case{D::kInt8, D::kUInt64, D::kFloat32},      Case{D::kInt64, D::kFloat16, D::kFloat16},
        Case{D::kUInt64, D::kFp8E5M2, D::kFp8E5M2},   Case{D::kBool, D::kFp8E4M3, D::kFp8E4M3},
        Case{D::kFp8E4M3, D::kFp8E5M2, D::kFloat16},  Case{D::kFp8E4M3, D::kBFloat16, D::kBFloat16},
        Case{D::kFloat16, D::kBFloat16, D::kFloat32}, Case{D::kFloat32, D::kInt64, D::kFloat32},
        Case{D::kFloat32, D::kFloat64, D::kFloat64},  Case{D::kIndex, D::kIndex, D::kIndex},
        Case{D::kIndex, D::kInt32, D::kInt64},        Case{D::kIndex, D::kFloat16, D::kFloat16}}) {
    EXPECT_EQ(Name(LeastUpperDType(c.a, c.b)), Name(c.want)) << Name(c.a) << ", " << Name(c.b);
    EXPECT_EQ(LeastUpperDType(c.a, c.b), LeastUpperDType(c.b, c.a));
  }
}

TEST(LeastUpperDType, OfSeveralDoesNotDependOnTheirOrder) {
  std::vector<D> all = {D::kInt64, D::kUInt64, D::kFloat16};
  do {
    EXPECT_EQ(Name(LeastUpperDType(all)), "float16");
  } while (std::next_permutation(all.begin(), all.end()));
}

TEST(LeastUpperDType, OfATypeWithItselfIsThatType) {
  for (D d : AllDTypes()) EXPECT_EQ(LeastUpperDType(d, d), d);
}

TEST(LeastUpperDType, IsNeverBelowEither) {
  for (D a : AllDTypes()) {
    for (D b : AllDTypes()) {
      const D c = LeastUpperDType(a, b);
      if (a == D::kIndex || b == D::kIndex) continue;
      EXPECT_EQ(LeastUpperDType(a, c), c) << Name(a) << " " << Name(b);
      EXPECT_EQ(LeastUpperDType(b, c), c) << Name(a) << " " << Name(b);
    }
  }
}

// Every value of a type of at most 16 bits; of a wider one, those at which a conversion would fail.
std::vector<Scalar> Probes(D d) {
  if (SizeBits(d) == 0 || SizeBits(d) > 16) {
    std::vector<Scalar> probes = EdgeValues(d);
    if (IsFloat(d)) probes.push_back(FromBits((uint64_t{1} << (SizeBits(d) - 9)) - 1, d));
    return probes;
  }
  std::vector<Scalar> probes;
  for (uint64_t bits = 0; bits < uint64_t{1} << SizeBits(d); ++bits)
    probes.push_back(FromBits(bits, d));
  return probes;
}

// Exact: a long double holds all values of all types.
long double ValueOf(Scalar v, D d) {
  return IsFloat(d) ? static_cast<long double>(v.AsFloat()) : static_cast<long double>(v.AsWide(d));
}

TEST(IsLosslessCast, HoldsExactlyIfEveryValueIsKeptAndComesBack) {
  for (D from : AllDTypes()) {
    const std::vector<Scalar> probes = Probes(from);
    for (D to : AllDTypes()) {
      bool lossless = true;
      for (Scalar v : probes) {
        const std::optional<Scalar> there = Cast(v, from, to);
        const bool comes_back = there.has_value() && Cast(*there, to, from) == v;
        const bool is_nan = IsFloat(from) && std::isnan(v.AsFloat());
        lossless = lossless && comes_back && (is_nan || ValueOf(*there, to) == ValueOf(v, from));
      }
      EXPECT_EQ(IsLosslessCast(from, to), lossless) << Name(from) << " to " << Name(to);
    }
  }
}

}  // namespace
}  // namespace kiln::dtype
