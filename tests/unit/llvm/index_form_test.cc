#include "backends/llvm/index_form.h"

#include <string>

#include "core/uop/parse.h"
#include "core/uop/text.h"
#include "core/uop/walk.h"
#include "tests/support/status_matchers.h"

namespace kiln::backend_llvm {
namespace {

// The form of the last root of `text`, as "5 + 3 * (r0:8)".
std::string FormOf(const std::string& text) {
  uop::Graph g;
  const absl::StatusOr<Ref> n = uop::Parse(g, text);
  if (!n.ok()) return n.status().ToString();
  IndexForms forms;
  for (Ref m : uop::Toposort(*n)) forms.Add(m);
  const IndexForm& form = forms.FormOf(*n);
  std::string result = std::to_string(form.constant);
  for (const IndexForm::Term& term : form.terms) {
    result += " + " + std::to_string(term.factor) + " * (" + uop::ToText(term.atom) + ")";
  }
  return result;
}

TEST(IndexForm, SumsAreTakenApart) {
  EXPECT_EQ(FormOf("(r0:8:int32 * 4 + 3) * 16 + r1:4:int32"),
            "48 + 64 * (r0:8:int32) + 1 * (r1:4:int32)");
  EXPECT_EQ(FormOf("sub(r0:8:int32, r1:4:int32)"), "0 + 1 * (r0:8:int32) + -1 * (r1:4:int32)");
  EXPECT_EQ(FormOf("r0:8:int32 + r0 * -1"), "0");
  EXPECT_EQ(FormOf("r0:8:int32 << 3:int32"), "0 + 8 * (r0:8:int32)");
}

TEST(IndexForm, WhatIsNoSumStaysWhole) {
  EXPECT_EQ(FormOf("r0:8:int32 / 3 * 2 + 1"), "1 + 2 * (r0:8:int32 / 3)");
  EXPECT_EQ(FormOf("r0:8:int32 * r1:4:int32"), "0 + 1 * (r0:8:int32 * r1:4:int32)");
}

TEST(IndexForm, WideningIsSeenThrough) {
  EXPECT_EQ(FormOf("cast(r0:8:int32 + 1):int64 * 5"), "5 + 5 * (r0:8:int32)");
}

// n + 2^31-1 may wrap, so it is not the sum of its parts; n + 1 for a smaller n is.
TEST(IndexForm, WhatMayWrapStaysWhole) {
  EXPECT_EQ(FormOf("n[0,2147483647]:int32 + 1"), "0 + 1 * (n[0,2147483647]:int32 + 1)");
  EXPECT_EQ(FormOf("cast(n[0,2147483647]:int32 + 1):int64"), "0 + 1 * (n[0,2147483647]:int32 + 1)");
  EXPECT_EQ(FormOf("n[0,2147483646]:int32 + 1"), "1 + 1 * (n[0,2147483646]:int32)");
  EXPECT_EQ(FormOf("n[0,65536]:int32 * 65536"), "0 + 1 * (n[0,65536]:int32 * 65536)");
}

}  // namespace
}  // namespace kiln::backend_llvm
