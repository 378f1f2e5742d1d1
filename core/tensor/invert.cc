#include "core/tensor/invert.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "core/dtype/status.h"
#include "core/symbolic/simplify.h"
#include "core/tensor/index_math.h"
#include "core/uop/facts.h"

namespace kiln::tensor {
namespace {

using internal::AtMost;
using internal::Both;
using internal::IsOne;
using internal::IsZero;
using internal::Minus;
using internal::Plus;

// What is known of one axis while a chain is followed from its base: outside of begin <= i < end
// there is only padding, and inside of it all elements are the same if it is `repeated`.
struct Axis {
  Ref begin, end;
  bool repeated = false;
};

// The axes that are not of the constant size 1.
std::vector<size_t> LongAxes(absl::Span<const Ref> shape) {
  std::vector<size_t> axes;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!IsOne(shape[i])) axes.push_back(i);
  }
  return axes;
}

// Follows a chain and notes how to undo each step. Confined to one call of Invert.
class Inverter {
 public:
  Inverter(Graph& g, std::vector<Ref> base) : g_(g), shape_(std::move(base)) {
    for (Ref d : shape_) axes_.push_back({g.Index(0), d});
  }

  // False if the step drops elements, repeats them for good, or can't be shown not to.
  absl::StatusOr<bool> Follow(const Movement& step, std::vector<Ref> result) {
    switch (step.op) {
      case Op::kReshape:
        if (!Reshape(result)) return false;
        break;
      case Op::kExpand:
        Expand(result);
        break;
      case Op::kPermute:
        Permute(step.order);
        break;
      case Op::kFlip:
        KILN_RETURN_IF_ERROR(Flip(step.flipped));
        break;
      case Op::kPad:
        KILN_RETURN_IF_ERROR(Pad(step.dims));
        break;
      default: {
        KILN_ASSIGN_OR_RETURN(const bool kept, Shrink(step.dims));
        if (!kept) return false;
      }
    }
    shape_ = std::move(result);
    return true;
  }

  // Null if something is still repeated.
  std::optional<std::vector<Movement>> Finish() && {
    for (const Axis& a : axes_) {
      if (a.repeated) return std::nullopt;
    }
    std::reverse(undo_.begin(), undo_.end());
    return std::move(undo_);
  }

 private:
  absl::StatusOr<Ref> Simplified(Ref n) {
    if (n->IsConst()) return n;
    return symbolic::Simplify(g_, n);
  }

  absl::StatusOr<bool> Holds(Ref condition) {
    KILN_ASSIGN_OR_RETURN(condition, Simplified(condition));
    return BoundsOf(g_, condition).lo == 1;
  }

  // Axes that stay what they are keep what is known of them. Padding that is split or merged counts
  // as elements from there on.
  bool Reshape(const std::vector<Ref>& to) {
    std::vector<Axis> result;
    for (Ref d : to) result.push_back({g_.Index(0), d});
    const std::vector<size_t> from_axes = LongAxes(shape_);
    const std::vector<size_t> to_axes = LongAxes(to);
    auto same = [&](size_t i, size_t k) { return shape_[from_axes[i]] == to[to_axes[k]]; };
    size_t begin = 0;
    size_t i = from_axes.size();
    size_t k = to_axes.size();
    for (; begin < std::min(i, k) && same(begin, begin); ++begin) {
      result[to_axes[begin]] = axes_[from_axes[begin]];
    }
    for (; i > begin && k > begin && same(i - 1, k - 1); --i, --k) {
      result[to_axes[k - 1]] = axes_[from_axes[i - 1]];
    }
    for (; i > begin; --i) {
      if (axes_[from_axes[i - 1]].repeated) return false;
    }
    axes_ = std::move(result);
    undo_.push_back(Movement::Reshape(shape_));
    return true;
  }

  void Expand(const std::vector<Ref>& to) {
    std::vector<Ref> first;
    for (size_t i = 0; i < to.size(); ++i) {
      const bool repeats = IsOne(shape_[i]) && !IsOne(to[i]);
      first.push_back(g_.Index(0));
      first.push_back(repeats ? g_.Index(1) : to[i]);
      if (repeats) axes_[i] = {g_.Index(0), to[i], true};
    }
    undo_.push_back(Movement::Shrink(std::move(first)));
  }

