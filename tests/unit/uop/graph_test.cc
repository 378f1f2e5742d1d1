#include "core/uop/graph.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/unit/uop/random_graph.h"

namespace kiln::uop {
namespace {

TEST(Graph, MakesEqualNodesOnce) {
  Graph g;
  Ref a = g.Variable("a", 0, 9), b = g.Variable("b", 0, 9);
  EXPECT_EQ(g.Add(a, b), g.Add(a, b));
  EXPECT_NE(g.Add(a, b), g.Add(b, a)) << "operand order is for rules to settle";
  EXPECT_EQ(g.Index(3), g.Index(3));
  EXPECT_EQ(g.Variable("a", 0, 9), a);
  EXPECT_EQ(g.Range(8, 0), g.Range(g.Index(8), 0));
}

TEST(Graph, TellsNodesApartByEveryPart) {
  Graph g;
  Ref a = g.Variable("a", 0, 9), b = g.Variable("b", 0, 9);
  Ref sum = g.Add(a, b);
  EXPECT_NE(g.Make(Op::kSub, DType::kIndex, {a, b}), sum);
  EXPECT_NE(g.Make(Op::kAdd, DType::kInt32, {a, b}), sum);
  EXPECT_NE(g.Make(Op::kAdd, DType::kIndex, {a, b}, {}, /*tag=*/1), sum);
  EXPECT_NE(g.Make(Op::kAdd, DType::kIndex, {a, a}), sum);
  EXPECT_NE(g.Variable("a", 0, 8), a);
  EXPECT_NE(g.Int(DType::kInt32, 1), g.Int(DType::kInt64, 1));
  EXPECT_NE(g.Const(DType::kFloat32, Scalar::Float(0.0)),
            g.Const(DType::kFloat32, Scalar::Float(-0.0)));
}

TEST(Graph, PutsConstantsOnTheRightOfCommutativeOps) {
  Graph g;
  Ref a = g.Variable("a", 0, 9), c = g.Index(3);
  for (int i = 0; i < kNumOps; ++i) {
    const Op op = static_cast<Op>(i);
    if (!IsBinary(op)) continue;
    Ref n = g.Binary(op, c, a);
    EXPECT_EQ(n->src(0), IsCommutative(op) ? a : c) << Name(op);
    EXPECT_EQ(n == g.Binary(op, a, c), IsCommutative(op)) << Name(op);
  }
  EXPECT_EQ(g.Add(c, g.Index(4))->src(0), c) << "two constants stay as they are";
}

TEST(Graph, IdsAreDenseAndSourcesComeFirst) {
  support::Random random(3);
  Graph g;
  RandomGraph(g, random, 2000);
  for (UOpId id = 0; id < g.size(); ++id) {
    Ref n = g.At(id);
    EXPECT_EQ(n->id, id);
    uint64_t filter = 0;
    for (Ref s : n->src()) {
      EXPECT_LT(s->id, id);
      filter |= FilterBit(s->op);
    }
    EXPECT_EQ(n->src_filter, filter);
  }
}

TEST(Graph, FindsEveryNodeAgain) {
  support::Random random(4);
  Graph g;
  RandomGraph(g, random, 20000);
  const uint32_t size = g.size();
  for (UOpId id = 0; id < size; ++id) {
    Ref n = g.At(id);
    const std::vector<Ref> src(n->src().begin(), n->src().end());
    EXPECT_EQ(g.Make(n->op, n->dtype, src, n->arg, n->tag), n);
  }
  EXPECT_EQ(g.size(), size);
}

TEST(Graph, TakesAnyNumberOfSources) {
  Graph g;
  for (size_t n : {0, 1, 3, 4, 100, kMaxSources}) {
    std::vector<Ref> src;
    for (size_t i = 0; i < n; ++i) src.push_back(g.Index(static_cast<int64_t>(i % 1000)));
    Ref sink = g.Make(Op::kSink, DType::kVoid, src);
    EXPECT_EQ(sink->src(), absl::MakeConstSpan(src));
    EXPECT_EQ(g.Make(Op::kSink, DType::kVoid, src), sink);
  }
}

TEST(Graph, WithSourcesKeepsTheRest) {
  Graph g;
  Ref a = g.Variable("a", 0, 9), b = g.Variable("b", 0, 9);
  Ref n = g.Make(Op::kReduce, DType::kInt32, {a}, Arg::Of(ReduceArg{Op::kMax, 5}), /*tag=*/7);
  Ref m = g.WithSources(n, {b, a});
  EXPECT_EQ(m, g.Make(Op::kReduce, DType::kInt32, {b, a}, Arg::Of(ReduceArg{Op::kMax, 5}), 7));
  EXPECT_EQ(g.WithSources(m, {a}), n);
}

TEST(Graph, InternsPayloadsByContents) {
  Graph g;
  const std::vector<int64_t> ints = {1, 2};
  const Payload* p = g.InternPayload("x", ints);
  EXPECT_EQ(p, g.InternPayload(std::string("x"), {1, 2}));
  EXPECT_NE(p, g.InternPayload("x", {2, 1}));
  EXPECT_NE(p, g.InternPayload("y", ints));
  EXPECT_NE(g.InternPayload("", {}), g.InternPayload("", {0}));
  for (int i = 0; i < 1000; ++i) g.InternPayload(std::to_string(i), {i});
  EXPECT_EQ(p, g.InternPayload("x", ints));
  EXPECT_EQ(p->text, "x");
  EXPECT_EQ(p->ints, absl::MakeConstSpan(ints));
}

// Shapes that fill the lines of the intern table: each node with two users that are newer than
// anything else they use, one node with all of them, and nodes without sources.
TEST(Graph, FindsEveryNodeAgainHoweverItsUsersAreDistributed) {
  constexpr int kNodes = 20'000;
  Graph g;
  std::vector<Ref> tree = {g.Variable("i", 0, 9)};
  for (size_t i = 0; tree.size() < kNodes; ++i) {
    tree.push_back(g.Unary(Op::kNeg, tree[i]));
    tree.push_back(g.Unary(Op::kTrunc, tree[i]));
  }
  for (int i = 0; i < kNodes; ++i) g.Add(tree.back(), g.Index(i));
  const uint32_t size = g.size();
  for (UOpId id = 0; id < size; ++id) {
    Ref n = g.At(id);
    EXPECT_EQ(n->id, id);
    EXPECT_EQ(g.Make(n->op, n->dtype, n->src(), n->arg, n->tag), n);
  }
  EXPECT_EQ(g.size(), size);
}

TEST(Graph, ReserveChangesNothingButSpeed) {
  Graph a, b;
  b.Reserve(100000);
  support::Random random_a(5), random_b(5);
  RandomGraph(a, random_a, 3000);
  RandomGraph(b, random_b, 3000);
  ASSERT_EQ(a.size(), b.size());
  for (UOpId id = 0; id < a.size(); ++id) {
    EXPECT_EQ(a.At(id)->op, b.At(id)->op);
    EXPECT_EQ(a.At(id)->hash, b.At(id)->hash);
  }
}

TEST(Graph, TypesOfElementwiseResults) {
  Graph g;
  Ref x = g.Variable(DType::kFloat16, "x", Scalar::Float(0), Scalar::Float(1));
  EXPECT_EQ(g.Mul(x, x)->dtype, DType::kFloat16);
  EXPECT_EQ(g.Lt(x, x)->dtype, DType::kBool);
  EXPECT_EQ(g.Where(g.Bool(true), x, x)->dtype, DType::kFloat16);
  EXPECT_EQ(g.Neg(x), g.Mul(x, g.Const(DType::kFloat16, Scalar::Float(-1))));
  EXPECT_EQ(g.Int(DType::kInt8, 200)->IntValue(), -56);
}

TEST(Arg, ValidArgsAreThoseThatAccessorsCanRead) {
  Graph g;
  EXPECT_TRUE(IsValidArg(Op::kConst, DType::kInt8, Arg::Int(-128)));
  EXPECT_FALSE(IsValidArg(Op::kConst, DType::kInt8, Arg::Int(128)));
  EXPECT_FALSE(IsValidArg(Op::kConst, DType::kUInt8, Arg::Int(-1)));
  EXPECT_FALSE(IsValidArg(Op::kConst, DType::kBool, Arg::Int(2)));
  EXPECT_FALSE(IsValidArg(Op::kConst, DType::kVoid, Arg()));
  EXPECT_TRUE(IsValidArg(Op::kConst, DType::kUInt64, Arg::Int(-1)));
  EXPECT_FALSE(IsValidArg(Op::kConst, DType::kFloat16, Arg::Of(Scalar::Float(0.1))));
  EXPECT_TRUE(IsValidArg(Op::kConst, DType::kFloat64, Arg::Of(Scalar::Float(0.1))));
  EXPECT_FALSE(IsValidArg(Op::kAdd, DType::kInt8, Arg::Int(1)));
  EXPECT_FALSE(IsValidArg(Op::kReduce, DType::kInt8, Arg::Of(ReduceArg{Op::kSub, 1})));
  EXPECT_FALSE(IsValidArg(Op::kRange, DType::kIndex, Arg::FromBits(kNumAxisTypes)));
  EXPECT_FALSE(IsValidArg(Op::kVariable, DType::kIndex, g.PayloadArg("a", {1})));
  EXPECT_FALSE(IsValidArg(Op::kParam, DType::kIndex, g.PayloadArg("a", {1, 2, 3})));
  EXPECT_TRUE(IsValidArg(Op::kParam, DType::kIndex, g.PayloadArg("a", {1, 2, 2})));
}

}  // namespace
}  // namespace kiln::uop
