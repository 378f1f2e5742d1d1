// What kernels and programs share: memory, values with a shape, and control.

#include <algorithm>

#include "core/rewrite/form_checks.h"

namespace kiln::rewrite::internal {
namespace {

using namespace alphabet;  // NOLINT(google-build-using-namespace): forms are written in its words.

bool IsKnownSize(Graph& g, const Match& m) {
  return IsStorable(g, m) && uop::ParamOf(m.root()).elems >= -1;
}
bool TakesAlternative(Graph& g, const Match& m) {
  return KeepsDType(g, m) && m.root()->src(1)->dtype == m.root()->dtype;
}
bool TakesAlternativeAndOrder(Graph& g, const Match& m) {
  return TakesAlternative(g, m) && uop::IsEffect(m.root()->src(2)->op);
}
bool TakesOrder(Graph& g, const Match& m) { return KeepsDType(g, m) && EffectsFollow(g, m); }
bool KeepsDTypeInOrder(Graph& g, const Match& m) {
  const absl::Span<const Ref> order = m.root()->src().subspan(1);
  return KeepsDType(g, m) && std::all_of(order.begin(), order.end(), [](Ref s) {
           return uop::IsEffect(s->op) || s->Is(Op::kRange);
         });
}
bool EndsEffects(Graph&, const Match& m) {
  const absl::Span<const Ref> src = m.root()->src();
  return src.size() > 1 && src.back()->Is(Op::kRange) &&
         std::all_of(src.begin(), src.end() - 1, [](Ref s) { return uop::IsEffect(s->op); });
}

// A place, as source of LOAD and STORE.
constexpr auto place = op<Op::kIndex>(rest);

constexpr auto kForms = forms(
    // ** memory **
    allow(op<Op::kParam>(), IsKnownSize,
          "param{name, number, elements, space}, of a dtype that lies in memory, with -1 elements "
          "if they are not known"),
    allow(op<Op::kLoad>(place), KeepsDType, "load(place), of the place's dtype"),
    allow(op<Op::kLoad>(place, x), TakesAlternative,
          "load(place, value if gated off), all of one dtype"),
    allow(op<Op::kLoad>(place, x), TakesOrder,
          "load(place, effect that it comes after), of the place's dtype"),
    allow(op<Op::kLoad>(place, x, y), TakesAlternativeAndOrder,
          "load(place, value if gated off, effect that it comes after), all of one dtype"),
    allow(op<Op::kStore>(place, rest), StoresItsDType,
          "store(place, value [, gate], ranges that end here...), with a value of the place's "
          "dtype and a bool gate"),
    allow(op<Op::kAfter>(x, rest), KeepsDTypeInOrder,
          "after(x, effects or ranges...), of x's dtype: after the effects, in the loops"),
    // ** values with a shape **
    allow(op<Op::kStack>(rest), SourcesKeepDType, "stack(values...), all of one dtype"),
    allow(op<Op::kUnstack>(x), KeepsDType, "unstack{element}(x), of x's dtype"),
    // ** control **
    allow(op<Op::kBarrier>(rest), AllEffects, "barrier(effects...)"),
    allow(op<Op::kIf>(p), "if(bool)"),
    allow(op<Op::kIf>(p, x), EffectsFollow, "if(bool, effect that it comes after)"),
    allow(op<Op::kEndIf>(op<Op::kIf>(rest), rest), EffectsFollow, "endif(if, effects...)"),
    allow(op<Op::kEnd>(rest), EndsEffects, "end(effects..., range): the loop ends after them"),
    allow(op<Op::kSink>(rest), AllEffects, "sink(effects...)"));

}  // namespace

constexpr FormTable kMemoryForms = MakeForms<kForms>();

}  // namespace kiln::rewrite::internal
