#include "tests/replay/render_parse.h"

#include <gtest/gtest.h>

#include <string>

#include "core/symbolic/render.h"

namespace kiln::replay {
namespace {

class RenderParse : public ::testing::Test {
 protected:
  absl::StatusOr<Ref> Parse(absl::string_view text, DType dtype = DType::kIndex) {
    return ParseRendered(g_, text, leaves_, dtype);
  }
  std::string RoundTrip(absl::string_view text, DType dtype = DType::kIndex) {
    const absl::StatusOr<Ref> n = Parse(text, dtype);
    return n.ok() ? symbolic::Render(*n) : n.status().ToString();
  }

  Graph g_;
  Ref a_ = g_.Variable("a", 0, 8);
  Ref r_ = g_.Range(4, 2);
  Ref s_ = g_.Special("gidx0", g_.Index(8));
  Ref x_ = g_.Variable(DType::kInt32, "x", Scalar::Int(0), Scalar::Int(5));
  Ref f_ = g_.Variable(DType::kFloat32, "f", Scalar::Float(0), Scalar::Float(5));
  Ref p_ = g_.Variable(DType::kBool, "p", Scalar::Bool(false), Scalar::Bool(true));
  std::map<std::string, Ref> leaves_ = LeavesByName({a_, r_, s_, x_, f_, p_});
};

TEST_F(RenderParse, ReadsWhatRenderWrites) {
  for (const char* text :
       {"a", "7", "-3", "((a*4)+ridx2)", "((gidx0+-1)//3)", "((a%4)<2)", "(((a<1)!=True)&p)",
        "max(a, (gidx0*-1))", "(a if (a<3) else 5)", "(1 if p else 0)", "(long)((x+1))",
        "(bool)(x)", "(-x)", "(1/f)", "(f*2.5)", "(x<<2)", "((x^3)|1)", "(f*f+1.0)", "(-3//a)"}) {
    const bool is_bool = std::string(text).find('<') != std::string::npos &&
                         std::string(text).find("if") == std::string::npos;
    EXPECT_EQ(RoundTrip(text, is_bool ? DType::kBool : DType::kIndex), text);
  }
}

TEST_F(RenderParse, GivesConstantsTheDTypeOfWhatTheyMeet) {
  EXPECT_EQ(*Parse("(x+1)"), g_.Add(x_, g_.Int(DType::kInt32, 1)));
  EXPECT_EQ(*Parse("((1 if p else 0)+x)"),
            g_.Add(g_.Where(p_, g_.Int(DType::kInt32, 1), g_.Int(DType::kInt32, 0)), x_));
  EXPECT_EQ(*Parse("12", DType::kInt64), g_.Int(DType::kInt64, 12));
  EXPECT_EQ(*Parse("(x<4)", DType::kBool), g_.Lt(x_, g_.Int(DType::kInt32, 4)));
}

TEST_F(RenderParse, RefusesOtherText) {
  for (const char* text : {"", "(a+", "(a+1", "b", "(a?1)", "a)", "(a+x)", "(a+1.5)",
                           "(x if a else x)", "99999999999999999999999999"}) {
    EXPECT_FALSE(Parse(text).ok()) << text;
  }
  EXPECT_FALSE(Parse(std::string(100000, '(')).ok());
}

}  // namespace
}  // namespace kiln::replay
