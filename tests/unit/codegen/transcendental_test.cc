// Elementary functions against libm with more precision than the result has. (Every float32 was
// compared once, and float64 with __float128: see core/codegen/README.md.)
#include "core/codegen/transcendental.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "core/codegen/decompose.h"
#include "tests/support/random.h"
#include "tests/support/status_matchers.h"
#include "tests/unit/codegen/program.h"

namespace kiln::codegen {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

int Precision(DType d) {
  switch (d) {
    case DType::kFloat16:
      return 11;
    case DType::kBFloat16:
      return 8;
    case DType::kFloat32:
      return 24;
    default:
      return 53;
  }
}
int MinExponent(DType d) {
  return d == DType::kFloat64 ? -1022 : d == DType::kFloat16 ? -14 : -126;
}

// The distance of two neighbours at `v`.
long double Ulp(long double v, DType d) {
  int exponent = 0;
  std::frexp(v, &exponent);
  if (v == 0) exponent = MinExponent(d);
  return std::ldexp(1.0L, std::max(exponent - 1, MinExponent(d)) - Precision(d) + 1);
}

// Error of `got`; infinity if one is NaN or infinite and the other is not, or the sign of a zero is
// wrong.
double ErrorInUlp(double got, long double exact, DType d) {
  if (std::isnan(exact) || std::isnan(got))
    return std::isnan(exact) == std::isnan(got) ? 0 : kInfinity;
  if (exact == 0 || std::isinf(exact)) {
    return got == exact && std::signbit(got) == std::signbit(exact) ? 0 : kInfinity;
  }
  // Overflow: infinity counts as the number that follows the largest one.
  const long double top = std::ldexp(1.0L, 2 - MinExponent(d));
  long double value = got;
  if (std::isinf(value)) value = std::copysign(top, value);
  if (std::fabs(exact) > top) exact = std::copysign(top, exact);
  return static_cast<double>(std::fabs(value - exact) /
                             Ulp(std::fabs(exact) >= top ? top / 2 : exact, d));
}

using Reference = long double (*)(long double);
struct Function {
  const char* name;
  Ref (*build)(Graph&, Ref);
  Reference exact;
  double allowed_ulp[2];  // In float32 and float64: measured, rounded up.
};
const Function kFunctions[] = {
    {"exp2", Exp2, [](long double x) { return std::exp2(x); }, {0.85, 0.9}},
    {"log2", Log2, [](long double x) { return std::log2(x); }, {0.85, 0.95}},
    {"sin", Sin, [](long double x) { return std::sin(x); }, {0.8, 0.8}},
    {"sqrt", Sqrt, [](long double x) { return std::sqrt(x); }, {0.5, 0.501}},
};

const double kSpecial[] = {0.0,
                           -0.0,
                           1.0,
                           -1.0,
                           0.5,
                           -0.5,
                           2.0,
                           -2.0,
                           3.0,
                           1.5,
                           -1.5,
                           kInfinity,
                           -kInfinity,
                           kNan,
                           0x1p-149,
                           0x1p-150,
                           0x1p-126,
                           0x1p-1074,
                           -0x1p-1074,
                           0x1p-1022,
                           0x1.fffffffffffffp1023,
                           -0x1.fffffffffffffp1023,
                           0x1.fffffep127,
                           127.0,
                           128.0,
                           -126.0,
                           -149.0,
                           -150.0,
                           -151.0,
                           1023.0,
                           1024.0,
                           -1022.0,
                           -1074.0,
                           -1075.0,
                           -1076.0,
                           127.99999,
                           1023.9999999999999,
                           0x1p23,
                           0x1p24,
                           0x1p52,
                           0x1p53,
                           0x1p62,
                           0x1p64,
                           1e300,
                           1e22,
                           3.141592653589793,
                           1.5707963267948966,
                           0.7853981633974483,
                           0.75,
                           6381956970095103.0 * 0x1p797};

// Values of every magnitude, of the ranges where the functions are interesting, and near their
// special points.
double RandomArgument(support::Random& random, DType d) {
  const auto uniform = [&](double lo, double hi) {
    return lo + (hi - lo) * static_cast<double>(random.Next() >> 11) * 0x1p-53;
  };
  switch (random.Uniform(0, 5)) {
    case 0:
      return dtype::FromBits(random.Next(), d).AsFloat();
    case 1:
      return d == DType::kFloat64 ? uniform(-1080, 1030) : uniform(-152, 130);
    case 2:
      return uniform(0, 4);
    case 3:
      return 1 + std::ldexp(uniform(-1, 1), static_cast<int>(-random.Uniform(1, 52)));
    case 4:
      return uniform(-100, 100);
    default:
      return 1.5707963267948966 * static_cast<double>(random.Uniform(-1000000, 1000000));
  }
}

double WorstError(const Function& f, DType d, int count) {
  Graph g;
  const Ref x = g.Variable(d, "x", Scalar::Float(-kInfinity), Scalar::Float(kInfinity));
  Program program(f.build(g, x), {x});
  support::Random random(7);
  double worst = 0;
  const auto check = [&](double v) {
    v = dtype::RoundToFloat(v, d);
    const double error = ErrorInUlp(program(Scalar::Float(v)).AsFloat(), f.exact(v), d);
    if (std::isinf(error)) ADD_FAILURE() << f.name << " of " << v << " is wrong";
    worst = std::max(worst, error);
  };
  for (double v : kSpecial) check(v);
  for (int i = 0; i < count; ++i) check(RandomArgument(random, d));
  return worst;
}

TEST(Transcendental, IsWithinItsErrorInFloat32) {
  for (const Function& f : kFunctions) {
    const double worst = WorstError(f, DType::kFloat32, 40000);
    RecordProperty(f.name, std::to_string(worst));
    EXPECT_LE(worst, f.allowed_ulp[0]) << f.name;
  }
}

TEST(Transcendental, IsWithinItsErrorInFloat64) {
  for (const Function& f : kFunctions) {
    const double worst = WorstError(f, DType::kFloat64, 40000);
    RecordProperty(f.name, std::to_string(worst));
    EXPECT_LE(worst, f.allowed_ulp[1]) << f.name;
  }
}

TEST(Transcendental, IsRightForEveryFloat16AndBFloat16) {
  for (DType d : {DType::kFloat16, DType::kBFloat16}) {
    for (const Function& f : kFunctions) {
      Graph g;
      const Ref x = g.Variable(d, "x", Scalar::Float(-kInfinity), Scalar::Float(kInfinity));
      Program program(f.build(g, x), {x});
      double worst = 0;
      for (uint64_t bits = 0; bits < 1 << 16; ++bits) {
        const Scalar v = dtype::FromBits(bits, d);
        // Rounded to the type first where that makes it zero or infinite, as the result may be.
        long double exact = f.exact(v.AsFloat());
        const double rounded = dtype::RoundToFloat(static_cast<double>(exact), d);
        if (rounded == 0 || std::isinf(rounded)) exact = rounded;
        worst = std::max(worst, ErrorInUlp(program(v).AsFloat(), exact, d));
      }
      EXPECT_LE(worst, 0.501) << f.name << " in " << std::string(dtype::Name(d));
    }
  }
}

class PowTest : public ::testing::TestWithParam<DType> {
 protected:
  PowTest() : program_(Pow(g_, x_, y_), {x_, y_}) {}
  double Run(double x, double y) { return program_(Scalar::Float(x), Scalar::Float(y)).AsFloat(); }

