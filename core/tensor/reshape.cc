// A reshape reads both shapes from the innermost axis outwards, like numbers in two mixed radix
// systems, and moves digits from the output's axes to the input's.
#include <algorithm>
#include <optional>
#include <vector>

#include "absl/status/status.h"

#include "core/dtype/check.h"
#include "core/dtype/status.h"
#include "core/tensor/factors.h"
#include "core/tensor/index_math.h"
#include "core/tensor/movement.h"

namespace kiln::tensor {
namespace {

using internal::Factors;
using internal::Quotient;
using internal::Remainder;

// An axis of the output, whose index is taken apart from the least significant digit on.
struct Source {
  Ref index;
  Factors rest;   // The size of what is left.
  Factors taken;  // The product of the digits taken.
};

// An axis of the input, whose index is put together likewise.
struct Target {
  std::vector<Ref> digits;  // Times their weights.
  Factors rest;
  Factors given;
};

// Confined to one call of ReshapeBack. Both lists are innermost first and have no axis of the
// constant size 1.
class DigitMover {
 public:
  DigitMover(Graph& g, std::vector<Source> sources, std::vector<Target> targets)
      : g_(g), sources_(std::move(sources)), targets_(std::move(targets)) {}

  std::vector<Target> Run() && {
    while (s_ < sources_.size() && t_ < targets_.size()) {
      const Factors have = sources_[s_].rest;
      const Factors want = targets_[t_].rest;
      if (want.DividedBy(have).has_value()) {
        Give(TakeRest(), have);
      } else if (have.DividedBy(want).has_value()) {
        Give(Take(want), want);
      } else {
        MoveThroughPosition();
      }
    }
    return std::move(targets_);
  }

 private:
  // The next digit of the current source, 0 <= digit < size. Pre: `size` divides its rest, and is
  // not all of it.
  Ref Take(const Factors& size) {
    Source& s = sources_[s_];
    Ref digit = Remainder(g_, Quotient(g_, s.index, s.taken.Divisor(g_)), size.Divisor(g_));
    s.taken = s.taken * size;
    s.rest = *s.rest.DividedBy(size);
    return digit;
  }

  // The last digit of the current source: what is left needs no remainder.
  Ref TakeRest() {
    const Source& s = sources_[s_++];
    return Quotient(g_, s.index, s.taken.Divisor(g_));
  }

  void Give(Ref digit, const Factors& size) {
    Target& t = targets_[t_];
    t.digits.push_back(t.given.Times(g_, digit));
    t.given = t.given * size;
    t.rest = *t.rest.DividedBy(size);
    if (t.rest.IsOne()) ++t_;
  }

  // How many axes, from the current ones outwards, have equal products; all of them if none do.
  struct Extent {
    size_t sources, targets;
  };
  Extent NextMatch() const {
    std::vector<Factors> products;
    Factors product;
    for (size_t t = t_; t < targets_.size(); ++t) {
      product = product * targets_[t].rest;
      products.push_back(product);
    }
    product = Factors();
    for (size_t s = s_; s < sources_.size(); ++s) {
      product = product * sources_[s].rest;
      for (size_t k = 0; k < products.size(); ++k) {
        if (products[k] == product) return {s - s_ + 1, k + 1};
      }
    }
    return {sources_.size() - s_, targets_.size() - t_};
  }

  // The axes up to the next match have no digits in common: their row-major position does.
  void MoveThroughPosition() {
    const Extent extent = NextMatch();
    std::vector<Ref> terms;
    Factors stride;
    for (size_t end = s_ + extent.sources; s_ < end;) {
      const Factors size = sources_[s_].rest;
      terms.push_back(stride.Times(g_, TakeRest()));
      stride = stride * size;
    }
    std::reverse(terms.begin(), terms.end());
    Ref position = internal::Sum(g_, terms);
    Factors below;
    for (size_t end = t_ + extent.targets; t_ < end;) {
      const Factors size = targets_[t_].rest;
      Ref digit = Quotient(g_, position, below.Divisor(g_));
      if (t_ + 1 < end) digit = Remainder(g_, digit, size.Divisor(g_));
      below = below * size;
      Give(digit, size);
    }
  }

