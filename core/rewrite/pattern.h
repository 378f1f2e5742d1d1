// The pattern language: algebra as C++ types. See core/rewrite/README.md for how rules are written.
//
// A pattern is a value whose type spells an expression; matching is inlined code, with backtracking
// on the call stack: each pattern calls `next` once it matches, and tries its other operand order
// when `next` says no.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/dtype/alu.h"
#include "core/dtype/cast.h"
#include "core/rewrite/bindings.h"

#define KILN_ALWAYS_INLINE [[gnu::always_inline]] inline
#define KILN_LAMBDA_INLINE __attribute__((always_inline))

namespace kiln::rewrite {

// A set of ops.
struct OpSet {
  uint64_t word[2] = {0, 0};
  static constexpr OpSet Of(Op op) {
    OpSet s;
    s.word[static_cast<int>(op) / 64] = uint64_t{1} << (static_cast<int>(op) % 64);
    return s;
  }
  static constexpr OpSet All() { return {{~uint64_t{0}, ~uint64_t{0}}}; }
  constexpr bool Has(Op op) const {
    return (word[static_cast<int>(op) / 64] >> (static_cast<int>(op) % 64) & 1) != 0;
  }
  friend constexpr OpSet operator|(OpSet a, OpSet b) {
    return {{a.word[0] | b.word[0], a.word[1] | b.word[1]}};
  }
};
static_assert(uop::kNumOps <= 128);

// A number in a condition. Not ok: no value (a float constant, an overflow, a division by zero,
// arithmetic on "no bound"), and the rule does not fire.
struct Num {
  Int128 v = 0;
  bool ok = true;
};

// How large a side of a rule is; the order in which rules shrink expressions. Compared from the
// first to the last: fewer operations, then fewer letters (x + x -> x * 2), then constants nearer
// to the root ((x + c0) + y -> (x + y) + c0).
struct PatternSize {
  int operations = 0, letters = 0, constant_depth = 0;
  friend constexpr auto operator<=>(PatternSize, PatternSize) = default;
  friend constexpr PatternSize operator+(PatternSize a, PatternSize b) {
    return {a.operations + b.operations, a.letters + b.letters,
            a.constant_depth + b.constant_depth};
  }
};
enum class Side { kLeft, kRight };

// Every pattern has:
//   kBinds      letters it binds, one bit per slot
//   kOps        ops that its root may have
//   kIsOp       the root is an operation, not a bare letter
//   kIsConst    matches constants only
//   kFoldable   has a value once its constants are known: built as that constant
//   kTyped      its dtype follows from its letters (TypeOf)
//   kCanonical  spelled as Make builds it
//   kLiterals   has numbers in it, so that patterns of one type may differ
//   Size(side, depth)
// and those that may stand on the right side: Build(g, bound, dtype if it does not follow).
struct PatternBase {
  static constexpr uint64_t kBinds = 0;
  static constexpr bool kIsOp = false, kIsConst = false, kFoldable = false, kTyped = false;
  static constexpr bool kCanonical = true, kLiterals = false;
  static constexpr PatternSize Size(Side, int) { return {}; }
  static DType TypeOf(const BoundNodes&) { return DType::kVoid; }
};
template <typename T>
concept Pattern = std::derived_from<T, PatternBase>;

// The bit that a source matched by P must have set in its user's src_filter; 0 if P's root may be
// several ops.
template <Pattern P>
constexpr uint64_t SourceFilter() {
  if (std::popcount(P::kOps.word[0]) + std::popcount(P::kOps.word[1]) != 1) return 0;
  for (int i = 0; i < uop::kNumOps; ++i) {
    if (P::kOps.Has(static_cast<Op>(i))) return uop::FilterBit(static_cast<Op>(i));
  }
  return 0;
}

// ** letters **

constexpr bool AcceptsAny(DType) { return true; }
constexpr bool AcceptsBool(DType d) { return d == DType::kBool; }
constexpr bool AcceptsIndex(DType d) { return d == DType::kIndex; }
constexpr bool AcceptsFloat(DType d) { return dtype::IsFloat(d); }
constexpr bool AcceptsNonFloat(DType d) { return !dtype::IsFloat(d); }

template <char Name, bool (*Accepts)(DType) = AcceptsAny>
struct Letter : PatternBase {
  static constexpr int kSlot = Name - 'a';
  static constexpr uint64_t kBinds = uint64_t{1} << kSlot;
  static constexpr OpSet kOps = OpSet::All();
  static constexpr bool kTyped = true;
  static constexpr PatternSize Size(Side, int) { return {.letters = 1}; }
  static DType TypeOf(const BoundNodes& b) { return b.slot[kSlot]->dtype; }