  Graph g_;
  const Ref x_ = g_.Variable(GetParam(), "x", Scalar::Float(-kInfinity), Scalar::Float(kInfinity));
  const Ref y_ = g_.Variable(GetParam(), "y", Scalar::Float(-kInfinity), Scalar::Float(kInfinity));
  Program program_;
};

TEST_P(PowTest, AgreesWithCOnSpecialValues) {
  const DType d = GetParam();
  for (double a : kSpecial) {
    for (double b : kSpecial) {
      const double x = dtype::RoundToFloat(a, d), y = dtype::RoundToFloat(b, d);
      const double error = ErrorInUlp(
          Run(x, y), std::pow(static_cast<long double>(x), static_cast<long double>(y)), d);
      // What underflows to zero in the type is tiny in long double.
      if (std::isinf(error) && dtype::RoundToFloat(std::pow(x, y), d) == Run(x, y)) continue;
      ASSERT_LE(error, 1) << x << " ^ " << y << " is not " << Run(x, y);
    }
  }
}

TEST_P(PowTest, IsWithinItsError) {
  const DType d = GetParam();
  support::Random random(11);
  double worst = 0;
  for (int i = 0; i < 30000; ++i) {
    const double x = std::fabs(dtype::RoundToFloat(RandomArgument(random, d), d));
    double y = RandomArgument(random, d);
    // Half of the exponents so that the result is within the range of the type.
    if (random.Chance(1, 2))
      y = (d == DType::kFloat64 ? 1.0 : 0.125) * static_cast<double>(random.Uniform(-1080, 1030)) /
          std::log2(x);
    y = dtype::RoundToFloat(y, d);
    const long double exact = std::pow(static_cast<long double>(x), static_cast<long double>(y));
    worst = std::max(worst, ErrorInUlp(Run(x, y), exact, d));
  }
  EXPECT_LE(worst, 1) << "float32 and narrower allow 1, float64 allows 2";
}

TEST_P(PowTest, OfAConstantIsWithinItsError) {
  const DType d = GetParam();
  support::Random random(13);
  for (int n = 1; n <= 18; ++n) {
    Program program(Pow(g_, x_, g_.Const(d, Scalar::Float(n))), {x_});
    for (int i = 0; i < 500; ++i) {
      double x = dtype::RoundToFloat(RandomArgument(random, d), d);
      if (i % 2 == 0) x = dtype::RoundToFloat(std::remainder(x, 4.0), d);
      if (i < static_cast<int>(std::size(kSpecial))) x = dtype::RoundToFloat(kSpecial[i], d);
      const double got = program(Scalar::Float(x)).AsFloat();
      const long double exact = std::pow(static_cast<long double>(x), static_cast<long double>(n));
      const double error = ErrorInUlp(got, exact, d);
      if (std::isinf(error) && dtype::RoundToFloat(std::pow(x, n), d) == got) continue;
      ASSERT_LE(error, d == DType::kFloat64 ? 2 : 1) << x << " ^ " << n << " is not " << got;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(DTypes, PowTest, ::testing::Values(DType::kFloat32, DType::kFloat64),
                         [](const auto& p) { return std::string(dtype::Name(p.param)); });

TEST(Transcendental, ReplacesWhatTheTargetLacks) {
  Graph g;
  const Ref x = g.Variable(DType::kFloat32, "x", Scalar::Float(-1), Scalar::Float(1));
  for (Op op : {Op::kExp2, Op::kLog2, Op::kSin, Op::kSqrt}) {
    const Ref call = g.Unary(op, x);
    KILN_ASSERT_OK_AND_ASSIGN(const Ref native, Decompose(g, call, OpSupport{op}));
    EXPECT_EQ(native, call);
    KILN_ASSERT_OK_AND_ASSIGN(const Ref composed, Decompose(g, call, OpSupport{}));
    EXPECT_TRUE(uop::Visit(
        composed, [op](Ref n) { return !n->Is(op) && !n->Is(Op::kShl) && !n->Is(Op::kShr); }));
  }
}

// On a target that has nothing but the base ops, shifts are products and quotients: the same bits.
TEST(Transcendental, SurvivesDecomposition) {
  for (DType d : {DType::kFloat32, DType::kFloat64}) {
    for (const Function& f : kFunctions) {
      Graph g;
      const Ref x = g.Variable(d, "x", Scalar::Float(-kInfinity), Scalar::Float(kInfinity));
      const Ref composed = f.build(g, x);
      KILN_ASSERT_OK_AND_ASSIGN(const Ref lowered, Decompose(g, composed, OpSupport{}));
      Program program(composed, {x}), again(lowered, {x});
      support::Random random(13);
      for (int i = 0; i < 2000; ++i) {
        const Scalar v = Scalar::Float(dtype::RoundToFloat(RandomArgument(random, d), d));
        ASSERT_EQ(program(v), again(v)) << f.name << " of " << v.AsFloat();
      }
    }
  }
}

}  // namespace
}  // namespace kiln::codegen
