#include "core/uop/text.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/uop/facts.h"
#include "core/uop/parse.h"
#include "core/uop/walk.h"
#include "tests/support/status_matchers.h"
#include "tests/unit/uop/random_graph.h"

namespace kiln::uop {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// `text` reads as one graph, which prints as `text` again.
void ExpectPrintsAsWritten(std::string_view text) {
  Graph g;
  KILN_ASSERT_OK_AND_ASSIGN(const std::vector<Ref> roots, ParseRoots(g, text));
  EXPECT_EQ(ToText(roots), text);
}

// What `text` reads as, printed.
std::string Canonical(std::string_view text) {
  Graph g;
  const absl::StatusOr<Ref> n = Parse(g, text);
  return n.ok() ? ToText(*n) : n.status().ToString();
}

TEST(Text, WritesExpressionsAsPeopleDo) {
  Graph g;
  Ref i = g.Variable("i", 0, 63), n = g.Variable("n", 1, 100);
  EXPECT_EQ(ToText(g.Lt(g.Add(g.Mul(i, g.Index(4)), g.Index(3)), n)), "i[0,63] * 4 + 3 < n[1,100]");
  Ref r = g.Range(64, 0);
  EXPECT_EQ(ToText(g.Add(g.Mod(r, g.Index(8)), g.IDiv(r, g.Index(8)))), "r0:64 % 8 + r0 / 8");
}

TEST(Text, ReadsBackWhatItWrites) {
  for (std::string_view text : {"3",
                                "-3",
                                "9223372036854775807",
                                "-9223372036854775808",
                                "true",
                                "false",
                                "3:int32",
                                "18446744073709551615:uint64",
                                "0.1:float32",
                                "-0.0:float64",
                                "100.0:float16",
                                "1e+30:float32",
                                "inf:float32",
                                "-inf:bfloat16",
                                "nan:fp8e4m3",
                                "i[0,63]",
                                "i[0,63]:int32",
                                "x[-0.5,inf]:float32",
                                "p[false,true]:bool",
                                "_",
                                "_:uint8",
                                "r0:64",
                                "r12.reduce:8",
                                "rm1.upcast:4",
                                "r0:(n[1,9] + 1)",
                                "r0:64:int32",
                                "r1:(r0:3)",
                                "gidx0:256",
                                "i[0,9] - (i - 1)",
                                "i[0,9] - 1 - i",
                                "i[0,9] * (i + 1) % 5",
                                "-i[0,9] * -(i + 1)",
                                "--i[0,9]",
                                "neg(3)",
                                "(i[0,9] & 3) | (i << 2)",
                                "(i[0,9] & 3) << 2",
                                "(i[0,9] < 5) & (i != 3)",
                                "(i[0,9] < 5) != true",
                                "0 < i[0,9]",
                                "x[0,1]:float32 * 0.5 + 1.0",
                                "x[0,1]:float32 / 3.0",
                                "i[0,9]:int32 / 3",
                                "idiv(x[0,1]:float32, 3.0)",
                                "where(i[0,9] < 5, 1.0:float32, 0.0:float32)",
                                "where(p[false,true]:bool, x[0,1]:float32, 0.0)",
                                "max(i[0,9], 3)",
                                "cast(i[0,9]):float32",
                                "bitcast(cast(i[0,9]):int32):uint32",
                                "add(i[0,9], 1):int32",
                                "add(i[0,9], 1)#2",
                                "i[0,9] + 3:index#1",
                                "true#7",
                                "var{\"i\", 0, 9}#3",
                                "var{\"true\", 0, 9}",
                                "var{\"a b\", 0, 9}",
                                "special{\"r5\"}(4)",
                                "range{0, reduce}(64):int32",
                                "i[0,9] + var{\"i\", 0, 8}",
                                "load(index(param{\"in\", 0, 64, global}:float32, r0:64))",
                                "permute{1, 0}(input{0}(2, 3):float32)",
                                "reduce{add, 0, 2}(input{1}(4, 5, 6):int8)",
                                "kernel{\"k\\x00\\\"\\\\\"}(sink())",
                                "call{\"matmul\"}:float16",
                                "sink()",
                                "barrier()",
                                "1 + 2, 3",
                                "3:int32 + 4:int32",
                                "3:int32 + 4:index",
                                "unstack{1}(stack(i[0,9], 2))"}) {
    SCOPED_TRACE(text);
    ExpectPrintsAsWritten(text);
  }
}

TEST(Text, NamesSharedNodesOnce) {
  ExpectPrintsAsWritten("%0 = i[0,9] * i; %1 = %0 % 7 + %0; %1 * %1");
  ExpectPrintsAsWritten(
      "%0 = param{\"a\", 0, 8, local}:int32; load(index(%0, r0:8)) + load(index(%0, r0 + 1))");
}

TEST(Text, ReadsMoreSpellingsThanItWrites) {
  EXPECT_EQ(Canonical("((3)) + i[0,9]"), "i[0,9] + 3");
  EXPECT_EQ(Canonical(" i[0,9]%4 +\n i[0,9] "), "i[0,9] % 4 + i");
  EXPECT_EQ(Canonical("%n = 2 * i[0,9]; %m = %n + 1; %n<%m"), "%0 = i[0,9] * 2; %0 < %0 + 1");
  EXPECT_EQ(Canonical("i[0,9]:int32 + 3:int32"), "i[0,9]:int32 + 3");
  EXPECT_EQ(Canonical("2 < x[0,1]:float32"), "2.0 < x[0,1]:float32");
}

TEST(Text, BindsOperatorsAsInC) {
  EXPECT_EQ(Canonical("_ + _ * 3"), "_ + _ * 3");
  EXPECT_EQ(Canonical("(_ + 2) * 3"), "(_ + 2) * 3");
  EXPECT_EQ(Canonical("1 - 2 - 3"), "1 - 2 - 3");
  EXPECT_EQ(Canonical("1 - (2 - 3)"), "1 - (2 - 3)");
  EXPECT_EQ(Canonical("_ | _ ^ _ & 4"), "_ | (_ ^ (_ & 4))");
  EXPECT_EQ(Canonical("1 << 2 + 3 < 4 == true"), "(1 << (2 + 3) < 4) == true");
}

TEST(Text, SaysWhereAndWhatIsWrong) {
  const struct {
    std::string_view text, message;
  } kCases[] = {
      {"", "line 1, column 1: expected an operand before the end"},
      {"i[0,9] +", "column 9: expected an operand before the end"},
      {"\n i[0,9) + 1", "line 2, column 7: expected ']', not \")\""},
      {"i + 1", "i is not known"},
      {"(1 + 2", "expected an operator, ',' or ')' before the end"},
      {"1 + 2)", "expected an operator, ',' or the end, not \")\""},
      {"1 2", "expected an operator, ',' or the end, not \"2\""},
      {"300:int8", "300 is not a value of int8"},
      {"1.5", "1.5 is not a value of index"},
      {"1:bool", "1 is not a value of bool"},
      {"1e39:float32", "is not a value of float32"},
      {"1:float", "expected a dtype, not \"float\""},
      {"true#256", "expected a tag from 0 to 255, not \"256\""},
      {"%0 + 1", "no definition of %0"},
      {"%0 = 1; %0 = 2; %0", "there is a %0 already"},
      {"i[0,9] + i[0,8]", "there is another i already"},
      {"frob(1)", "frob is not an op"},
      {"add(1)", "add takes 2 sources, not 1"},
      {"cast(1)", "cast(...) needs a dtype"},
      {"input(1):int8", "expected '{' and the arg"},
      {"input{1, 2}:int8", "the arg of input is one integer"},
      {"sin{1}(1)", "sin takes no arg"},
      {"reduce{sub}(1)", "expected add, mul or max"},
      {"reduce{add, 32}(1)", "axis 32 is not one of 0 to 31"},
      {"param{\"a\", 1}:int8", "the arg of param is not one"},
      {"var{\"a\", 1000, 1}:int8", "the arg of var is not one"},
      {"copy{\"\\q\"}(1)", "expected a text"},
      {"copy{\"a", "expected an int64, not"},
      {"r0.up:4", "expected an axis type, not \"up\""},
      {"x.loop:4", "x is not an axis"},
      {"const{1}:int8", "const is not an op"},
      {"$", "expected an operand, not \"$\""},
      {std::string_view("\0", 1), "expected an operand, not \"\\x00\""},
  };
  for (const auto& [text, message] : kCases) {
    Graph g;
    EXPECT_THAT(ParseRoots(g, text), support::StatusIs(absl::StatusCode::kInvalidArgument,
                                                       HasSubstr(std::string(message))))
        << text;
  }
}

TEST(Text, RoundTripsRandomGraphsOverAllOps) {
  support::Random random(1);
  std::array<int, kNumOps> seen{};
  for (int run = 0; run < 2000; ++run) {
    Graph g, copy;
    const std::vector<Ref> roots = RandomGraph(g, random, static_cast<int>(random.Uniform(1, 120)));
    for (UOpId id = 0; id < g.size(); ++id) ++seen[static_cast<size_t>(g.At(id)->op)];
    const std::string text = ToText(roots);
    const absl::StatusOr<std::vector<Ref>> same = ParseRoots(g, text);
    const absl::StatusOr<std::vector<Ref>> other = ParseRoots(copy, text);
    ASSERT_TRUE(same.ok() && other.ok()) << same.status() << "\n" << text;
    ASSERT_EQ(*same, roots) << text;
    ASSERT_EQ(other->size(), roots.size());
    for (size_t i = 0; i < roots.size(); ++i) {
      ASSERT_EQ(KeyOf(copy, (*other)[i]), KeyOf(g, roots[i])) << text;
    }
    // Ids, and with them the order of definitions, may differ in the copy: not what is shared.
    EXPECT_EQ(Toposort(*other).size(), Toposort(roots).size());
    const absl::StatusOr<std::vector<Ref>> lines = ParseRoots(g, ToText(roots, Layout::kLines));
    ASSERT_TRUE(lines.ok()) << lines.status();
    EXPECT_EQ(*lines, roots);
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 0), 0) << "an op that was never made";
}

