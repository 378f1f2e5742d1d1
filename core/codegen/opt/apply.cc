#include "core/codegen/opt/apply.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/codegen/kernel_ranges.h"
#include "core/dtype/status.h"
#include "core/symbolic/bounds_under.h"
#include "core/uop/constants.h"
#include "core/uop/text.h"
#include "core/uop/walk.h"

namespace kiln::codegen {
namespace {

using internal::AxisId;
using internal::ConstEnd;
using internal::DependsOn;
using internal::EndedRanges;
using internal::RangeReplacement;
using internal::RangesBelow;
using internal::TypeOf;

constexpr int64_t kMaxCores = 1024;

// One opt on one kernel.
class Application {
 public:
  Application(Graph& g, Ref kernel, const Opt& opt)
      : g_(g), kernel_(kernel), opt_(opt), ranges_(RangesBelow(kernel)) {}

  absl::StatusOr<Ref> Run() {
    KILN_ASSIGN_OR_RETURN(Ref range, Find(opt_.axis));
    switch (opt_.kind) {
      case OptKind::kUpcast:
        return MakeLanes(range, AxisType::kLoop, AxisType::kUpcast);
      case OptKind::kUnroll:
        return MakeLanes(range, AxisType::kReduce, AxisType::kUnroll);
      case OptKind::kThread:
        return Thread(range);
      case OptKind::kSwap:
        return Swap(range);
      case OptKind::kPadTo:
        return PadTo(range);
    }
    return Illegal("it is of no known kind");
  }

 private:
  template <typename... Parts>
  absl::Status Illegal(const Parts&... reason) const {
    return absl::InvalidArgumentError(
        absl::StrCat(ToText(absl::MakeConstSpan(&opt_, 1)), " is not legal: ", reason...));
  }

  absl::StatusOr<Ref> Find(int64_t axis) const {
    for (Ref r : ranges_) {
      if (AxisId(r) == axis) return r;
    }
    return Illegal("there is no range ", axis);
  }

  absl::Status CheckType(Ref range, AxisType type) const {
    if (TypeOf(range) == type) return absl::OkStatus();
    return Illegal("range ", AxisId(range), " is of type ",
                   std::string(uop::kAxisTypeNames[static_cast<size_t>(TypeOf(range))]), ", not ",
                   std::string(uop::kAxisTypeNames[static_cast<size_t>(type)]));
  }

  // The constant that the range is to be divided by.
  absl::StatusOr<int64_t> Divisor(Ref range) const {
    const int64_t end = ConstEnd(range);
    if (end < 1) return Illegal("range ", AxisId(range), " has no constant end");
    const int64_t amount = opt_.amount == 0 ? end : opt_.amount;
    if (amount < 1) return Illegal("it needs a positive amount");
    return amount;
  }
  absl::StatusOr<int64_t> ExactDivisor(Ref range) const {
    KILN_ASSIGN_OR_RETURN(const int64_t amount, Divisor(range));
    if (amount < 2) return Illegal("it needs an amount of at least 2");
    if (ConstEnd(range) % amount != 0) {
      return Illegal(amount, " does not divide the end of range ", AxisId(range), ", ",
                     ConstEnd(range));
    }
    return amount;
  }

  // Otherwise several lanes or cores would write one place.
  absl::Status CheckStoresDependOn(Ref range) const {
    for (Ref n : uop::Toposort(kernel_)) {
      if (n->Is(Op::kStore) && !DependsOn(g_, n->src(0)->src(1), range)) {
        return Illegal("a store does not depend on range ", AxisId(range));
      }
    }
    return absl::OkStatus();
  }

  Ref Replace(Ref range, Ref value, absl::InlinedVector<Ref, 2> ranges) const {
    const RangeReplacement replacement = {range, value, std::move(ranges)};
    return internal::ReplaceRanges(g_, kernel_, absl::MakeConstSpan(&replacement, 1));
  }

  // value = inner + outer * size(inner), where the outer one has n counters; no outer one if n = 1.
  Ref Joined(Ref outer, Ref inner, int64_t inner_size) const {
    return g_.Add(g_.Mul(outer, g_.Index(inner_size)), inner);
  }

  absl::StatusOr<Ref> MakeLanes(Ref range, AxisType from, AxisType to) {
    KILN_RETURN_IF_ERROR(CheckType(range, from));
    KILN_ASSIGN_OR_RETURN(const int64_t amount, ExactDivisor(range));
    Ref lane = SharedLane(range, amount);
    int64_t lanes = lane != nullptr ? 1 : amount;
    for (Ref r : ranges_) {
      if (IsLane(r)) lanes *= ConstEnd(r);
      if (lanes > kMaxLanes) return Illegal("more than ", kMaxLanes, " lanes");
    }
    if (from == AxisType::kLoop) {
      KILN_RETURN_IF_ERROR(CheckStoresDependOn(range));
    }
    if (lane == nullptr) lane = g_.Range(amount, AxisId(ranges_.back()) + 1, to);
    const int64_t rest = ConstEnd(range) / amount;
    const bool is_reduce = from == AxisType::kReduce;
    if (rest == 1)
      return Replace(range, lane,
                     is_reduce ? absl::InlinedVector<Ref, 2>{lane} : absl::InlinedVector<Ref, 2>{});
    Ref loop = g_.Range(rest, AxisId(range), from);
    return Replace(
        range, Joined(loop, lane, amount),
        is_reduce ? absl::InlinedVector<Ref, 2>{loop, lane} : absl::InlinedVector<Ref, 2>{loop});
  }