  template <uint64_t Bound, typename Next>
  KILN_ALWAYS_INLINE bool Try(Ref n, BoundNodes& b, Next&& next) const {
    if constexpr ((Bound & kBinds) != 0) {
      return b.slot[kSlot] == n && next.template operator()<Bound>();
    } else {
      if (!Accepts(n->dtype)) return false;
      b.slot[kSlot] = n;
      return next.template operator()<(Bound | kBinds)>();
    }
  }
  KILN_ALWAYS_INLINE Ref Build(Graph&, const BoundNodes& b, DType) const { return b.slot[kSlot]; }
  static void Print(std::string& out) { out += Name; }
  template <uint64_t Bound>
  Ref Instance(Graph& g, InstanceSource& source, BoundNodes& b, DType d) const {
    if constexpr ((Bound & kBinds) == 0) {
      if (d == DType::kVoid || !Accepts(d)) d = source.PickDType(Accepts);
      b.slot[kSlot] = source.Leaf(g, d);
    }
    return b.slot[kSlot];
  }
};

// A constant of any dtype. Two different letters may be the same constant.
template <int I>
struct ConstLetter : PatternBase {
  static constexpr int kSlot = 26 + I;
  static constexpr uint64_t kBinds = uint64_t{1} << kSlot;
  static constexpr OpSet kOps = OpSet::Of(Op::kConst);
  static constexpr bool kFoldable = true, kIsConst = true, kTyped = true;
  static constexpr PatternSize Size(Side, int depth) { return {.constant_depth = depth}; }
  static DType TypeOf(const BoundNodes& b) { return b.slot[kSlot]->dtype; }

  template <uint64_t Bound, typename Next>
  KILN_ALWAYS_INLINE bool Try(Ref n, BoundNodes& b, Next&& next) const {
    if (n->op != Op::kConst) return false;
    if constexpr ((Bound & kBinds) != 0) {
      return b.slot[kSlot] == n && next.template operator()<Bound>();
    } else {
      b.slot[kSlot] = n;
      return next.template operator()<(Bound | kBinds)>();
    }
  }
  KILN_ALWAYS_INLINE Ref Build(Graph&, const BoundNodes& b, DType) const { return b.slot[kSlot]; }
  std::optional<Scalar> Fold(const BoundNodes& b, DType) const {
    return b.slot[kSlot]->arg.scalar();
  }
  KILN_ALWAYS_INLINE Num Eval(Graph&, const BoundNodes& b) const {
    Ref n = b.slot[kSlot];
    if (dtype::IsFloat(n->dtype)) return {0, false};
    return {n->arg.scalar().AsWide(n->dtype), true};
  }
  static void Print(std::string& out) { absl::StrAppend(&out, "c", I); }
  template <uint64_t Bound>
  Ref Instance(Graph& g, InstanceSource& source, BoundNodes& b, DType d) const {
    if constexpr ((Bound & kBinds) == 0) {
      b.slot[kSlot] = source.Constant(g, d == DType::kVoid ? source.PickDType(AcceptsAny) : d);
    }
    return b.slot[kSlot];
  }
};

// A number written in a rule: the constant of that value in whatever dtype stands there. An integer
// wraps: -1 of an unsigned type is its largest value. A float type rounds it; 0 is +0.0 only.
template <typename T>
struct NumberPattern : PatternBase {
  T v;
  constexpr explicit NumberPattern(T value) : v(value) {}
  static constexpr OpSet kOps = OpSet::Of(Op::kConst);
  static constexpr bool kFoldable = true, kIsConst = true, kLiterals = true;
  static constexpr bool kIsFloat = std::floating_point<T>;
  static constexpr PatternSize Size(Side, int depth) { return {.constant_depth = depth}; }

