#include "core/rewrite/endless.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace kiln::rewrite::internal {

std::string Describe(const std::vector<const RuleInfo*>& rules) {
  std::set<std::string> lines;
  for (const RuleInfo* r : rules) {
    lines.insert(r == nullptr
                     ? "the n-ary hook"
                     : absl::StrCat(r->where.file_name(), ":", r->where.line(), " ", r->text()));
  }
  return absl::StrJoin(lines, "; ");
}

}  // namespace kiln::rewrite::internal