TEST(Text, IsSafeOnMutatedText) {
  support::Random random(2);
  for (int run = 0; run < 3000; ++run) {
    Graph g;
    std::string text = ToText(RandomGraph(g, random, 20));
    for (int64_t i = random.Uniform(1, 4); i > 0 && !text.empty(); --i) {
      const auto at = static_cast<size_t>(random.Uniform(0, static_cast<int64_t>(text.size()) - 1));
      const std::string_view bytes = "()[]{},;:#.%\"\\+-*/<=019_aer \n";
      if (random.Chance(1, 3)) text.erase(at, static_cast<size_t>(random.Uniform(1, 5)));
      if (random.Chance(1, 2)) {
        text.insert(
            at, 1,
            bytes[static_cast<size_t>(random.Uniform(0, static_cast<int64_t>(bytes.size()) - 1))]);
      }
    }
    if (const auto roots = ParseRoots(g, text); roots.ok()) {
      const auto again = ParseRoots(g, ToText(*roots));
      ASSERT_TRUE(again.ok()) << again.status() << "\n" << ToText(*roots);
      EXPECT_EQ(*again, *roots);
    }
  }
}

TEST(Text, ExcerptShowsTheNodeAndIsShort) {
  Graph g;
  Ref n = g.Variable("i", 0, 9);
  EXPECT_EQ(Excerpt(g.Add(n, g.Index(1))), "i[0,9] + 1");
  for (int i = 0; i < 100000; ++i) n = g.Add(g.Mul(n, n), g.Index(i));
  const std::string text = Excerpt(n);
  EXPECT_LT(text.size(), 400u);
  EXPECT_THAT(text, HasSubstr("..."));
  std::vector<Ref> many;
  for (int i = 0; i < 60000; ++i) many.push_back(g.Index(i));
  EXPECT_EQ(Excerpt(g.Make(Op::kSink, DType::kVoid, many)), "sink(0, 1, 2, 3, 4, 5, 6, 7, ...)");
}

}  // namespace
}  // namespace kiln::uop
