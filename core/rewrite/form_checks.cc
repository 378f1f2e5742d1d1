#include "core/rewrite/form_checks.h"

#include <algorithm>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"

#include "core/uop/text.h"

namespace kiln::rewrite::internal {
namespace {

bool IsEffectNode(Ref n) { return uop::IsEffect(n->op); }

}  // namespace

bool OperandsFit(Graph&, const Match& m) {
  Ref n = m.root();
  const absl::Span<const Ref> src = n->src();
  const auto have = [](absl::Span<const Ref> operands, DType d) {
    return std::all_of(operands.begin(), operands.end(), [d](Ref s) { return s->dtype == d; });
  };
  if (n->op == Op::kCast) return src[0]->dtype != DType::kVoid;
  if (n->op == Op::kBitcast)
    return dtype::SizeBits(src[0]->dtype) > 0 && dtype::SizeBits(n->dtype) > 0;
  const dtype::AluOp alu = uop::ToAlu(n->op);
  if (uop::IsComparison(n->op)) {
    return n->dtype == DType::kBool && have(src, src[0]->dtype) &&
           dtype::IsDefined(alu, src[0]->dtype);
  }
  if (!dtype::IsDefined(alu, n->dtype)) return false;
  if (n->op == Op::kWhere) return src[0]->dtype == DType::kBool && have(src.subspan(1), n->dtype);
  return have(src, n->dtype);
}

bool MachineOperandsFit(Graph& g, const Match& m) {
  const auto is_index = [](Ref n) { return n->dtype == DType::kIndex; };
  const absl::Span<const Ref> src = m.root()->src();
  return !is_index(m.root()) && std::none_of(src.begin(), src.end(), is_index) && OperandsFit(g, m);
}

bool KeepsDType(Graph&, const Match& m) { return m.root()->dtype == m.root()->src(0)->dtype; }

bool SourcesKeepDType(Graph&, const Match& m) {
  const absl::Span<const Ref> src = m.root()->src();
  return std::all_of(src.begin(), src.end(), [&m](Ref s) { return s->dtype == m.root()->dtype; });
}

bool ReducesItsDType(Graph& g, const Match& m) {
  const Op by = m.root()->arg.reduce().op;
  return KeepsDType(g, m) && m.root()->dtype != DType::kIndex &&
         dtype::IsDefined(uop::ToAlu(by), m.root()->dtype);
}

bool IsStorable(Graph&, const Match& m) { return dtype::SizeBits(m.root()->dtype) > 0; }

bool IsNamedVariable(Graph&, const Match& m) {
  const uop::VariableInfo v = uop::VariableOf(m.root());
  const DType d = m.root()->dtype;
  if (dtype::IsFloat(d)) return !v.name.empty() && v.min.AsFloat() <= v.max.AsFloat();
  return !v.name.empty() && v.min.AsWide(d) <= v.max.AsWide(d);
}

bool IsNamed(Graph&, const Match& m) { return !m.root()->arg.payload().text.empty(); }

bool IsPlaceInParam(Graph& g, const Match& m) {
  Ref buffer = m.root()->src(0);
  return (buffer->op == Op::kParam || buffer->op == Op::kAfter) &&
         uop::AddressSpaceOf(buffer).has_value() && KeepsDType(g, m);
}

bool StoresItsDType(Graph&, const Match& m) {
  const absl::Span<const Ref> src = m.root()->src();
  if (src[1]->dtype != src[0]->dtype) return false;
  const size_t ranges = src.size() > 2 && src[2]->dtype == DType::kBool ? 3 : 2;
  return std::all_of(src.begin() + ranges, src.end(), [](Ref s) { return s->op == Op::kRange; });
}

bool AllEffects(Graph&, const Match& m) {
  const absl::Span<const Ref> src = m.root()->src();
  return std::all_of(src.begin(), src.end(), IsEffectNode);
}
bool EffectsFollow(Graph&, const Match& m) {
  const absl::Span<const Ref> src = m.root()->src();
  return std::all_of(src.begin() + 1, src.end(), IsEffectNode);
}

absl::Status CheckNumbering(absl::Span<const Ref> nodes, std::string_view level) {
  absl::flat_hash_map<int64_t, Ref> params, ranges;
  for (Ref n : nodes) {
    if (n->op != Op::kParam && n->op != Op::kRange) continue;
    const bool is_param = n->op == Op::kParam;
    const int64_t number = is_param ? uop::ParamOf(n).number : n->arg.range().axis_id;
    const auto [it, is_new] = (is_param ? params : ranges).try_emplace(number, n);
    if (is_new) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "node ", n->id, ", ", uop::Excerpt(n), ", is not legal at ", std::string(level), " level: ",
        is_param ? "each param has a number of its own, and node "
                 : "each range has an axis id of its own, and node ",
        it->second->id, ", ", uop::Excerpt(it->second), ", has this one too"));
  }
  return absl::OkStatus();
}

}  // namespace kiln::rewrite::internal
