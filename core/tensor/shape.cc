// Shape inference and checking of movement steps.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/dtype/status.h"
#include "core/symbolic/evaluate.h"
#include "core/symbolic/render.h"
#include "core/symbolic/simplify.h"
#include "core/tensor/factors.h"
#include "core/tensor/index_math.h"
#include "core/tensor/movement.h"
#include "core/uop/facts.h"
#include "core/uop/walk.h"

namespace kiln::tensor {
namespace {

using internal::AtMost;
using internal::Equal;
using internal::IsOne;
using internal::Minus;
using internal::Plus;
using internal::Times;

std::string Text(Ref n) { return symbolic::Render(n, 200); }

// "(3, v)"
std::string Text(absl::Span<const Ref> shape) {
  auto append = [](std::string* out, Ref d) { out->append(Text(d)); };
  return absl::StrCat("(", absl::StrJoin(shape, ", ", append), ")");
}

std::string StepName(Op op) { return std::string(uop::Name(op)); }

// The values that BIND nodes below `n` give to its variables, if they do to all.
std::optional<symbolic::Bindings> BoundValues(Ref n) {
  symbolic::Bindings bindings;
  for (Ref m : uop::Toposort(n)) {
    if (m->Is(Op::kBind) && m->src(0)->Is(Op::kVariable) && m->src(1)->IsConst()) {
      bindings.variables.emplace(uop::VariableOf(m->src(0)).name, m->src(1)->arg.scalar());
    }
  }
  for (const std::string& name : symbolic::VariableNames(n)) {
    if (bindings.variables.find(name) == bindings.variables.end()) return std::nullopt;
  }
  return bindings;
}

// Builds the CheckedShape of one step. Confined to one call of ShapeAfter.
class Checker {
 public:
  Checker(Graph& g, std::string step, absl::Span<const Ref> in)
      : g_(g), step_(std::move(step)), in_(in) {}

  absl::Status Wrong(std::string what) const {
    return absl::InvalidArgumentError(absl::StrCat(step_, " of ", Text(in_), ": ", what));
  }

  // Fails with the text that `what` returns if `condition` can't hold; notes it if it may or may
  // not.
  template <typename What>
  absl::Status Require(Ref condition, What what) {
    if (!condition->IsConst()) {
      KILN_ASSIGN_OR_RETURN(condition, symbolic::Simplify(g_, condition));
    }
    const Bounds bounds = BoundsOf(g_, condition);
    if (bounds.lo == 1) return absl::OkStatus();
    if (bounds.hi == 0) return Wrong(what());
    if (const auto values = BoundValues(condition)) {
      KILN_ASSIGN_OR_RETURN(const Scalar value, symbolic::Evaluate(g_, condition, *values));
      if (!value.AsBool()) return Wrong(what());
    }
    std::vector<Ref>& noted = result_.conditions;
    if (std::find(noted.begin(), noted.end(), condition) == noted.end()) noted.push_back(condition);
    return absl::OkStatus();
  }

  absl::Status RequireSize(size_t axis, Ref size) {
    return Require(AtMost(g_, g_.Index(0), size),
                   [&] { return absl::StrCat("axis ", axis, " gets the size ", Text(size)); });
  }

  // The next dim of the result.
  absl::Status Append(Ref dim) {
    KILN_ASSIGN_OR_RETURN(dim, Simplified(dim));
    result_.dims.push_back(dim);
    return absl::OkStatus();
  }

  absl::StatusOr<Ref> Simplified(Ref n) {
    if (n->IsConst()) return n;
    return symbolic::Simplify(g_, n);
  }

  absl::Span<const Ref> dims() const { return result_.dims; }

  absl::StatusOr<CheckedShape> Finish() {
    if (result_.dims.size() > kMaxRank) {
      return Wrong(
          absl::StrCat("the result has ", result_.dims.size(), " axes, the most is ", kMaxRank));
    }
    // Sizes of 0 count as 1, since strides are products of the other sizes.
    Int128 count = 1;
    for (Ref d : result_.dims) {
      count *= std::clamp(VMax(g_, d), Int128{1}, Int128{1} << 63);
      if (!FitsInt64(count)) {
        return Wrong(
            absl::StrCat("the result ", Text(dims()), " may have more elements than int64 counts"));
      }
    }
    return std::move(result_);
  }