  Graph& g_;
  std::vector<Source> sources_;
  std::vector<Target> targets_;
  size_t s_ = 0, t_ = 0;
};

struct Axis {
  size_t number;
  Factors size;
};

// A shape taken apart, innermost axis first and without those of size 1. Null if a size is 0.
// InvalidArgument if strides could leave int64.
absl::StatusOr<std::optional<std::vector<Axis>>> FactorAxes(Graph& g, absl::Span<const Ref> shape) {
  std::vector<Axis> axes;
  Int128 count = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    KILN_ASSIGN_OR_RETURN(Factors size, Factors::Of(g, shape[i]));
    if (size.coefficient() == 0) return std::nullopt;
    if (size.IsOne()) continue;
    count *= size.coefficient();
    if (!FitsInt64(count)) {
      return absl::InvalidArgumentError("reshape of more elements than int64 counts");
    }
    axes.push_back({i, std::move(size)});
  }
  return axes;
}

// n = (whole / below) % size, or n = whole / below without a size.
struct Digit {
  Ref rest;  // whole / below
  Ref whole;
  Factors below;
  std::optional<Factors> size;
};
absl::StatusOr<Digit> DigitOf(Graph& g, Ref n) {
  Digit digit{n, n, {}, std::nullopt};
  if (n->Is(Op::kMod)) {
    KILN_ASSIGN_OR_RETURN(digit.size, Factors::Of(g, n->src(1)));
    digit.rest = digit.whole = n->src(0);
  }
  if (digit.rest->Is(Op::kIDiv)) {
    KILN_ASSIGN_OR_RETURN(digit.below, Factors::Of(g, digit.rest->src(1)));
    digit.whole = digit.rest->src(0);
  }
  return digit;
}

// The one axis that two neighbours are the digits of, if they are: an earlier reshape took it
// apart. Putting it together here saves the simplifier from finding the pair again in a sum.
absl::StatusOr<std::optional<Source>> Rejoined(Graph& g, const Source& inner, const Source& outer) {
  const bool may_be =
      inner.index->Is(Op::kMod) && (outer.index->Is(Op::kMod) || outer.index->Is(Op::kIDiv));
  if (!may_be) return std::nullopt;
  KILN_ASSIGN_OR_RETURN(const Digit low, DigitOf(g, inner.index));
  KILN_ASSIGN_OR_RETURN(const Digit high, DigitOf(g, outer.index));
  if (low.whole != high.whole || low.size != inner.rest) return std::nullopt;
  if (high.below != low.below * inner.rest) return std::nullopt;
  if (high.size.has_value() && *high.size != outer.rest) return std::nullopt;
  Source joined{low.rest, inner.rest * outer.rest, {}};
  if (high.size.has_value()) joined.index = Remainder(g, joined.index, joined.rest.Divisor(g));
  return joined;
}

absl::StatusOr<std::vector<Source>> SourcesOf(Graph& g, absl::Span<const Axis> axes,
                                              absl::Span<const Ref> index) {
  std::vector<Source> sources;
  for (const Axis& a : axes) {
    Source next{index[a.number], a.size, {}};
    if (!sources.empty()) {
      KILN_ASSIGN_OR_RETURN(std::optional<Source> joined, Rejoined(g, sources.back(), next));
      if (joined.has_value()) {
        sources.back() = *std::move(joined);
        continue;
      }
    }
    sources.push_back(std::move(next));
  }
  return sources;
}

Ref IndexOf(Graph& g, Target& target) {
  std::reverse(target.digits.begin(), target.digits.end());
  return internal::Sum(g, target.digits);
}

}  // namespace

absl::StatusOr<std::vector<Ref>> ReshapeBack(Graph& g, absl::Span<const Ref> in,
                                             absl::Span<const Ref> out,
                                             absl::Span<const Ref> index) {
  KILN_DCHECK(index.size() == out.size());
  std::vector<Ref> result(in.size(), g.Index(0));
  KILN_ASSIGN_OR_RETURN(const std::optional<std::vector<Axis>> from, FactorAxes(g, out));
  KILN_ASSIGN_OR_RETURN(const std::optional<std::vector<Axis>> to, FactorAxes(g, in));
  if (!from.has_value() || !to.has_value()) return result;  // No element, so no place is asked for.
  KILN_ASSIGN_OR_RETURN(std::vector<Source> sources, SourcesOf(g, *from, index));
  std::vector<Target> targets;
  for (const Axis& a : *to) targets.push_back({{}, a.size, {}});
  targets = DigitMover(g, std::move(sources), std::move(targets)).Run();
  for (size_t k = 0; k < to->size(); ++k) result[(*to)[k].number] = IndexOf(g, targets[k]);
  return result;
}

absl::StatusOr<Ref> RowMajor(Graph& g, absl::Span<const Ref> shape, absl::Span<const Ref> index) {
  KILN_DCHECK(index.size() == shape.size());
  KILN_ASSIGN_OR_RETURN(const std::optional<std::vector<Axis>> axes, FactorAxes(g, shape));
  if (!axes.has_value()) return g.Index(0);
  KILN_ASSIGN_OR_RETURN(std::vector<Source> sources, SourcesOf(g, *axes, index));
  Target position;
  for (const Axis& a : *axes) position.rest = position.rest * a.size;
  std::vector<Target> targets = DigitMover(g, std::move(sources), {position}).Run();
  return IndexOf(g, targets[0]);
}

}  // namespace kiln::tensor
