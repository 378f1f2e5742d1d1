// Bounds of integer and float nodes. The rules are those of tests/fixtures/README.md, "Bounds".
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/dtype/cast.h"
#include "core/dtype/check.h"
#include "core/uop/bottom_up.h"
#include "core/uop/facts.h"
#include "core/uop/interval.h"

namespace kiln::uop {
namespace {

using internal::Add;
using internal::Hull;
using internal::Mul;
using internal::Sub;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr FloatBounds kAnyFloat = {-kInf, kInf};

bool HasBounds(DType d) { return d != DType::kVoid && !dtype::IsFloat(d); }

bool Fits(Bounds b, DType d) { return FullBounds(d).Contains(b); }

// What is known of an integer value.
struct Interval {
  Bounds bounds;
  bool modular = true;  // See Facts.
  bool holds = true;    // The value lies within bounds.
};

Interval Any(DType d) { return {FullBounds(d)}; }

// Of a source whose facts are there. A float or void where an integer belongs (such graphs fail
// their spec) is anything.
Interval Of(Ref s) {
  if (!HasBounds(s->dtype)) return {.modular = false, .holds = false};
  const Facts& f = *s->facts;
  const bool full = f.bounds.Contains(FullBounds(s->dtype));
  return {f.bounds, f.bounds_modular, full || (f.bounds_modular && Fits(f.bounds, s->dtype))};
}

FloatBounds FloatOf(Ref s) { return dtype::IsFloat(s->dtype) ? s->facts->float_bounds : kAnyFloat; }

// ** the sources that bounds depend on **

absl::Span<const Ref> Needs(Ref n) {
  const bool is_float = dtype::IsFloat(n->dtype);
  switch (n->op) {
    case Op::kCast:
    case Op::kCmpLt:
    case Op::kCmpNe:
    case Op::kIota:
    case Op::kRange:
    case Op::kSpecial:
    case Op::kStack:
      return n->src();
    case Op::kBind:
    case Op::kReshape:
    case Op::kExpand:
    case Op::kPermute:
    case Op::kFlip:
    case Op::kPad:
    case Op::kShrink:
    case Op::kContiguous:
    case Op::kDetach:
    case Op::kUnstack:
    case Op::kAfter:
      return n->src().subspan(0, 1);
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
    case Op::kMax:
    case Op::kIDiv:
    case Op::kMod:
    case Op::kAnd:
    case Op::kOr:
    case Op::kShl:
    case Op::kShr:
      return is_float ? absl::Span<const Ref>() : n->src();
    case Op::kWhere:
      return is_float ? absl::Span<const Ref>() : n->src().subspan(1);
    default:
      return {};
  }
}

// ** integers **

Interval VariableInterval(Ref n) {
  const VariableInfo v = VariableOf(n);
  const Bounds b = {v.min.AsWide(n->dtype), v.max.AsWide(n->dtype)};
  return v.name.empty() || b.lo > b.hi ? Any(n->dtype) : Interval{b};
}

// 0 <= counter < end. Nothing runs where the end is 0; [0, 0] keeps lo <= hi.
Interval CounterInterval(Interval end) {
  end.bounds = {0, std::max<Int128>(Add(end.bounds, {-1, -1}).hi, 0)};
  end.modular = end.holds;
  return end;
}

Interval CastInterval(Ref n) {
  Ref s = n->src(0);
  const Bounds full = FullBounds(n->dtype);
  if (!dtype::IsSigned(n->dtype)) return {full};  // bool and unsigned.
  if (dtype::IsFloat(s->dtype)) {
    // Truncates and saturates; NaN, which only an interval without finite ends allows, gives 0.
    const FloatBounds f = FloatOf(s);
    if (std::isinf(f.lo) && std::isinf(f.hi)) return {full};
    // 2^120 is beyond every fixed-width dtype, and exact as a double.
    const auto end = [full](double v) {
      if (v >= 0x1p120) return full.hi;
      if (v <= -0x1p120) return full.lo;
      return std::clamp(static_cast<Int128>(v), full.lo, full.hi);
    };
    return {{end(f.lo), end(f.hi)}};
  }
  Interval r = Of(s);
  r.modular = r.holds && Fits(r.bounds, n->dtype);
  r.bounds = {std::max(r.bounds.lo, full.lo), std::min(r.bounds.hi, full.hi)};
  return r.bounds.lo <= r.bounds.hi ? r : Any(n->dtype);
}

Interval QuotientInterval(Ref n, Interval a, Interval b) {
  if (b.bounds.Contains(0)) return Any(n->dtype);
  return {internal::Corners(a.bounds, b.bounds, internal::SaturatingDiv), a.holds && b.holds};
}

Interval RemainderInterval(Ref n, Interval a, Interval b) {
  if (b.bounds.Contains(0)) return Any(n->dtype);
  const Int128 magnitude = std::max(-b.bounds.lo, b.bounds.hi);
  const Int128 m = magnitude == Bounds::kPosInf ? magnitude : magnitude - 1;
  const bool modular = a.holds && b.holds;
  if (a.bounds.lo >= 0) return {{0, m}, modular};
  if (a.bounds.hi <= 0) return {{-m, 0}, modular};
  return {{-m, m}, modular};
}

Interval ShiftInterval(Ref n, Interval a, Interval by) {
  if (!by.bounds.IsPoint() || !by.holds) return Any(n->dtype);
  const Int128 k = by.bounds.lo;
  const bool left = n->op == Op::kShl;
  if (n->dtype == DType::kIndex && k < 0) return Any(n->dtype);
  if (n->dtype != DType::kIndex && (k < 0 || k >= dtype::SizeBits(n->dtype))) {
    // All bits are shifted out: what is left is 0, or the sign.
    if (left || !dtype::IsSigned(n->dtype)) return {{0, 0}};
    return {{a.bounds.lo < 0 ? -1 : 0, a.bounds.hi < 0 ? -1 : 0}, a.holds};
  }
  if (left) {
    return {{internal::SaturatingShl(a.bounds.lo, k), internal::SaturatingShl(a.bounds.hi, k)},
            a.modular};
  }
  return {{internal::SaturatingShr(a.bounds.lo, k), internal::SaturatingShr(a.bounds.hi, k)},
          a.holds};
}

Interval AndInterval(Ref n, Interval a, Interval b) {
  if (n->dtype == DType::kBool) {
    return {{a.bounds.lo & b.bounds.lo, a.bounds.hi & b.bounds.hi}, a.holds && b.holds};
  }
  if (a.bounds.lo < 0 || !b.bounds.IsPoint() || b.bounds.lo < 0) return Any(n->dtype);
  return {{0, std::min(a.bounds.hi, b.bounds.lo)}, a.holds && b.holds};
}

Interval OrInterval(Ref n, Interval a, Interval b) {
  if (n->dtype != DType::kBool) return Any(n->dtype);
  return {{a.bounds.lo | b.bounds.lo, a.bounds.hi | b.bounds.hi}, a.holds && b.holds};
}

// Of a comparison whose operands' ends are given, whatever they are made of.
template <typename B>
Bounds Compare(Op op, B a, B b) {
  if (op == Op::kCmpLt) return {a.hi < b.lo, a.lo < b.hi};
  const bool disjoint = a.hi < b.lo || b.hi < a.lo;
  const bool same = a.lo == a.hi && b.lo == b.hi && a.lo == b.lo;
  return {disjoint, !same};
}

Interval ComparisonInterval(Ref n) {
  Ref x = n->src(0), y = n->src(1);
  // NaN: an interval that may hold one has no finite end, and so decides neither comparison.
  if (dtype::IsFloat(x->dtype) && dtype::IsFloat(y->dtype)) {
    return {Compare(n->op, FloatOf(x), FloatOf(y))};
  }
  const Interval a = Of(x), b = Of(y);
  return {Compare(n->op, a.bounds, b.bounds), a.holds && b.holds};
}

Interval BinaryInterval(Ref n) {
  const Interval a = Of(n->src(0)), b = Of(n->src(1));
  const bool is_bool = n->dtype == DType::kBool;
  switch (n->op) {
    case Op::kAdd:
      if (is_bool) return OrInterval(n, a, b);
      return {Add(a.bounds, b.bounds), a.modular && b.modular};
    case Op::kSub:
      if (is_bool) return Any(n->dtype);
      return {Sub(a.bounds, b.bounds), a.modular && b.modular};
    case Op::kMul:
      if (is_bool) return AndInterval(n, a, b);
      return {Mul(a.bounds, b.bounds), a.modular && b.modular};
    case Op::kMax:
      return {internal::Max(a.bounds, b.bounds), a.holds && b.holds};
    case Op::kIDiv:
      return QuotientInterval(n, a, b);
    case Op::kMod:
      return RemainderInterval(n, a, b);
    case Op::kAnd:
      return AndInterval(n, a, b);
    case Op::kOr:
      return OrInterval(n, a, b);
    default:
      return ShiftInterval(n, a, b);  // kShl, kShr.
  }
}

Interval HullOf(absl::Span<const Ref> src) {
  Interval r = Of(src[0]);
  for (Ref s : src.subspan(1)) {
    const Interval next = Of(s);
    r.bounds = Hull(r.bounds, next.bounds);
    r.modular = r.modular && next.modular;
  }
  return r;
}

Interval IotaInterval(Ref n) {
  const int64_t axis = n->arg.integer();
  if (axis < 0 || axis >= n->num_src) return Any(n->dtype);
  return CounterInterval(Of(n->src(static_cast<int>(axis))));
}

Interval IntegerBounds(Ref n) {
  switch (n->op) {
    case Op::kConst: {
      const Int128 v = n->arg.scalar().AsWide(n->dtype);
      return {{v, v}};
    }
    case Op::kVariable:
      return VariableInterval(n);
    case Op::kRange:
    case Op::kSpecial:
      return CounterInterval(Of(n->src(0)));
    case Op::kIota:
      return IotaInterval(n);
    case Op::kCast:
      return CastInterval(n);
    case Op::kCmpLt:
    case Op::kCmpNe:
      return ComparisonInterval(n);
    case Op::kPad: {
      Interval r = Of(n->src(0));
      r.bounds = Hull(r.bounds, {0, 0});
      return r;
    }
    default:
      break;
  }
  const absl::Span<const Ref> needs = Needs(n);
  if (needs.empty()) return Any(n->dtype);
  if (IsBinary(n->op)) return BinaryInterval(n);
  return HullOf(needs);  // WHERE, STACK, and ops whose value is their first source's.
}

// ** floats **

// One end of an integer interval, rounded as the cast rounds. An end beyond what any fixed-width
// dtype holds is infinite.
double CastEnd(Int128 v, DType from, DType to) {
  if (v < INT64_MIN) return dtype::RoundToFloat(-kInf, to);
  if (v > INT64_MAX && from != DType::kUInt64) return dtype::RoundToFloat(kInf, to);
  return dtype::Cast(Scalar::FromBits(static_cast<uint64_t>(v)), from, to)->AsFloat();
}

FloatBounds CastFloatBounds(Ref n) {
  Ref s = n->src(0);
  if (dtype::IsFloat(s->dtype)) {
    const FloatBounds f = FloatOf(s);
    if (std::isinf(f.lo) && std::isinf(f.hi)) {
      return kAnyFloat;  // May be NaN, so no end may be finite.
    }
    return {dtype::RoundToFloat(f.lo, n->dtype), dtype::RoundToFloat(f.hi, n->dtype)};
  }
  const Interval i = Of(s);
  // What wraps below a cast may be anything that the dtype holds, and is nothing else.
  Bounds b = FullBounds(s->dtype);
  if (i.holds) b = {std::max(b.lo, i.bounds.lo), std::min(b.hi, i.bounds.hi)};
  return {CastEnd(b.lo, s->dtype, n->dtype), CastEnd(b.hi, s->dtype, n->dtype)};
}

FloatBounds FloatRange(Ref n) {
  switch (n->op) {
    case Op::kConst: {
      const double v = n->arg.scalar().AsFloat();
      return std::isnan(v) ? kAnyFloat : FloatBounds{v, v};
    }
    case Op::kVariable: {
      const VariableInfo v = VariableOf(n);
      const FloatBounds b = {v.min.AsFloat(), v.max.AsFloat()};
      return !v.name.empty() && b.lo <= b.hi ? b : kAnyFloat;
    }
    case Op::kCast:
      return CastFloatBounds(n);
    default:
      break;
  }
  const absl::Span<const Ref> needs = Needs(n);
  if (needs.empty() || n->op == Op::kIota || n->op == Op::kRange || n->op == Op::kSpecial) {
    return kAnyFloat;
  }
  FloatBounds r = FloatOf(needs[0]);
  for (Ref s : needs.subspan(1)) r = {std::min(r.lo, FloatOf(s).lo), std::max(r.hi, FloatOf(s).hi)};
  if (n->op == Op::kPad && !(std::isinf(r.lo) && std::isinf(r.hi))) {
    r = {std::min(r.lo, 0.0), std::max(r.hi, 0.0)};
  }
  return r;
}

}  // namespace

namespace internal {

const Facts& ComputeBounds(Graph& g, Ref root) {
  ComputeBottomUp(root, Facts::kHaveBounds, Needs, [&g](Ref n) {
    Facts* f = g.MutableFacts(n);
    if (dtype::IsFloat(n->dtype)) {
      f->float_bounds = FloatRange(n);
    } else {
      Interval i = IntegerBounds(n);
      // Only where dtypes do not match, as the specs demand.
      if (i.bounds.lo > i.bounds.hi || (n->dtype == DType::kBool && !Fits(i.bounds, n->dtype))) {
        i = Any(n->dtype);
      }
      f->bounds = i.bounds;
      f->bounds_modular = i.modular;
    }
    f->have |= Facts::kHaveBounds;
    return true;
  });
  KILN_DCHECK(root->facts != nullptr);
  return *root->facts;
}

}  // namespace internal

bool BoundsHold(Graph& g, Ref n) {
  BoundsOf(g, n);
  return Of(n).holds;
}

Bounds SafeBoundsOf(Graph& g, Ref n) {
  const Bounds full = FullBounds(n->dtype);
  if (!BoundsHold(g, n)) return full;
  // They hold, too, where they say no more than the dtype does.
  const Bounds& b = BoundsOf(g, n);
  return {std::max(b.lo, full.lo), std::min(b.hi, full.hi)};
}

}  // namespace kiln::uop
