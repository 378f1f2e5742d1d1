#include "tests/support/expect_simplifies.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/uop/parse.h"
#include "core/uop/text.h"

namespace kiln::support {

::testing::AssertionResult Simplifies(std::string_view from, std::string_view to,
                                      symbolic::Effort effort) {
  Graph g;
  // As one text, so that `to` knows what `from` has declared.
  const std::string text = absl::StrCat(std::string(from), to.empty() ? "" : ", ", std::string(to));
  const absl::StatusOr<std::vector<Ref>> roots = uop::ParseRoots(g, text);
  if (!roots.ok()) return ::testing::AssertionFailure() << text << ": " << roots.status();
  if (roots->size() != (to.empty() ? 1 : 2)) {
    return ::testing::AssertionFailure() << text << " is not one expression each";
  }
  const absl::StatusOr<Ref> simplified = symbolic::Simplify(g, roots->front(), effort);
  if (!simplified.ok()) return ::testing::AssertionFailure() << from << ": " << simplified.status();
  if (*simplified == roots->back()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << uop::ToText(roots->front()) << "\nsimplifies to " << uop::ToText(*simplified)
         << "\ninstead of    " << uop::ToText(roots->back());
}

}  // namespace kiln::support
