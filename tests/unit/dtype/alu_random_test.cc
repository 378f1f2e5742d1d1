// EvalAlu, Cast and Bitcast on random bits, canonical or not: run under
// -fsanitize=undefined,address.
#include <gtest/gtest.h>

#include <array>

#include "core/dtype/alu.h"
#include "tests/unit/dtype/edge_values.h"

namespace kiln::dtype {
namespace {

// Half of them of extreme exponent or magnitude.
Scalar RandomBits(std::mt19937_64& random) {
  const uint64_t bits = random();
  switch (random() % 6) {
    case 0:
      return Scalar::FromBits(bits >> random() % 64);
    case 1:
      return Scalar::FromBits(~(bits >> random() % 64));
    case 2:
      return Scalar::FromBits(bits | uint64_t{0x7FF} << 52);
    default:
      return Scalar::FromBits(bits);
  }
}

Scalar RandomValue(DType d, std::mt19937_64& random) {
  if (random() % 2 == 0) {
    const std::vector<Scalar> edges = EdgeValues(d);
    return edges[random() % edges.size()];
  }
  return d == DType::kIndex ? RandomBits(random) : FromBits(random(), d);
}

bool IsCanonical(Scalar v, DType d) { return d == DType::kIndex || FromBits(ToBits(v, d), d) == v; }

TEST(EvalAlu, IsDefinedExactlyWhereItSaysAndCanonical) {
  std::mt19937_64 random(8);
  for (DType d : AllDTypes()) {
    for (int i = 0; i < kNumAluOps; ++i) {
      const AluOp op = static_cast<AluOp>(i);
      for (int n = 0; n < 300; ++n) {
        std::array<Scalar, 3> in = {RandomValue(d, random), RandomValue(d, random),
                                    RandomValue(d, random)};
        if (op == AluOp::kWhere) in[0] = Scalar::Bool(random() % 2 != 0);
        const std::optional<Scalar> result =
            EvalAlu(op, d, absl::MakeConstSpan(in.data(), NumOperands(op)));
        if (d != DType::kIndex) {
          ASSERT_EQ(result.has_value(), IsDefined(op, d)) << Name(op) << " " << Name(d);
        }
        if (!result.has_value()) continue;
        ASSERT_TRUE(IsDefined(op, d));
        ASSERT_TRUE(IsCanonical(*result, IsComparison(op) ? DType::kBool : d))
            << Name(op) << " " << Name(d);
      }
    }
  }
}

TEST(EvalAlu, SurvivesBitsThatAreNoValueOfTheType) {
  std::mt19937_64 random(9);
  for (int n = 0; n < 1000000; ++n) {
    const DType d = static_cast<DType>(random() % kNumDTypes);
    const AluOp op = static_cast<AluOp>(random() % kNumAluOps);
    const std::array<Scalar, 3> in = {RandomBits(random), RandomBits(random), RandomBits(random)};
    EvalAlu(op, d, absl::MakeConstSpan(in.data(), random() % 4));
    EvalAlu(op, d, absl::MakeConstSpan(in.data(), NumOperands(op)));
  }
}

TEST(EvalWide, SurvivesRandomIntegers) {
  std::mt19937_64 random(10);
  const auto wide = [&] {
    const UInt128 bits = static_cast<UInt128>(random()) << 64 | random();
    return static_cast<Int128>(bits) >> (random() % 128);
  };
  for (int n = 0; n < 500000; ++n) {
    const AluOp op = static_cast<AluOp>(random() % kNumAluOps);
    const std::array<Int128, 3> in = {wide(), wide(), wide()};
    EvalWide(op, absl::MakeConstSpan(in.data(), NumOperands(op)));
  }
}

TEST(Cast, SurvivesBitsThatAreNoValueOfTheType) {
  std::mt19937_64 random(11);
  const std::vector<DType> all = AllDTypes();
  for (int n = 0; n < 1000000; ++n) {
    const DType from = all[random() % all.size()], to = all[random() % all.size()];
    const Scalar v = RandomBits(random);
    Cast(v, from, to);
    Bitcast(v, from, to);
  }
}

TEST(Cast, GivesCanonicalValues) {
  std::mt19937_64 random(12);
  for (DType from : AllDTypes()) {
    for (DType to : AllDTypes()) {
      for (int n = 0; n < 300; ++n) {
        const std::optional<Scalar> result = Cast(RandomValue(from, random), from, to);
        ASSERT_TRUE(result.has_value() || to == DType::kIndex);
        if (result.has_value()) {
          ASSERT_TRUE(IsCanonical(*result, to)) << Name(from) << " " << Name(to);
        }
      }
    }
  }
}

}  // namespace
}  // namespace kiln::dtype
