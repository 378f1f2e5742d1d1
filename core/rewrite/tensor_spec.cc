#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"

#include "core/rewrite/form_checks.h"
#include "core/rewrite/specs.h"
#include "core/uop/facts.h"
#include "core/uop/node_map.h"
#include "core/uop/text.h"

namespace kiln::rewrite {
namespace {

using namespace alphabet;  // NOLINT(google-build-using-namespace): forms are written in its words.
using namespace internal;  // NOLINT(google-build-using-namespace): and in these checks.

// ** elementwise **

// Sources above a CALL have no shape yet, and go with any.
bool SourcesHaveOneShape(const Match& m) {
  std::optional<absl::Span<const Ref>> common;
  for (Ref s : m.root()->src()) {
    const auto shape = m.context<VerifiedShapes>().Of(s);
    if (!shape.has_value()) continue;
    if (common.has_value() && *common != *shape) return false;
    common = *shape;
  }
  return true;
}
bool IsElementwise(Graph& g, const Match& m) { return OperandsFit(g, m) && SourcesHaveOneShape(m); }

// ** leaves **

bool IsTensorOfSlot(Graph& g, const Match& m) {
  return IsStorable(g, m) && m.root()->arg.integer() >= 0;
}
bool IsIndexVariable(Graph& g, const Match& m) {
  return m.root()->dtype == DType::kIndex && IsNamedVariable(g, m);
}
bool BindsWithinBounds(Graph&, const Match& m) {
  Ref n = m.root();
  const uop::VariableInfo v = uop::VariableOf(n->src(0));
  const int64_t value = m[c0]->IntValue();
  return n->dtype == DType::kIndex && m[c0]->dtype == DType::kIndex &&
         n->src(0)->dtype == DType::kIndex && v.min.AsInt() <= value && value <= v.max.AsInt();
}
bool IsInteger(Graph&, const Match& m) { return dtype::IsInteger(m.root()->dtype); }

// ** tensors **

bool ReducesAxes(Graph& g, const Match& m) {
  return m.root()->arg.reduce().axes != 0 && ReducesItsDType(g, m);
}
bool CombinesShards(Graph& g, const Match& m) {
  return m.root()->arg.reduce().axes == 0 && ReducesItsDType(g, m);
}
bool GoesToADevice(Graph& g, const Match& m) {
  return KeepsDType(g, m) && m.root()->arg.payload().ints.empty();
}
bool ShardsAnAxis(Graph& g, const Match& m) {
  const absl::Span<const int64_t> axis = m.root()->arg.payload().ints;
  if (!KeepsDType(g, m) || !IsNamed(g, m) || axis.size() > 1) return false;
  if (axis.empty()) return true;
  const auto shape = m.context<VerifiedShapes>().Of(m[x]);
  return axis[0] >= 0 && (!shape.has_value() || axis[0] < static_cast<int64_t>(shape->size()));
}
bool IsGradient(Graph&, const Match& m) {
  Ref n = m.root();
  const int64_t i = n->arg.integer();
  if (i < 0 || i >= n->num_src - 2) return false;
  const auto& shapes = m.context<VerifiedShapes>();
  const auto y_shape = shapes.Of(m[y]), seed_shape = shapes.Of(m[z]);
  if (y_shape.has_value() && seed_shape.has_value() && *y_shape != *seed_shape) return false;
  return dtype::IsFloat(m[y]->dtype) && m[z]->dtype == m[y]->dtype && dtype::IsFloat(n->dtype) &&
         n->src(static_cast<int>(i) + 2)->dtype == n->dtype;
}
bool BindsValues(Graph&, const Match& m) {
  const absl::Span<const Ref> src = m.root()->src();
  return std::none_of(src.begin(), src.end(), [](Ref s) { return uop::IsEffect(s->op); });
}

constexpr auto kForms = forms(
    // ** leaves **
    allow(op<Op::kInput>(every(i)), IsTensorOfSlot,
          "input{slot}(dims...), of a dtype that lies in memory, slot >= 0"),
    allow(op<Op::kConst>(), "const, of any dtype"),
    allow(op<Op::kVariable>(), IsIndexVariable, "a named variable of dtype index with min <= max"),
    allow(op<Op::kBind>(op<Op::kVariable>(), c0), BindsWithinBounds,
          "bind(variable, constant within its bounds), all of dtype index"),
    allow(op<Op::kIota>(every(i)), IsInteger, "iota{axis}(dims...), of an integer dtype"),
    // ** movement **
    allow(any_of<Op::kReshape, Op::kExpand>(x, every(i)), KeepsDType,
          "reshape or expand(x, dims...), of x's dtype"),
    allow(any_of<Op::kPad, Op::kShrink>(x, every(i)), KeepsDType,
          "pad(x, (before, after)...) or shrink(x, (begin, end)...), of x's dtype"),
    allow(any_of<Op::kPermute, Op::kFlip>(x), KeepsDType,
          "permute{order}(x) or flip{axes}(x), of x's dtype"),
    // ** elementwise **
    allow(kElementwise, IsElementwise,
          KILN_ELEMENTWISE_TEXT ", and of one shape (a scalar is expanded first)"),
    // ** tensors **
    allow(op<Op::kReduce>(x), ReducesAxes,
          "reduce{add, mul or max; axes, at least one}(x), of x's dtype, which has the operation "
          "and is not index"),
    allow(any_of<Op::kContiguous, Op::kDetach, Op::kUnshard>(x), KeepsDType,
          "contiguous, detach or unshard(x), of x's dtype"),
    allow(op<Op::kAssign>(x, y), SourcesKeepDType, "assign(target, value), all of one dtype"),
    // ** devices **
    allow(op<Op::kCopy>(x), GoesToADevice, "copy{device; empty: the default}(x), of x's dtype"),
    allow(op<Op::kShard>(x), ShardsAnAxis, "shard{devices, axis of x or none}(x), of x's dtype"),
    allow(op<Op::kAllReduce>(x), CombinesShards,
          "allreduce{add, mul or max}(x), of x's dtype, which has the operation and is not index"),
    // ** the function library **
    allow(op<Op::kCall>(rest), IsNamed, "call{function}(inputs...)"),
    allow(op<Op::kGradient>(y, z, rest), IsGradient,
          "gradient{which}(y, seed, x...), of that x's dtype, with a seed of y's dtype and shape, "
          "all floats"),
    allow(op<Op::kSink>(rest), BindsValues, "sink(outputs...)"));

constexpr FormTable kTensorForms = MakeForms<kForms>();

// ** the graph as a whole **

// The first source that is a dim; num_src if there is none.
int FirstDim(Ref n) {
  switch (n->op) {
    case Op::kInput:
    case Op::kIota:
      return 0;
    case Op::kReshape:
    case Op::kExpand:
    case Op::kPad:
    case Op::kShrink:
      return 1;
    default:
      return n->num_src;
  }
}

template <typename... Parts>
absl::Status Illegal(Ref n, const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat("node ", n->id, ", ", uop::Excerpt(n),
                                                 ", is not legal at tensor level: ", parts...));
}

absl::Status CheckTensors(Graph&, absl::Span<const Ref> nodes) {
  uop::NodeMap<bool> is_dim, is_target;
  for (Ref n : nodes) {
    const absl::Span<const Ref> src = n->src();
    const bool from_dims =
        std::all_of(src.begin(), src.end(), [&is_dim](Ref s) { return is_dim.Get(s); });
    const bool is_leaf = n->op == Op::kConst || n->op == Op::kVariable;
    is_dim[n] = is_leaf || ((uop::IsAlu(n->op) || n->op == Op::kBind) && from_dims);
    // An ASSIGN has a target for source 0, or is refused below.
    is_target[n] = n->op == Op::kInput || n->op == Op::kAssign ||
                   (uop::IsMovement(n->op) && is_target.Get(n->src(0)));
    for (int s = FirstDim(n); s < n->num_src; ++s) {
      if (!is_dim.Get(n->src(s))) {
        return Illegal(n, "its dims must be expressions of constants and variables, and source ", s,
                       ", ", uop::Excerpt(n->src(s)), ", depends on data");
      }
    }
    if (n->op == Op::kAssign && !is_target.Get(n->src(0))) {
      return Illegal(n,
                     "the target of assign must be an input, another assign, or a movement of one");
    }
  }
  return absl::OkStatus();
}

}  // namespace

constexpr Spec kTensorSpec = {.level = "tensor", .tables = {&kTensorForms}, .whole = &CheckTensors};

}  // namespace kiln::rewrite