  Scalar In(DType d) const {
    KILN_DCHECK(d != DType::kVoid);
    if (dtype::IsFloat(d)) return Scalar::Float(dtype::RoundToFloat(static_cast<double>(v), d));
    if constexpr (kIsFloat)
      return {};  // Never asked: see Try and Fold.
    else
      return *dtype::WrapInteger(v, d);
  }
  template <uint64_t Bound, typename Next>
  KILN_ALWAYS_INLINE bool Try(Ref n, BoundNodes&, Next&& next) const {
    return n->op == Op::kConst && Is(n) && next.template operator()<Bound>();
  }
  Ref Build(Graph& g, const BoundNodes& b, DType d) const {
    const std::optional<Scalar> value = Fold(b, d);
    return value.has_value() ? g.Const(d, *value) : nullptr;
  }
  std::optional<Scalar> Fold(const BoundNodes&, DType d) const {
    if (kIsFloat && !dtype::IsFloat(d)) return std::nullopt;
    return In(d);
  }
  KILN_ALWAYS_INLINE Num Eval(Graph&, const BoundNodes&) const
    requires(!kIsFloat)
  {
    return {v, true};
  }
  void Print(std::string& out) const { absl::StrAppend(&out, v); }
  template <uint64_t Bound>
  Ref Instance(Graph& g, InstanceSource& source, BoundNodes& b, DType d) const {
    if (d == DType::kVoid) d = source.PickDType(kIsFloat ? AcceptsFloat : AcceptsAny);
    return Build(g, b, d);
  }

 private:
  bool Is(Ref n) const {
    if (dtype::IsFloat(n->dtype)) return n->arg.scalar() == In(n->dtype);
    if (kIsFloat) return false;
    // Zero and one are themselves in every type that is not a float.
    if (v == 0 || v == 1) return n->arg.integer() == static_cast<int64_t>(v);
    return n->arg.scalar() == In(n->dtype);
  }
};
using Literal = NumberPattern<int64_t>;
using FloatLiteral = NumberPattern<double>;

// What stands where a rule may write a number.
constexpr Literal Lift(std::integral auto v) { return Literal(v); }
constexpr FloatLiteral Lift(std::floating_point auto v) { return FloatLiteral(v); }
template <Pattern T>
constexpr T Lift(T t) {
  return t;
}
template <typename T>
concept Operand = Pattern<T> || std::integral<T> || std::floating_point<T>;
template <typename T>
using Lifted = decltype(Lift(std::declval<T>()));

// The remaining sources, whatever they are. Last in op<...>(...).
struct Rest : PatternBase {
  static constexpr OpSet kOps = OpSet::All();
  static void Print(std::string& out) { out += "..."; }
};

// The remaining sources, each of which matches P. Letters of P that nothing else binds may differ
// from source to source and are not bound afterwards. Last in op<...>(...).
template <Pattern P>
struct Every : PatternBase {
  P p;
  constexpr explicit Every(P pattern) : p(pattern) {}
  static constexpr OpSet kOps = OpSet::All();
  static constexpr bool kCanonical = P::kCanonical, kLiterals = P::kLiterals;
  static constexpr PatternSize Size(Side side, int depth) { return P::Size(side, depth); }
  void Print(std::string& out) const {
    p.Print(out);
    out += "...";
  }
};
template <typename T>
inline constexpr bool kIsRest = std::same_as<T, Rest>;
template <typename T>
inline constexpr bool kIsEvery = false;
template <typename P>
inline constexpr bool kIsEvery<Every<P>> = true;

}  // namespace kiln::rewrite
