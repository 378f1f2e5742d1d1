#include "core/symbolic/resolve.h"

#include "absl/strings/str_cat.h"

#include "core/dtype/status.h"
#include "core/symbolic/render.h"
#include "core/symbolic/simplify.h"
#include "core/uop/facts.h"

namespace kiln::symbolic {

absl::StatusOr<bool> Resolve(Graph& g, Ref condition, bool otherwise) {
  KILN_ASSIGN_OR_RETURN(Ref n, Simplify(g, condition));
  const Bounds& b = BoundsOf(g, n);
  return b.IsPoint() ? b.lo != 0 : otherwise;
}

absl::StatusOr<Scalar> ConstantValue(Graph& g, Ref n) {
  KILN_ASSIGN_OR_RETURN(Ref s, Simplify(g, n));
  if (s->IsConst()) return s->arg.scalar();
  return absl::FailedPreconditionError(absl::StrCat(Render(s, 200), " is not a constant"));
}

}  // namespace kiln::symbolic