  void Permute(const std::vector<int64_t>& order) {
    std::vector<Axis> result;
    std::vector<int64_t> inverse(order.size());
    for (size_t i = 0; i < order.size(); ++i) {
      result.push_back(axes_[static_cast<size_t>(order[i])]);
      inverse[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
    }
    axes_ = std::move(result);
    undo_.push_back(Movement::Permute(std::move(inverse)));
  }

  absl::Status Flip(uint64_t flipped) {
    for (size_t i = 0; i < axes_.size(); ++i) {
      if ((flipped >> i & 1) == 0) continue;
      KILN_ASSIGN_OR_RETURN(Ref begin, Simplified(Minus(g_, shape_[i], axes_[i].end)));
      KILN_ASSIGN_OR_RETURN(Ref end, Simplified(Minus(g_, shape_[i], axes_[i].begin)));
      axes_[i].begin = begin;
      axes_[i].end = end;
    }
    undo_.push_back(Movement::Flip(flipped));
    return absl::OkStatus();
  }

  absl::Status Pad(const std::vector<Ref>& pairs) {
    std::vector<Ref> inside;
    for (size_t i = 0; i < axes_.size(); ++i) {
      Ref before = pairs[2 * i];
      KILN_ASSIGN_OR_RETURN(axes_[i].begin, Simplified(Plus(g_, axes_[i].begin, before)));
      KILN_ASSIGN_OR_RETURN(axes_[i].end, Simplified(Plus(g_, axes_[i].end, before)));
      inside.push_back(before);
      inside.push_back(Plus(g_, before, shape_[i]));
    }
    undo_.push_back(Movement::Shrink(std::move(inside)));
    return absl::OkStatus();
  }

  // Padding may go, and copies of a repeated element as long as one stays.
  absl::StatusOr<bool> Shrink(const std::vector<Ref>& pairs) {
    std::vector<Ref> one, copies, around;
    for (size_t i = 0; i < axes_.size(); ++i) {
      Ref begin = pairs[2 * i];
      Ref end = pairs[2 * i + 1];
      Axis& a = axes_[i];
      KILN_ASSIGN_OR_RETURN(Ref size, Simplified(Minus(g_, end, begin)));
      one.push_back(g_.Index(0));
      KILN_ASSIGN_OR_RETURN(bool kept,
                            Holds(Both(g_, AtMost(g_, begin, a.begin), AtMost(g_, a.end, end))));
      if (kept) {
        one.push_back(size);
        copies.push_back(size);
        around.push_back(begin);
        around.push_back(Minus(g_, shape_[i], end));
        KILN_ASSIGN_OR_RETURN(a.begin, Simplified(Minus(g_, a.begin, begin)));
        KILN_ASSIGN_OR_RETURN(a.end, Simplified(Minus(g_, a.end, begin)));
        continue;
      }
      if (!a.repeated) return false;
      KILN_ASSIGN_OR_RETURN(
          kept, Holds(Both(g_, Both(g_, AtMost(g_, a.begin, begin), AtMost(g_, end, a.end)),
                           AtMost(g_, g_.Index(1), size))));
      if (!kept) return false;
      one.push_back(g_.Index(1));
      copies.push_back(Minus(g_, a.end, a.begin));
      around.push_back(a.begin);
      around.push_back(Minus(g_, shape_[i], a.end));
      a = {g_.Index(0), size, !IsOne(size)};
    }
    undo_.push_back(Movement::Pad(std::move(around)));
    undo_.push_back(Movement::Expand(std::move(copies)));
    undo_.push_back(Movement::Shrink(std::move(one)));
    return true;
  }

  Graph& g_;
  std::vector<Ref> shape_;
  std::vector<Axis> axes_;
  std::vector<Movement> undo_;  // The last of these comes first.
};

// From any shape to one without elements.
std::vector<Movement> TakeNothing(Graph& g, const std::vector<Ref>& from,
                                  const std::vector<Ref>& to) {
  std::vector<Ref> shape = {g.Index(1)};
  std::vector<Ref> none = {g.Index(0), g.Index(0)};
  for (Ref d : from) {
    shape.push_back(d);
    none.insert(none.end(), {g.Index(0), d});
  }
  return {Movement::Reshape(std::move(shape)), Movement::Shrink(std::move(none)),
          Movement::Reshape(to)};
}

}  // namespace

absl::StatusOr<std::optional<std::vector<Movement>>> Invert(Graph& g, absl::Span<const Ref> base,
                                                            absl::Span<const Movement> chain) {
  KILN_ASSIGN_OR_RETURN(const std::vector<CheckedShape> shapes, ShapesAlong(g, base, chain));
  const std::vector<Ref>& first = shapes.front().dims;
  if (std::any_of(first.begin(), first.end(), IsZero)) {
    return TakeNothing(g, shapes.back().dims, first);
  }
  Inverter inverter(g, first);
  for (size_t k = 0; k < chain.size(); ++k) {
    // Of reshapes that follow each other only the last counts.
    const bool is_reshape = chain[k].op == Op::kReshape;
    if (is_reshape && k + 1 < chain.size() && chain[k + 1].op == Op::kReshape) continue;
    KILN_ASSIGN_OR_RETURN(const bool kept, inverter.Follow(chain[k], shapes[k + 1].dims));
    if (!kept) return std::nullopt;
  }
  return std::move(inverter).Finish();
}

}  // namespace kiln::tensor
