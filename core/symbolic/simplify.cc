#include "core/symbolic/simplify.h"

#include "core/rewrite/driver.h"
#include "core/symbolic/rule_sets.h"

namespace kiln::symbolic {

absl::StatusOr<Ref> Simplify(Graph& g, Ref n, Effort effort, Math math) {
  return rewrite::Rewrite(g, n, {.name = "simplify", .rules = Rules(effort, math)});
}

}  // namespace kiln::symbolic
