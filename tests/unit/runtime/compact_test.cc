#include "core/runtime/compact.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/uop/facts.h"
#include "core/uop/parse.h"
#include "core/uop/text.h"
#include "tests/support/status_matchers.h"

namespace kiln::runtime {
namespace {

using support::StatusIs;

constexpr const char* kKernel =
    "sink(store(index(param{\"out\", 0, 64, global}:float32, r0:64), "
    "reduce{add}(load(index(param{\"in\", 1, 4096, global}:float32, r0 * 64 + r1.reduce:64)) * "
    "0.5, "
    "r1) + cast(i[0,63]):float32, r0))";

Ref MustParse(Graph& g, std::string_view text) {
  absl::StatusOr<Ref> n = uop::Parse(g, text);
  EXPECT_TRUE(n.ok()) << n.status();
  return *n;
}

TEST(Compact, GoesToAnotherGraphAndBack) {
  Graph a, b;
  const Ref n = MustParse(a, kKernel);
  const auto roots = FromCompact(b, Compact(n));
  ASSERT_TRUE(roots.ok()) << roots.status();
  ASSERT_EQ(roots->size(), 1);
  EXPECT_EQ(uop::ToText((*roots)[0]), uop::ToText(n));
  EXPECT_EQ(uop::KeyOf(b, (*roots)[0]), uop::KeyOf(a, n));
}

TEST(Compact, DependsOnTheStructureOnly) {
  Graph a, b;
  b.Variable("unrelated", 0, 7);
  MustParse(b, "r1.reduce:64 * 64 + 7");
  EXPECT_EQ(Compact(MustParse(a, kKernel)), Compact(MustParse(b, kKernel)));
  EXPECT_NE(Compact(MustParse(a, "i[0,63] + 1")), Compact(MustParse(a, "i[0,64] + 1")));
}

TEST(Compact, KeepsSeveralRoots) {
  Graph a, b;
  const std::vector<Ref> roots = {MustParse(a, "i[0,9] + 1"), MustParse(a, "i[0,9]"),
                                  MustParse(a, "i[0,9] + 1")};
  std::string bytes;
  AppendCompact(roots, bytes);
  const auto copied = FromCompact(b, bytes);
  ASSERT_TRUE(copied.ok());
  EXPECT_EQ(uop::ToText(*copied), uop::ToText(roots));
}

TEST(Compact, RefusesOtherBytes) {
  Graph a;
  const std::string bytes = Compact(MustParse(a, kKernel));
  for (size_t size = 0; size < bytes.size(); ++size) {
    Graph b;
    EXPECT_THAT(FromCompact(b, bytes.substr(0, size)).status(),
                StatusIs(absl::StatusCode::kDataLoss));
  }
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (char flip : {'\x01', '\x80', '\x7f'}) {
      std::string altered = bytes;
      altered[i] = static_cast<char>(altered[i] ^ flip);
      Graph b;
      FromCompact(b, altered).status().IgnoreError();  // Some other graph or an error; no crash.
    }
  }
}

TEST(Compact, DeepGraphs) {
  Graph a, b;
  Ref n = a.Variable("i", 0, 1);
  for (int i = 0; i < 100000; ++i) n = a.Make(Op::kNeg, n->dtype, {n});
  EXPECT_TRUE(FromCompact(b, Compact(n)).ok());
}

}  // namespace
}  // namespace kiln::runtime
