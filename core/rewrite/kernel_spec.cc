#include "core/rewrite/form_checks.h"
#include "core/rewrite/specs.h"

namespace kiln::rewrite {
namespace {

using namespace alphabet;  // NOLINT(google-build-using-namespace): forms are written in its words.
using namespace internal;  // NOLINT(google-build-using-namespace): and in these checks.

bool IsIndexCounter(Graph&, const Match& m) { return m.root()->dtype == DType::kIndex; }
bool IsNamedIndexCounter(Graph& g, const Match& m) { return IsIndexCounter(g, m) && IsNamed(g, m); }
bool IsIndexVariable(Graph& g, const Match& m) {
  return IsIndexCounter(g, m) && IsNamedVariable(g, m);
}
bool BindsVariable(Graph& g, const Match& m) { return SourcesKeepDType(g, m); }
bool IsKernelOfParams(Graph& g, const Match& m) {
  return IsNamed(g, m) && uop::IsEffect(m.root()->src(0)->op);
}

constexpr auto kForms = forms(
    // ** values **
    allow(kElementwise, OperandsFit, KILN_ELEMENTWISE_TEXT),
    allow(op<Op::kReduce>(x, every(op<Op::kRange>(y))), ReducesItsDType,
          "reduce{add, mul or max; axes}(x, ranges...), of x's dtype, which has the operation and "
          "is not index"),
    // ** leaves **
    allow(op<Op::kConst>(), "const, of any dtype"),
    allow(op<Op::kVariable>(), IsIndexVariable, "a named variable of dtype index with min <= max"),
    allow(op<Op::kBind>(op<Op::kVariable>(), c0), BindsVariable,
          "bind(variable, constant), all of one dtype"),
    allow(op<Op::kRange>(i), IsIndexCounter, "range{axis, type}(end), both of dtype index"),
    allow(op<Op::kSpecial>(i), IsNamedIndexCounter, "special{name}(end), both of dtype index"),
    // ** memory **
    allow(op<Op::kIndex>(x, i), IsPlaceInParam,
          "index(param, element index), of the param's dtype (the param may come after effects), "
          "with an element index of dtype index"),
    allow(op<Op::kIndex>(x, i, p), IsPlaceInParam,
          "index(param, element index, gate), as without the gate, which is bool"),
    allow(op<Op::kKernel>(x, every(op<Op::kParam>())), IsKernelOfParams,
          "kernel{name}(effect, params...)"));

constexpr FormTable kKernelForms = MakeForms<kForms>();

absl::Status CheckKernel(Graph&, absl::Span<const Ref> nodes) {
  return CheckNumbering(nodes, "kernel");
}

}  // namespace

constexpr Spec kKernelSpec = {
    .level = "kernel", .tables = {&kKernelForms, &kMemoryForms}, .whole = &CheckKernel};

}  // namespace kiln::rewrite
