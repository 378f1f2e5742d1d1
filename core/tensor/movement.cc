#include "core/tensor/movement.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include "core/dtype/check.h"
#include "core/dtype/status.h"
#include "core/symbolic/simplify.h"
#include "core/symbolic/validity.h"
#include "core/tensor/index_math.h"
#include "core/uop/facts.h"

namespace kiln::tensor {

using internal::AtMost;
using internal::Both;
using internal::IsOne;
using internal::IsZero;
using internal::Less;
using internal::Minus;
using internal::Plus;
using internal::Times;

std::vector<Ref> Dims(Graph& g, absl::Span<const int64_t> sizes) {
  std::vector<Ref> dims;
  for (int64_t size : sizes) dims.push_back(g.Index(size));
  return dims;
}

// ** movement nodes **

Ref Apply(Graph& g, Ref x, const Movement& step) {
  std::vector<Ref> src = {x};
  src.insert(src.end(), step.dims.begin(), step.dims.end());
  Arg arg;
  if (step.op == Op::kPermute) arg = g.PayloadArg("", step.order);
  if (step.op == Op::kFlip) arg = Arg::Int(static_cast<int64_t>(step.flipped));
  return g.Make(step.op, x->dtype, src, arg);
}

Movement StepOf(Ref n) {
  KILN_DCHECK(IsMovement(n->op));
  Movement step{.op = n->op, .dims = {}, .order = {}};
  const absl::Span<const Ref> dims = n->src().subspan(1);
  step.dims.assign(dims.begin(), dims.end());
  if (n->op == Op::kPermute) {
    const absl::Span<const int64_t> order = n->arg.payload().ints;
    step.order.assign(order.begin(), order.end());
  }
  if (n->op == Op::kFlip) step.flipped = static_cast<uint64_t>(n->arg.integer());
  return step;
}

MovementChain ChainOf(Ref n) {
  MovementChain chain;
  for (; IsMovement(n->op); n = n->src(0)) chain.steps.push_back(StepOf(n));
  std::reverse(chain.steps.begin(), chain.steps.end());
  chain.base = n;
  return chain;
}

// ** index expressions **

absl::StatusOr<Place> StepBack(Graph& g, absl::Span<const Ref> in, const Movement& step,
                               const Place& place) {
  Place result{.index = std::vector<Ref>(in.size(), g.Index(0)), .valid = place.valid};
  const std::vector<Ref>& x = place.index;
  switch (step.op) {
    case Op::kReshape: {
      KILN_ASSIGN_OR_RETURN(result.index, ReshapeBack(g, in, step.dims, x));
      return result;
    }
    case Op::kExpand:
      for (size_t i = 0; i < in.size(); ++i) {
        if (!IsOne(in[i])) result.index[i] = x[i];
      }
      return result;
    case Op::kPermute:
      for (size_t i = 0; i < in.size(); ++i) {
        result.index[static_cast<size_t>(step.order[i])] = x[i];
      }
      return result;
    case Op::kFlip:
      for (size_t i = 0; i < in.size(); ++i) {
        const bool flipped = (step.flipped >> i & 1) != 0;
        result.index[i] = flipped ? Minus(g, Minus(g, in[i], g.Index(1)), x[i]) : x[i];
      }
      return result;
    case Op::kPad:
      for (size_t i = 0; i < in.size(); ++i) {
        Ref before = step.dims[2 * i];
        Ref after = step.dims[2 * i + 1];
        Ref end = Plus(g, before, in[i]);
        // On the index before the shift: that is the one which is a plain range.
        if (!IsZero(before)) result.valid = Both(g, result.valid, AtMost(g, before, x[i]));
        if (!IsZero(after)) result.valid = Both(g, result.valid, Less(g, x[i], end));
        result.index[i] = Minus(g, x[i], before);
      }
      return result;
    case Op::kShrink:
      for (size_t i = 0; i < in.size(); ++i) result.index[i] = Plus(g, x[i], step.dims[2 * i]);
      return result;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat(std::string(uop::Name(step.op)), " is no movement op"));
  }
}

Ref ElementCount(Graph& g, absl::Span<const Ref> shape) {
  Ref count = g.Index(1);
  for (Ref size : shape) count = Times(g, size, count);
  return count;
}

absl::StatusOr<Access> AccessOf(Graph& g, absl::Span<const Ref> base,
                                absl::Span<const Movement> chain, absl::Span<const Ref> index) {
  KILN_ASSIGN_OR_RETURN(const std::vector<CheckedShape> shapes, ShapesAlong(g, base, chain));
  const std::vector<Ref>& result = shapes.back().dims;
  if (index.size() != result.size()) {
    return absl::InvalidArgumentError(absl::StrCat("access to a tensor of ", result.size(),
                                                   " axes with ", index.size(), " indices"));
  }
  if (std::any_of(result.begin(), result.end(), IsZero)) {
    return Access{g.Index(0), g.Bool(false)};
  }
  Place place{{index.begin(), index.end()}, g.Bool(true)};
  size_t end = chain.size();
  while (end > 0) {
    // Of reshapes that follow each other only the last shape counts, and the one they began with.
    const bool reshapes = chain[end - 1].op == Op::kReshape;
    size_t begin = end - 1;
    while (reshapes && begin > 0 && chain[begin - 1].op == Op::kReshape) --begin;
    if (reshapes && begin == 0) break;  // The base is contiguous: no position changes.
    Movement step = chain[end - 1];
    if (reshapes) step.dims = shapes[end].dims;
    KILN_ASSIGN_OR_RETURN(place, StepBack(g, shapes[begin].dims, step, place));
    end = begin;
  }
  KILN_ASSIGN_OR_RETURN(Ref position, RowMajor(g, shapes[end].dims, place.index));
  return Access{position, place.valid};
}

std::vector<Ref> RangesOver(Graph& g, absl::Span<const Ref> shape, AxisType type) {
  std::vector<Ref> ranges;
  for (size_t i = 0; i < shape.size(); ++i) {
    const bool has_one_value = IsOne(shape[i]) || IsZero(shape[i]);
    ranges.push_back(has_one_value ? g.Index(0) : g.Range(shape[i], static_cast<int32_t>(i), type));
  }
  return ranges;
}

absl::StatusOr<Access> SimplifyAccess(Graph& g, Access access) {
  KILN_ASSIGN_OR_RETURN(Ref valid, symbolic::Simplify(g, access.valid));
  KILN_ASSIGN_OR_RETURN(valid, symbolic::SimplifyConjunction(g, valid));
  KILN_ASSIGN_OR_RETURN(valid, symbolic::Simplify(g, valid));
  if (IsIntConst(valid, 0)) return Access{g.Index(0), valid};
  KILN_ASSIGN_OR_RETURN(Ref index, symbolic::Simplify(g, access.index));
  if (!IsIntConst(valid, 1)) {
    KILN_ASSIGN_OR_RETURN(index, symbolic::SimplifyGiven(g, index, valid));
    if (index == nullptr) return Access{g.Index(0), g.Bool(false)};
  }
  return Access{index, valid};
}

}  // namespace kiln::tensor
