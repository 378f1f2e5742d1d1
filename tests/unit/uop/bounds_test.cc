#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/dtype/alu.h"
#include "core/dtype/cast.h"
#include "core/uop/facts.h"
#include "core/uop/parse.h"
#include "core/uop/text.h"
#include "tests/support/status_matchers.h"
#include "tests/unit/uop/random_graph.h"

namespace kiln::uop {
namespace {

std::string Show(Int128 v) {
  return v == Bounds::kPosInf ? "inf" : v == Bounds::kNegInf ? "-inf" : kiln::ToString(v);
}

std::string BoundsText(std::string_view text) {
  Graph g;
  const absl::StatusOr<Ref> n = Parse(g, text);
  if (!n.ok()) return n.status().ToString();
  const Bounds b = BoundsOf(g, *n);
  return Show(b.lo) + " " + Show(b.hi);
}

TEST(Bounds, OfLeaves) {
  EXPECT_EQ(BoundsText("-7"), "-7 -7");
  EXPECT_EQ(BoundsText("18446744073709551615:uint64"), "18446744073709551615 18446744073709551615");
  EXPECT_EQ(BoundsText("i[-3,9]"), "-3 9");
  EXPECT_EQ(BoundsText("i[5,18446744073709551615]:uint64"), "5 18446744073709551615");
  EXPECT_EQ(BoundsText("_"), "-inf inf");
  EXPECT_EQ(BoundsText("_:int8"), "-128 127");
  EXPECT_EQ(BoundsText("_:bool"), "0 1");
  EXPECT_EQ(BoundsText("r0:64"), "0 63");
  EXPECT_EQ(BoundsText("r0:(n[2,9] * 2)"), "0 17");
  EXPECT_EQ(BoundsText("r0:0"), "0 0");
  EXPECT_EQ(BoundsText("r0:(_)"), "0 inf");
  EXPECT_EQ(BoundsText("gidx0:(i[1,10]:int32)"), "0 9");
  EXPECT_EQ(BoundsText("bind(i[0,9], 3)"), "0 9");
  EXPECT_EQ(BoundsText("iota{1}(2, n[1,7]):index"), "0 6");
  EXPECT_EQ(BoundsText("load(index(param{\"p\", 0, 1, global}:uint16, 0))"), "0 65535");
}

TEST(Bounds, OfSumsAndProducts) {
  EXPECT_EQ(BoundsText("i[10,20] + -5"), "5 15");
  EXPECT_EQ(BoundsText("i[10,20] - j[1,2]"), "8 19");
  EXPECT_EQ(BoundsText("i[-2,5] * -3"), "-15 6");
  EXPECT_EQ(BoundsText("i[-2,5] * j[-7,3]"), "-35 15");
  EXPECT_EQ(BoundsText("max(i[0,10], 5)"), "5 10");
  EXPECT_EQ(BoundsText("_ + 1"), "-inf inf");
  EXPECT_EQ(BoundsText("max(_, 3) + 1"), "4 inf");
  EXPECT_EQ(BoundsText("max(_, 3) * -2"), "-inf -6");
  EXPECT_EQ(BoundsText("max(_, 3) - max(_, 3)"), "-inf inf");
  EXPECT_EQ(BoundsText("_ * 0"), "0 0");
  EXPECT_EQ(BoundsText("_ * _"), "-inf inf");
}

TEST(Bounds, SaturateInsteadOfOverflowing) {
  std::string power = "i[0,9223372036854775807]";
  for (int i = 0; i < 5; ++i) power = "(" + power + ") * i";
  EXPECT_EQ(BoundsText(power), "0 inf");
  EXPECT_EQ(BoundsText("(" + power + ") * -1"), "-inf 0");
  EXPECT_EQ(BoundsText("(" + power + ") / 2 + 5"), "5 inf");
  EXPECT_EQ(BoundsText("i[1,9] << 4000"), "inf inf");
}

TEST(Bounds, OfQuotientsAreTheHullOfTruncatedCorners) {
  EXPECT_EQ(BoundsText("x[1,10] / y[3,5]"), "0 3");
  EXPECT_EQ(BoundsText("x[1,10] / (y[3,5] * -1)"), "-3 0");
  EXPECT_EQ(BoundsText("-100 / (y[3,5] * -1)"), "20 33");
  EXPECT_EQ(BoundsText("x[-10,10] / -3"), "-3 3");
  EXPECT_EQ(BoundsText("x[-10,10] / y[0,5]"), "-inf inf");
  EXPECT_EQ(BoundsText("x[-10,10]:int32 / y[-1,5]:int32"), "-2147483648 2147483647");
  EXPECT_EQ(BoundsText("_ / 4"), "-inf inf");
  EXPECT_EQ(BoundsText("max(_, -9) / 4"), "-2 inf");
  EXPECT_EQ(BoundsText("x[-9,7] / max(_, 2)"), "-4 3");
  EXPECT_EQ(BoundsText("max(_, 8) / max(_, 2)"), "0 inf");
}

TEST(Bounds, OfRemaindersFollowTheSignOfTheNumerator) {
  EXPECT_EQ(BoundsText("x[10,20] % -3"), "0 2");
  EXPECT_EQ(BoundsText("x[-20,-10] % 3"), "-2 0");
  EXPECT_EQ(BoundsText("x[-20,20] % 3"), "-2 2");
  EXPECT_EQ(BoundsText("x[0,2] % y[4,9]"), "0 8") << "not tight, as specified";
  EXPECT_EQ(BoundsText("x[0,0] % 3"), "0 2");
  EXPECT_EQ(BoundsText("x[-20,20] % y[-3,3]"), "-inf inf");
  EXPECT_EQ(BoundsText("_ % 7"), "-6 6");
}

TEST(Bounds, OfBitOps) {
  EXPECT_EQ(BoundsText("x[10,20] & 15"), "0 15");
  EXPECT_EQ(BoundsText("x[10,12] & 15"), "0 12");
  EXPECT_EQ(BoundsText("x[-1,12] & 15"), "-inf inf");
  EXPECT_EQ(BoundsText("x[0,12]:int32 & y[0,9]:int32"), "-2147483648 2147483647");
  EXPECT_EQ(BoundsText("x[0,12] | 3"), "-inf inf");
  EXPECT_EQ(BoundsText("x[0,10] << 5"), "0 320");
  EXPECT_EQ(BoundsText("x[-9,10] >> 1"), "-5 5");
  EXPECT_EQ(BoundsText("x[-9,10]:int32 >> 40"), "-1 0");
  EXPECT_EQ(BoundsText("x[-9,10]:int32 << 40"), "0 0");
  EXPECT_EQ(BoundsText("x[0,10] << y[0,5]"), "-inf inf");
  EXPECT_EQ(BoundsText("x[0,10] << -1"), "-inf inf");
  EXPECT_EQ(BoundsText("_ >> 3"), "-inf inf");
}

TEST(Bounds, OfConditions) {
  EXPECT_EQ(BoundsText("x[0,4] < 5"), "1 1");
  EXPECT_EQ(BoundsText("x[0,5] < 5"), "0 1");
  EXPECT_EQ(BoundsText("x[5,9] < 5"), "0 0");
  EXPECT_EQ(BoundsText("x[0,4] != 5"), "1 1");
  EXPECT_EQ(BoundsText("x[0,5] != 5"), "0 1");
  EXPECT_EQ(BoundsText("5 != 5"), "0 0");
  EXPECT_EQ(BoundsText("5 == 5"), "0 1") << "as specified: any other op has the range of its dtype";
  EXPECT_EQ(BoundsText("(x[0,4] < 5) & (y[0,9] < 5)"), "0 1");
  EXPECT_EQ(BoundsText("(x[0,4] < 5) | (y[0,9] < 5)"), "1 1");
  EXPECT_EQ(BoundsText("(x[5,9] < 5) & (y[0,9] < 5)"), "0 0");
  EXPECT_EQ(BoundsText("true + true"), "1 1");
  EXPECT_EQ(BoundsText("true * false"), "0 0");
  EXPECT_EQ(BoundsText("where(p[false,true]:bool, x[1,11], y[2,12])"), "1 12");
}

TEST(Bounds, OfFloatComparisonsAllowForNaN) {
  EXPECT_EQ(BoundsText("x[0,1]:float32 < 2.0"), "1 1");
  EXPECT_EQ(BoundsText("_:float32 < inf"), "0 1");
  EXPECT_EQ(BoundsText("-inf < _:float32"), "0 1");
  EXPECT_EQ(BoundsText("nan:float32 < 1.0"), "0 1");
  EXPECT_EQ(BoundsText("nan:float32 != nan"), "0 1");
  EXPECT_EQ(BoundsText("inf:float32 != inf"), "0 0");
  EXPECT_EQ(BoundsText("0.0:float32 != -0.0"), "0 0");
}

TEST(Bounds, OfCastsAreClipped) {
  EXPECT_EQ(BoundsText("cast(x[-10,10]:int32):bool"), "0 1");
  EXPECT_EQ(BoundsText("cast(x[-10,10]:int32):uint32"), "0 4294967295");
  EXPECT_EQ(BoundsText("cast(x[-10,1000]):int8"), "-10 127");
  EXPECT_EQ(BoundsText("cast(x[300,1000]):int8"), "-128 127") << "clipping leaves nothing";
  EXPECT_EQ(BoundsText("cast(_):int32"), "-2147483648 2147483647");
  EXPECT_EQ(BoundsText("cast(_:uint64):index"), "0 18446744073709551615");
  EXPECT_EQ(BoundsText("cast(x[-1.5,2.75]:float32):int32"), "-1 2");
  EXPECT_EQ(BoundsText("cast(x[-1.5,1e300]:float64):int64"), "-1 9223372036854775807");
  EXPECT_EQ(BoundsText("cast(_:float32):int8"), "-128 127");
  EXPECT_EQ(BoundsText("cast(p[false,true]:bool):int32"), "0 1");
}

TEST(Bounds, OfStacksAndMovement) {
  EXPECT_EQ(BoundsText("stack(10, 20, -5, 7)"), "-5 20");
  EXPECT_EQ(BoundsText("unstack{2}(stack(10, 20, -5, 7))"), "-5 20");
  EXPECT_EQ(BoundsText("reshape(iota{0}(6):int32, 2, 3)"), "0 5");
  EXPECT_EQ(BoundsText("pad(shrink(i[3,5], 0, 1), 1, 1)"), "0 5");
  EXPECT_EQ(BoundsText("after(i[3,5], barrier())"), "3 5");
}

TEST(FloatBounds, AreFiniteOnlyWithoutNaN) {
  const auto bounds = [](std::string_view text) {
    Graph g;
    const FloatBounds b = FloatBoundsOf(g, *Parse(g, text));
    return std::pair(b.lo, b.hi);
  };
  constexpr double kInf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(bounds("1.5:float32"), std::pair(1.5, 1.5));
  EXPECT_EQ(bounds("nan:float32"), std::pair(-kInf, kInf));
  EXPECT_EQ(bounds("x[-1,3.5]:float16"), std::pair(-1.0, 3.5));
  EXPECT_EQ(bounds("_:float16"), std::pair(-kInf, kInf));
  EXPECT_EQ(bounds("x[0,1]:float32 + 1.0"), std::pair(-kInf, kInf));
  EXPECT_EQ(bounds("stack(1.5:float32, -3.25:float32, 0.0:float32)"), std::pair(-3.25, 1.5));
  EXPECT_EQ(bounds("cast(i[-10,10]):float32"), std::pair(-10.0, 10.0));
  EXPECT_EQ(bounds("cast(i[0,16777219]):float32"), std::pair(0.0, 16777220.0))
      << "rounds as the cast does";
  EXPECT_EQ(bounds("cast(i[0,1000]):fp8e4m3"), std::pair(0.0, 448.0));
  EXPECT_EQ(bounds("cast(i[0,70000]):float16"), std::pair(0.0, kInf));
  EXPECT_EQ(bounds("cast(_:float32):fp8e4m3"), std::pair(-kInf, kInf)) << "NaN stays NaN";
  EXPECT_EQ(bounds("cast(_):float32"), std::pair(-kInf, kInf));
  EXPECT_EQ(bounds("cast(u[0,255]:uint8 + 8):float32"), std::pair(0.0, 255.0)) << "may wrap";
}

TEST(SafeBounds, LieWithinTheDType) {
  Graph g;
  EXPECT_EQ(SafeBoundsOf(g, *Parse(g, "u[0,255]:uint8 * 12")), (Bounds{0, 255}));
  EXPECT_EQ(SafeBoundsOf(g, *Parse(g, "u[0,9]:uint8 * 12")), (Bounds{0, 108}));
}

std::string Hold(std::string_view text) {
  Graph g;
  const absl::StatusOr<Ref> n = Parse(g, text);
  if (!n.ok()) return n.status().ToString();
  return BoundsHold(g, *n) ? "hold" : "no";
}

TEST(BoundsHold, UnlessTheValueMayWrap) {
  EXPECT_EQ(Hold("_ + 1"), "hold");
  EXPECT_EQ(Hold("i[0,100]:int8 + 27"), "hold");
  EXPECT_EQ(Hold("i[0,100]:int8 + 28"), "no");
  EXPECT_EQ(Hold("i[0,100]:int8 + i - i"), "no") << "[-100, 200] does not fit";
  EXPECT_EQ(Hold("i[0,100]:int8 + 100 + -100"), "hold") << "what overflows on the way comes back";
  EXPECT_EQ(Hold("(i[0,100]:int8 + 100) / 2"), "no") << "a quotient does not forget an overflow";
  EXPECT_EQ(Hold("i[0,100]:int8 + 100 < 3"), "no");
  EXPECT_EQ(Hold("i[0,100]:int8 + 100 < 127"), "hold") << "[false, true] holds whatever happens";
  EXPECT_EQ(Hold("max(i[0,100]:int8 + 100, 0)"), "no");
  EXPECT_EQ(Hold("(i[0,100]:int8 + 100) % 3"), "no") << "may be negative";
  EXPECT_EQ(Hold("cast(i[0,100]:int8 + 100):int32"), "no");
  EXPECT_EQ(Hold("cast(i[0,200]:int32):int8"), "no");
  EXPECT_EQ(Hold("cast(i[0,100]:int32):int8"), "hold");
  EXPECT_EQ(Hold("i[-128,0]:int8 / -1"), "no");
  EXPECT_EQ(Hold("i[-128,0]:int8 / -1 - 1"), "hold");
}

TEST(BoundsHold, SafeBoundsFallBackToTheDType) {
  Graph g;
  Ref n = *Parse(g, "i[0,100]:int8 + 28");
  EXPECT_EQ(BoundsOf(g, n), (Bounds{28, 128}));
  EXPECT_EQ(SafeBoundsOf(g, n), (Bounds{-128, 127}));
  EXPECT_EQ(SafeBoundsOf(g, *Parse(g, "i[0,9]:int8 + 28")), (Bounds{28, 37}));
}

// Every int8 expression of a few ops, at every value of its variables.
TEST(BoundsHold, ImpliesThatEveryValueIsWithin) {
  support::Random random(6);
  const Op ops[] = {Op::kAdd, Op::kSub, Op::kMul, Op::kMax, Op::kIDiv,
                    Op::kMod, Op::kAnd, Op::kShl, Op::kShr};
  int held = 0;
  for (int run = 0; run < 4000; ++run) {
    Graph g;
    const int64_t lo = random.Uniform(-128, 127),
                  hi = std::min<int64_t>(127, lo + random.Uniform(0, 12));
    Ref x = g.Variable(DType::kInt8, "x", Scalar::Int(lo), Scalar::Int(hi));
    std::vector<Ref> nodes = {x, g.Int(DType::kInt8, random.Uniform(-128, 127)),
                              g.Int(DType::kInt8, random.Uniform(0, 7))};
    for (int i = 0; i < 5; ++i) {
      const Op op = ops[random.Uniform(0, static_cast<int64_t>(std::size(ops)) - 1)];
      nodes.push_back(g.Binary(op, random.Pick(absl::MakeConstSpan(nodes)),
                               random.Pick(absl::MakeConstSpan(nodes))));
    }
    for (int64_t v = lo; v <= hi; ++v) {
      std::vector<Scalar> value(g.size());
      for (UOpId id = 0; id < g.size(); ++id) {
        Ref n = g.At(id);
        if (n->op == Op::kVariable) value[id] = Scalar::Int(v);
        if (n->IsConst()) value[id] = n->arg.scalar();
        if (!IsBinary(n->op)) continue;
        value[id] = *dtype::EvalAlu(ToAlu(n->op), DType::kInt8,
                                    {value[n->src(0)->id], value[n->src(1)->id]});
        if (!BoundsHold(g, n)) continue;
        ++held;
        ASSERT_TRUE(BoundsOf(g, n).Contains(value[id].AsInt()))
            << ToText(n) << " = " << value[id].AsInt() << " at x = " << v << ", not in "
            << Show(VMin(g, n)) << " " << Show(VMax(g, n));
      }
    }
  }
  EXPECT_GT(held, 50000);
}

TEST(Bounds, AreTotal) {
  support::Random random(7);
  for (int run = 0; run < 500; ++run) {
    Graph g;
    RandomGraph(g, random, 100);
    const uint32_t size = g.size();
    for (UOpId id = 0; id < size; ++id) {
      Ref n = g.At(id);
      if (dtype::IsFloat(n->dtype)) {
        EXPECT_LE(FloatBoundsOf(g, n).lo, FloatBoundsOf(g, n).hi);
      } else {
        EXPECT_LE(VMin(g, n), VMax(g, n)) << ToText(n);
        EXPECT_TRUE(Bounds().Contains(BoundsOf(g, n))) << ToText(n);
      }
    }
  }
}

}  // namespace
}  // namespace kiln::uop
