// What calls check and infer: shapes, operands, targets.
#include <algorithm>
#include <utility>

#include "core/dtype/alu.h"
#include "core/symbolic/render.h"
#include "core/symbolic/simplify.h"
#include "core/tensor/graph_builder_impl.h"
#include "core/tensor/index_math.h"
#include "core/uop/facts.h"

namespace kiln::tensor::internal {
namespace {

// The most movements between an INPUT and an ASSIGN if one of them is a PAD.
constexpr uint32_t kMaxPaddedSteps = 64;

absl::string_view View(std::string_view s) { return {s.data(), s.size()}; }

}  // namespace

// ** shapes **

absl::Span<const Ref> BuilderCall::Shape(Ref n) const { return *uop::ShapeOf(*impl_.graph_, n); }

absl::Status BuilderCall::Charge(std::string_view field, absl::Span<const Ref> dims) {
  const GraphLimits& limits = impl_.limits_;
  for (Ref d : dims) {
    if (d->IsConst()) continue;
    const int64_t terms = impl_.Terms(d);
    if (terms > limits.dim_terms) return BeyondLimit(field, "terms of a size", limits.dim_terms);
    if ((impl_.dim_work_ += terms) > limits.dim_work) {
      return BeyondLimit(field, "terms of symbolic sizes in all", limits.dim_work);
    }
  }
  return absl::OkStatus();
}

absl::Status BuilderCall::Require(std::string_view field, Ref condition) {
  if (impl_.is_condition_.Get(condition)) return absl::OkStatus();
  if (static_cast<int64_t>(impl_.conditions_.size()) >= impl_.limits_.conditions) {
    return BeyondLimit(field, "conditions on variables", impl_.limits_.conditions);
  }
  impl_.is_condition_[condition] = true;
  impl_.conditions_.push_back(condition);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Ref>> BuilderCall::Accept(std::string_view field,
                                                     absl::StatusOr<CheckedShape> checked) {
  if (!checked.ok()) return In(field, checked.status());
  for (Ref condition : checked->conditions) {
    KILN_RETURN_IF_ERROR(Require(field, condition));
  }
  KILN_RETURN_IF_ERROR(Charge(field, checked->dims));
  return std::move(checked->dims);
}

absl::StatusOr<Ref> BuilderCall::Move(std::string_view field, Ref x, const Movement& step) {
  Graph& g = *impl_.graph_;
  KILN_RETURN_IF_ERROR(Charge(field, Shape(x)));
  KILN_ASSIGN_OR_RETURN(std::vector<Ref> dims, Accept(field, ShapeAfter(g, Shape(x), step)));
  const bool is_given = step.op == Op::kReshape || step.op == Op::kExpand;
  Ref moved = Apply(g, x, is_given ? Movement{step.op, dims, {}} : step);
  const auto shape = uop::ShapeOf(g, moved);
  if (!shape.ok()) return In(field, shape.status());
  return *shape == absl::MakeConstSpan(dims) ? moved : Apply(g, moved, Movement::Reshape(dims));
}

absl::StatusOr<Ref> BuilderCall::WithShapeOf(std::string_view field, Ref x, Ref like) const {
  Graph& g = *impl_.graph_;
  const absl::Span<const Ref> have = Shape(x), want = Shape(like);
  if (have == want) return x;
  bool equal = have.size() == want.size();
  for (size_t i = 0; equal && i < have.size(); ++i) {
    if (have[i] == want[i]) continue;
    KILN_ASSIGN_OR_RETURN(Ref same, symbolic::Simplify(g, internal::Equal(g, have[i], want[i])));
    equal = IsIntConst(same, 1);
  }
  if (equal) return Apply(g, x, Movement::Reshape({want.begin(), want.end()}));
  const auto text = [](absl::Span<const Ref> dims) {
    std::string s = "(";
    for (Ref d : dims) absl::StrAppend(&s, s.size() == 1 ? "" : ", ", symbolic::Render(d, 40));
    return s + ")";
  };
  return Wrong(field, "its shape ", text(have), " is not that of the first, ", text(want));
}

// ** elementwise **

absl::StatusOr<DType> BuilderCall::OperandDType(absl::Span<const Ref> refs) const {
  size_t first = 0;
  if (op_ == Op::kWhere) {
    if (refs[0]->dtype != DType::kBool) {
      return Wrong("src 0", "its dtype is ", View(dtype::Name(refs[0]->dtype)), ", not bool");
    }
    first = 1;
  }
  const DType d = refs[first]->dtype;
  for (size_t i = first + 1; i < refs.size(); ++i) {
    if (refs[i]->dtype == d) continue;
    return Wrong(absl::StrCat("src ", i), "its dtype is ", View(dtype::Name(refs[i]->dtype)),
                 ", that of source ", first, " is ", View(dtype::Name(d)));
  }
  if (!dtype::IsDefined(uop::ToAlu(op_), d)) {
    return Wrong("dtype", "it is not defined on ", View(dtype::Name(d)));
  }
  return d;
}

absl::StatusOr<Ref> BuilderCall::IndexAlu(DType result, absl::Span<const Ref> refs) {
  Graph& g = impl_.graph();
  if (!std::all_of(refs.begin(), refs.end(), [this](Ref s) { return impl_.IsDim(s); })) {
    return Wrong("src", "a size must not depend on data");
  }
  if ((op_ == Op::kIDiv || op_ == Op::kMod) && BoundsOf(g, refs[1]).Contains(Int128{0})) {
    return Wrong("src 1", "a size is divided by what may be 0");
  }
  Ref n = g.Make(op_, result, refs);
  KILN_RETURN_IF_ERROR(Charge("src", {n}));
  if (result == DType::kIndex) {
    const Bounds bounds = BoundsOf(g, n);
    if (!FitsInt64(bounds.lo) || !FitsInt64(bounds.hi)) {
      return Wrong("src", "its value may leave int64: it is between ", ToString(bounds.lo), " and ",
                   ToString(bounds.hi));
    }
  }
  return n;
}

// ** assign **

// What PADs of the chain add must be cut off again.
absl::Status BuilderCall::CheckCutOff(Ref target, uint32_t steps) {
  Graph& g = impl_.graph();
  if (steps > kMaxPaddedSteps) {
    return BeyondLimit("target", "movements with a pad among them", kMaxPaddedSteps);
  }
  std::vector<Movement> chain;
  Ref base = target;
  for (; steps > 0; --steps, base = base->src(0)) chain.push_back(StepOf(base));
  std::reverse(chain.begin(), chain.end());
  const auto access = AccessOf(g, Shape(base), chain, RangesOver(g, Shape(target)));
  if (!access.ok()) return In("target", access.status());
  const auto valid = symbolic::Simplify(g, access->valid);
  if (!valid.ok()) return In("target", valid.status());
  if (IsIntConst(*valid, 1)) return absl::OkStatus();
  return Wrong("target", "a pad adds elements that are not cut off again, where nothing is");
}

}  // namespace kiln::tensor::internal