  // A lane range of this size that nothing depends on together with `range`: one that ends elsewhere.
  // So all parts of a kernel (the reductions of a softmax, and what it stores) have one machine
  // vector.
  Ref SharedLane(Ref range, int64_t size) const {
    for (Ref lane : ranges_) {
      if (!IsLane(lane) || ConstEnd(lane) != size) continue;
      const bool is_free = uop::Visit(kernel_, [&](Ref n) {
        const auto depend_on = [&](Ref r) {
          return std::any_of(n->src().begin(), n->src().end(),
                             [&](Ref s) { return DependsOn(g_, s, r); });
        };
        return !depend_on(range) || !depend_on(lane);
      });
      if (is_free) return lane;
    }
    return nullptr;
  }

  absl::StatusOr<Ref> Thread(Ref range) {
    KILN_RETURN_IF_ERROR(CheckType(range, AxisType::kLoop));
    KILN_ASSIGN_OR_RETURN(const int64_t amount, ExactDivisor(range));
    if (amount > kMaxCores) return Illegal("more than ", kMaxCores, " cores");
    const bool is_split = !uop::Visit(kernel_, [](Ref n) { return !n->Is(Op::kSpecial); });
    if (is_split) return Illegal("the kernel is split over cores already");
    KILN_RETURN_IF_ERROR(CheckStoresDependOn(range));
    Ref core = g_.Special("core", g_.Index(amount));
    const int64_t rest = ConstEnd(range) / amount;
    if (rest == 1) return Replace(range, core, {});
    Ref loop = g_.Range(rest, AxisId(range), AxisType::kLoop);
    return Replace(range, Joined(core, loop, rest), {loop});
  }

  absl::StatusOr<Ref> Swap(Ref a) {
    KILN_ASSIGN_OR_RETURN(Ref b, Find(opt_.amount));
    if (a == b) return Illegal("it needs two ranges");
    if (!IsLoop(a) || !IsLoop(b)) return Illegal("lanes have no order");
    for (Ref n : uop::Toposort(kernel_)) {
      const absl::Span<const Ref> ended = EndedRanges(n);
      const auto has = [ended](Ref r) { return std::count(ended.begin(), ended.end(), r) != 0; };
      if (has(a) != has(b)) {
        return Illegal("ranges ", AxisId(a), " and ", AxisId(b), " do not end together");
      }
    }
    Ref new_a = g_.Range(a->src(0), AxisId(b), TypeOf(a));
    Ref new_b = g_.Range(b->src(0), AxisId(a), TypeOf(b));
    const RangeReplacement swap[] = {{a, new_a, {new_a}}, {b, new_b, {new_b}}};
    return internal::ReplaceRanges(g_, kernel_, swap);
  }

  absl::StatusOr<Ref> PadTo(Ref range) {
    KILN_ASSIGN_OR_RETURN(const int64_t multiple, Divisor(range));
    if (!IsLoop(range)) return Illegal("lanes are not padded");
    const int64_t end = ConstEnd(range);
    if (end % multiple == 0) return Illegal("range ", AxisId(range), " is a multiple already");
    if (end > INT64_MAX - multiple) return Illegal("the padded end is out of range");
    Ref padded = g_.Range((end + multiple - 1) / multiple * multiple, AxisId(range), TypeOf(range));
    Ref inside = g_.Lt(padded, g_.Index(end));
    // Once for every node: accesses get the gate, reductions over the range their identity.
    uop::NodeMap<Ref> now;
    now[range] = padded;
    for (Ref n : uop::Toposort(kernel_)) {
      if (n == range) continue;
      std::vector<Ref> src(n->src().begin(), n->src().end());
      bool changed = false;
      for (Ref& s : src) {
        Ref replaced = now.Get(s);
        changed = changed || replaced != nullptr;
        if (replaced != nullptr) s = replaced;
      }
      if (!changed) continue;
      if (n->Is(Op::kIndex)) {
        src.resize(3);
        src[2] = symbolic::Conjunction(g_, src[2], inside);
      } else if (n->Is(Op::kLoad) && n->num_src == 1) {
        src.push_back(g_.Const(n->dtype, Scalar()));
      } else if (n->Is(Op::kReduce)) {
        const absl::Span<const Ref> ended = EndedRanges(n);
        if (std::count(ended.begin(), ended.end(), range) != 0) {
          Ref identity = ReduceIdentity(g_, n->arg.reduce().op, n->dtype);
          src[0] = g_.Where(inside, src[0], identity);
        }
      }
      now[n] = g_.WithSources(n, src);
    }
    return now.Get(kernel_);
  }

  Graph& g_;
  Ref kernel_;
  const Opt& opt_;
  std::vector<Ref> ranges_;
};

}  // namespace

absl::StatusOr<Ref> ApplyOpt(Graph& g, Ref kernel, const Opt& opt, const Target&) {
  return Application(g, kernel, opt).Run();
}

}  // namespace kiln::codegen
