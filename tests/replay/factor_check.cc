#include "tests/replay/factor_check.h"

#include "absl/strings/str_cat.h"

#include "core/dtype/status.h"
#include "core/symbolic/factor.h"
#include "tests/replay/graph_json.h"
#include "tests/replay/sample.h"

namespace kiln::replay {

absl::Status CheckConstFactor(Graph& g, Ref n, const Json& want) {
  if (!dtype::IsInteger(n->dtype)) return absl::InvalidArgumentError("not an integer");
  KILN_ASSIGN_OR_RETURN(const int64_t value, ParseInt64(want));
  const int64_t got = symbolic::ConstFactor(n);
  const Int128 least = value < 0 ? -Int128{value} : Int128{value};
  if (got == least) return absl::OkStatus();
  if (least == 0 || got == 0 || got % least != 0) {
    return absl::FailedPreconditionError(absl::StrCat("got ", got, ", want ", value));
  }
  return ForEachSample(g, n, kSamplePoints, [&](const symbolic::Bindings& b) -> absl::Status {
    const absl::StatusOr<Scalar> v = symbolic::Evaluate(g, n, b);
    if (!v.ok() || v->AsWide(n->dtype) % got == 0) return absl::OkStatus();
    return absl::InternalError(
        absl::StrCat("got ", got, ", which does not divide the value at ", ToText(b)));
  });
}

}  // namespace kiln::replay