 private:
  Graph& g_;
  std::string step_;
  absl::Span<const Ref> in_;
  CheckedShape result_;
};

// A shape that is given, not made: the base of a chain, the argument of a reshape or expand.
absl::Status AppendGiven(absl::Span<const Ref> shape, Checker& check) {
  for (size_t i = 0; i < shape.size(); ++i) {
    KILN_RETURN_IF_ERROR(check.Append(shape[i]));
    KILN_RETURN_IF_ERROR(check.RequireSize(i, check.dims()[i]));
  }
  return absl::OkStatus();
}

absl::Status Reshape(Graph& g, absl::Span<const Ref> in, const Movement& step, Checker& check) {
  KILN_RETURN_IF_ERROR(AppendGiven(step.dims, check));
  KILN_ASSIGN_OR_RETURN(const auto from, internal::Factors::OfAll(g, in));
  KILN_ASSIGN_OR_RETURN(const auto to, internal::Factors::OfAll(g, check.dims()));
  if (from.has_value() && from == to) return absl::OkStatus();
  KILN_ASSIGN_OR_RETURN(Ref have, check.Simplified(ElementCount(g, in)));
  KILN_ASSIGN_OR_RETURN(Ref want, check.Simplified(ElementCount(g, check.dims())));
  return check.Require(Equal(g, have, want), [&] {
    return absl::StrCat(Text(have), " elements don't fit ", Text(step.dims), ", which has ",
                        Text(want));
  });
}

absl::Status Expand(Graph& g, absl::Span<const Ref> in, const Movement& step, Checker& check) {
  KILN_RETURN_IF_ERROR(AppendGiven(step.dims, check));
  for (size_t i = 0; i < in.size(); ++i) {
    if (IsOne(in[i])) continue;
    Ref to = check.dims()[i];
    KILN_RETURN_IF_ERROR(check.Require(Equal(g, in[i], to), [&] {
      return absl::StrCat("axis ", i, " of size ", Text(in[i]), " can't become ", Text(to),
                          ", only size 1 repeats");
    }));
  }
  return absl::OkStatus();
}

absl::Status Permute(absl::Span<const Ref> in, const Movement& step, Checker& check) {
  std::vector<bool> used(in.size(), false);
  for (int64_t axis : step.order) {
    if (axis < 0 || axis >= static_cast<int64_t>(in.size()) || used[static_cast<size_t>(axis)]) {
      return check.Wrong(
          absl::StrCat("(", absl::StrJoin(step.order, ", "), ") is not a permutation of its axes"));
    }
    used[static_cast<size_t>(axis)] = true;
    KILN_RETURN_IF_ERROR(check.Append(in[static_cast<size_t>(axis)]));
  }
  return absl::OkStatus();
}

absl::Status Pad(Graph& g, absl::Span<const Ref> in, const Movement& step, Checker& check) {
  for (size_t i = 0; i < in.size(); ++i) {
    Ref before = step.dims[2 * i];
    Ref after = step.dims[2 * i + 1];
    for (Ref width : {before, after}) {
      KILN_RETURN_IF_ERROR(check.Require(AtMost(g, g.Index(0), width), [&] {
        return absl::StrCat("axis ", i, " can't be padded by ", Text(before), " before and ",
                            Text(after), " after");
      }));
    }
    KILN_RETURN_IF_ERROR(check.Append(Plus(g, Plus(g, before, in[i]), after)));
  }
  return absl::OkStatus();
}

absl::Status Shrink(Graph& g, absl::Span<const Ref> in, const Movement& step, Checker& check) {
  for (size_t i = 0; i < in.size(); ++i) {
    Ref begin = step.dims[2 * i];
    Ref end = step.dims[2 * i + 1];
    for (Ref condition :
         {AtMost(g, g.Index(0), begin), AtMost(g, begin, end), AtMost(g, end, in[i])}) {
      KILN_RETURN_IF_ERROR(check.Require(condition, [&] {
        return absl::StrCat("[", Text(begin), ", ", Text(end), ") is not within axis ", i,
                            " of size ", Text(in[i]));
      }));
    }
    KILN_RETURN_IF_ERROR(check.Append(Minus(g, end, begin)));
  }
  return absl::OkStatus();
}

absl::Status CheckDTypes(absl::Span<const Ref> dims, const Checker& check) {
  for (Ref d : dims) {
    if (d->dtype == DType::kIndex) continue;
    return check.Wrong(absl::StrCat("a size has dtype ", std::string(dtype::Name(d->dtype)),
                                    ", it must be index"));
  }
  return absl::OkStatus();
}

// Whether a step has arguments for the axes of a tensor of rank `rank`.
absl::Status CheckArguments(size_t rank, const Movement& step, const Checker& check) {
  if (rank > kMaxRank) return check.Wrong(absl::StrCat(rank, " axes, the most is ", kMaxRank));
  KILN_RETURN_IF_ERROR(CheckDTypes(step.dims, check));
  switch (step.op) {
    case Op::kReshape:
      return absl::OkStatus();
    case Op::kExpand:
      if (step.dims.size() == rank) return absl::OkStatus();
      return check.Wrong(
          absl::StrCat("to ", Text(step.dims), ", which has another number of axes"));
    case Op::kPermute:
      if (step.order.size() == rank) return absl::OkStatus();
      return check.Wrong(
          absl::StrCat("(", absl::StrJoin(step.order, ", "), ") is not a permutation of its axes"));
    case Op::kFlip:
      if (step.flipped >> rank == 0) return absl::OkStatus();
      return check.Wrong(
          absl::StrCat("mask ", step.flipped, " names an axis that it does not have"));
    case Op::kPad:
    case Op::kShrink:
      if (step.dims.size() == 2 * rank) return absl::OkStatus();
      return check.Wrong(
          absl::StrCat(step.dims.size(), " numbers given, ", 2 * rank, " are needed"));
    default:
      return check.Wrong("it is no movement op");
  }
}

}  // namespace

absl::StatusOr<CheckedShape> ShapeAfter(Graph& g, absl::Span<const Ref> in, const Movement& step) {
  Checker check(g, StepName(step.op), in);
  KILN_RETURN_IF_ERROR(CheckArguments(in.size(), step, check));
  switch (step.op) {
    case Op::kReshape:
      KILN_RETURN_IF_ERROR(Reshape(g, in, step, check));
      break;
    case Op::kExpand:
      KILN_RETURN_IF_ERROR(Expand(g, in, step, check));
      break;
    case Op::kPermute:
      KILN_RETURN_IF_ERROR(Permute(in, step, check));
      break;
    case Op::kPad:
      KILN_RETURN_IF_ERROR(Pad(g, in, step, check));
      break;
    case Op::kShrink:
      KILN_RETURN_IF_ERROR(Shrink(g, in, step, check));
      break;
    default:  // kFlip: the same shape.
      KILN_RETURN_IF_ERROR(AppendGiven(in, check));
  }
  return check.Finish();
}

absl::StatusOr<std::vector<CheckedShape>> ShapesAlong(Graph& g, absl::Span<const Ref> base,
                                                      absl::Span<const Movement> chain) {
  Checker check(g, "base", base);
  KILN_RETURN_IF_ERROR(CheckDTypes(base, check));
  KILN_RETURN_IF_ERROR(AppendGiven(base, check));
  std::vector<CheckedShape> shapes;
  KILN_ASSIGN_OR_RETURN(shapes.emplace_back(), check.Finish());
  for (size_t k = 0; k < chain.size(); ++k) {
    KILN_ASSIGN_OR_RETURN(CheckedShape next, ShapeAfter(g, shapes.back().dims, chain[k]),
                          _ << "in step " << k);
    shapes.push_back(std::move(next));
  }
  return shapes;
}

absl::StatusOr<CheckedShape> ShapeAfter(Graph& g, absl::Span<const Ref> base,
                                        absl::Span<const Movement> chain) {
  KILN_ASSIGN_OR_RETURN(std::vector<CheckedShape> shapes, ShapesAlong(g, base, chain));
  std::vector<Ref> conditions;
  for (const CheckedShape& s : shapes) {
    for (Ref c : s.conditions) {
      const bool known = std::find(conditions.begin(), conditions.end(), c) != conditions.end();
      if (!known) conditions.push_back(c);
    }
  }
  return CheckedShape{std::move(shapes.back().dims), std::move(conditions)};
}

}  // namespace kiln::tensor
