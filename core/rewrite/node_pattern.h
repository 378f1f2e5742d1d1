// Patterns of operations: a root op with patterns for its sources.
#pragma once

#include "core/rewrite/pattern.h"

namespace kiln::rewrite {

namespace internal {

constexpr std::string_view Infix(Op op) {
  switch (op) {
    case Op::kAdd:
      return " + ";
    case Op::kSub:
      return " - ";
    case Op::kMul:
      return " * ";
    case Op::kIDiv:
      return " / ";
    case Op::kMod:
      return " % ";
    case Op::kCmpLt:
      return " < ";
    case Op::kCmpNe:
      return " != ";
    case Op::kCmpEq:
      return " == ";
    case Op::kAnd:
      return " & ";
    case Op::kOr:
      return " | ";
    case Op::kXor:
      return " ^ ";
    case Op::kShl:
      return " << ";
    case Op::kShr:
      return " >> ";
    default:
      return "";
  }
}

// The dtype of source `i` of an `op` whose own dtype is `d`; void where it does not follow.
constexpr DType SourceDType(Op op, size_t i, DType d) {
  if (uop::IsComparison(op) || op == Op::kCast || op == Op::kBitcast) return DType::kVoid;
  if (op == Op::kWhere && i == 0) return DType::kBool;
  if (op == Op::kIndex && i > 0) return i == 1 ? DType::kIndex : DType::kBool;
  return d;
}

constexpr bool IsInfinite(Num n) { return n.v <= Bounds::kNegInf || n.v >= Bounds::kPosInf; }

// Integer arithmetic of conditions. "No bound" compares, but has no sum or product.
template <Op O>
KILN_ALWAYS_INLINE Num EvalNum(Num a, Num b) {
  constexpr bool kCompares = uop::IsComparison(O) || O == Op::kMax;
  if (!a.ok || !b.ok || (!kCompares && (IsInfinite(a) || IsInfinite(b)))) return {0, false};
  Num r;
  switch (O) {
    case Op::kAdd:
      r.v = a.v + b.v;
      break;
    case Op::kSub:
      r.v = a.v - b.v;
      break;
    case Op::kMul:
      r.ok = !__builtin_mul_overflow(a.v, b.v, &r.v);
      break;
    case Op::kIDiv:
      r.ok = b.v != 0;
      if (r.ok) r.v = a.v / b.v;
      break;
    case Op::kMod:
      r.ok = b.v != 0;
      if (r.ok) r.v = a.v % b.v;
      break;
    case Op::kMax:
      r.v = a.v > b.v ? a.v : b.v;
      break;
    case Op::kCmpLt:
      r.v = a.v < b.v;
      break;
    case Op::kCmpNe:
      r.v = a.v != b.v;
      break;
    case Op::kCmpEq:
      r.v = a.v == b.v;
      break;
    case Op::kAnd:
      r.v = a.v & b.v;
      break;
    case Op::kOr:
      r.v = a.v | b.v;
      break;
    default:
      r.ok = false;
  }
  return r;
}

// Matches s[I], s[I + 1], ... with the I-th and following patterns; then calls `next` with the set
// of letters that are bound.
template <uint64_t Bound, size_t I, typename Patterns, typename Next>
KILN_ALWAYS_INLINE bool TrySources(const Patterns& patterns, const Ref* s, size_t n, BoundNodes& b,
                                   Next&& next) {
  if constexpr (I == std::tuple_size_v<Patterns>) {
    return next.template operator()<Bound>();
  } else {
    using P = std::tuple_element_t<I, Patterns>;
    if constexpr (kIsRest<P>) {
      return next.template operator()<Bound>();
    } else if constexpr (kIsEvery<P>) {
      for (size_t k = I; k < n; ++k) {
        const bool matches = std::get<I>(patterns).p.template Try<Bound>(
            s[k], b, []<uint64_t>() KILN_LAMBDA_INLINE { return true; });
        if (!matches) return false;
      }
      return next.template operator()<Bound>();
    } else {
      return std::get<I>(patterns).template Try<Bound>(
          s[I], b, [&]<uint64_t B>() KILN_LAMBDA_INLINE {
            return TrySources<B, I + 1>(patterns, s, n, b, next);
          });
    }
  }
}

// Instances of the I-th and following patterns as sources of an `op` of dtype `d`. `operand` is the
// dtype of a comparison's operands; void until the first is there.
template <uint64_t Bound, size_t I, typename Patterns>
bool InstanceSources(const Patterns& patterns, Graph& g, InstanceSource& source, BoundNodes& b,
                     Op op, DType d, DType operand, Ref* built) {
  if constexpr (I == std::tuple_size_v<Patterns>) {
    return true;
  } else {
    using P = std::tuple_element_t<I, Patterns>;
    DType want = SourceDType(op, I, d);
    if (uop::IsComparison(op)) {
      if (operand == DType::kVoid) operand = source.PickDType(AcceptsAny);
      want = operand;
    }
    built[I] = std::get<I>(patterns).template Instance<Bound>(g, source, b, want);
    if (built[I] == nullptr) return false;
    if (uop::IsComparison(op)) operand = built[I]->dtype;
    return InstanceSources<(Bound | P::kBinds), I + 1>(patterns, g, source, b, op, d, operand,
                                                       built);
  }
}

template <typename Patterns>
void PrintCall(std::string_view name, const Patterns& patterns, std::string& out) {
  out += name;
  std::string_view separator = "(";
  std::apply([&](const auto&... p) { ((out += separator, separator = ", ", p.Print(out)), ...); },
             patterns);
  out += std::tuple_size_v<Patterns> == 0 ? "()" : ")";
}

// What patterns of one op and of several have in common.
template <OpSet kSet, Pattern... Ps>
struct SourcePatterns : PatternBase {
  static constexpr size_t kN = sizeof...(Ps);
  template <size_t I>
  using Source = std::tuple_element_t<I, std::tuple<Ps...>>;
  template <Pattern P>
  static constexpr bool kIsOpen = kIsRest<P> || kIsEvery<P>;
  static constexpr size_t kNumOpen = (size_t{0} + ... + size_t{kIsOpen<Ps>});
  static constexpr size_t kFixed = kN - kNumOpen;
  static constexpr bool kOpenEnded = kNumOpen > 0;

  std::tuple<Ps...> src;
  constexpr explicit SourcePatterns(Ps... ps) : src(ps...) {}

  static constexpr uint64_t kBinds = (uint64_t{0} | ... | Ps::kBinds);
  static constexpr OpSet kOps = kSet;
  static constexpr bool kIsOp = true;
  static constexpr bool kLiterals = (Ps::kLiterals || ...);
  // What must be among the sources' ops for any match.
  static constexpr uint64_t kFilter = (uint64_t{0} | ... | SourceFilter<Ps>());

  // Two operands that may be anything else need both orders. Make keeps constants on the right;
  // two constants match as they stand.
  static constexpr bool kSymmetric = [] {
    if constexpr (kN == 2) {
      return std::same_as<Source<0>, Source<1>> && !kLiterals;
    }
    return false;
  }();
  static constexpr bool kSwaps = [] {
    if constexpr (kN == 2) {
      return !Source<0>::kIsConst && !Source<1>::kIsConst && !kSymmetric;
    }
    return false;
  }();
  static constexpr bool kConstantFirst = [] {
    if constexpr (kN == 2) return Source<0>::kIsConst && !Source<1>::kIsConst;
    return false;
  }();

  static constexpr bool CheckShape() {
    bool open = false, last = true;
    ((last = last && !open, open = open || kIsOpen<Ps>), ...);
    return last;
  }
  static_assert(CheckShape(), "`rest` and `every` stand for all remaining sources: last");

  template <uint64_t Bound, bool kBothOrders, typename Next>
  KILN_ALWAYS_INLINE bool TryOrders(Ref n, bool swap, BoundNodes& b, Next&& next) const {
    const Ref* s = n->src().data();
    if (TrySources<Bound, 0>(src, s, n->num_src, b, next)) return true;
    if constexpr (kBothOrders) {
      if (!swap) return false;
      const Ref swapped[2] = {s[1], s[0]};
      return TrySources<Bound, 0>(src, swapped, 2, b, next);
    }
    return false;
  }
};

}  // namespace internal

// An operation `O` on sources that match `Ps`, in order; of a commutative one also in the other.
template <Op O, Pattern... Ps>
struct NodePattern : internal::SourcePatterns<OpSet::Of(O), Ps...> {
  using Base = internal::SourcePatterns<OpSet::Of(O), Ps...>;
  using Base::kN, Base::src;
  explicit constexpr NodePattern(Ps... ps) : Base(ps...) {}

  static_assert(Base::kFixed <= static_cast<size_t>(uop::MaxSources(O)),
                "more sources than the op takes");
  static_assert(Base::kOpenEnded || kN >= uop::Info(O).min_src, "fewer sources than the op takes");

  static constexpr bool kCommutes = uop::IsCommutative(O);
  static constexpr bool kCanonical =
      !(kCommutes && Base::kConstantFirst) && (Ps::kCanonical && ...);
  static constexpr bool kIsCast = O == Op::kCast || O == Op::kBitcast;
  static constexpr bool kFoldable = uop::IsAlu(O) && !kIsCast && (Ps::kFoldable && ...);
  static constexpr bool kHasTypedSource = (Ps::kTyped || ...);
  static constexpr bool kTyped =
      uop::IsComparison(O) || uop::IsEffect(O) || (!kIsCast && kHasTypedSource);
  static constexpr PatternSize Size(Side side, int depth) {
    // What folds is built as one constant.
    if (side == Side::kRight && kFoldable) return {.constant_depth = depth};
    return (PatternSize{.operations = 1} + ... + Ps::Size(side, depth + 1));
  }

  template <uint64_t Bound, typename Next>
  KILN_ALWAYS_INLINE bool Try(Ref n, BoundNodes& b, Next&& next) const {
    if (n->op != O) return false;
    if constexpr (Base::kFilter != 0) {
      if ((n->src_filter & Base::kFilter) != Base::kFilter) return false;
    }
    if constexpr (uop::Info(O).min_src != uop::Info(O).max_src) {
      if (Base::kOpenEnded ? n->num_src < Base::kFixed : n->num_src != kN) return false;
    }
    return Base::template TryOrders < Bound, kCommutes && Base::kSwaps > (n, true, b, next);
  }

  // The dtype of what Build makes, from the letters in it. Pre: kTyped.
  static DType TypeOf(const BoundNodes& b) {
    if (uop::IsComparison(O)) return DType::kBool;
    if (uop::IsEffect(O)) return DType::kVoid;
    return SourcesType(b);
  }

  // Null if a constant in it has no value. `d`: the dtype, should it not follow from the letters.
  Ref Build(Graph& g, const BoundNodes& b, DType d) const {
    static_assert(uop::Info(O).arg == uop::ArgKind::kNone,
                  "a function must build what has an argument");
    static_assert(!Base::kOpenEnded, "a function must build what has any number of sources");
    static_assert(kHasTypedSource || !(uop::IsComparison(O) || kIsCast),
                  "no dtype for these operands");
    const DType own = kTyped ? TypeOf(b) : d;
    if constexpr (kFoldable) {
      const std::optional<Scalar> v = Fold(b, d);
      return v.has_value() ? g.Const(own, *v) : nullptr;
    } else {
      const DType operand = uop::IsComparison(O) ? SourcesType(b) : own;
      std::array<Ref, kN> built;
      bool ok = true;
      [&]<size_t... I>(std::index_sequence<I...>) {
        ((ok = ok &&
               (built[I] = std::get<I>(src).Build(g, b, BuiltSourceDType(I, operand))) != nullptr),
         ...);
      }(std::make_index_sequence<kN>{});
      return ok ? g.Make(O, own, absl::MakeConstSpan(built.data(), kN)) : nullptr;
    }
  }

  std::optional<Scalar> Fold(const BoundNodes& b, DType d) const
    requires kFoldable
  {
    const DType operand = kHasTypedSource ? SourcesType(b) : d;
    std::array<Scalar, kN> values;
    bool ok = true;
    const auto fold = [&](const auto& p, size_t i) {
      const std::optional<Scalar> v = p.Fold(b, BuiltSourceDType(i, operand));
      if (v.has_value()) values[i] = *v;
      return v.has_value();
    };
    [&]<size_t... I>(std::index_sequence<I...>) {
      ((ok = ok && fold(std::get<I>(src), I)), ...);
    }(std::make_index_sequence<kN>{});
    if (!ok) return std::nullopt;
    return dtype::EvalAlu(uop::ToAlu(O), operand, absl::MakeConstSpan(values.data(), kN));
  }

  Num Eval(Graph& g, const BoundNodes& b) const
    requires(kN == 2)
  {
    return internal::EvalNum<O>(std::get<0>(src).Eval(g, b), std::get<1>(src).Eval(g, b));
  }

  void Print(std::string& out) const {
    if constexpr (kN == 2 && !internal::Infix(O).empty()) {
      out += '(';
      std::get<0>(src).Print(out);
      out += internal::Infix(O);
      std::get<1>(src).Print(out);
      out += ')';
    } else {
      internal::PrintCall(uop::Name(O), src, out);
    }
  }

  // Some node that this pattern matches, for tests. Null for open-ended patterns.
  template <uint64_t Bound>
  Ref Instance(Graph& g, InstanceSource& source, BoundNodes& b, DType d) const {
    if constexpr (Base::kOpenEnded || uop::Info(O).arg != uop::ArgKind::kNone) {
      return nullptr;
    } else {
      if (d == DType::kVoid) d = source.PickDType(AcceptsAny);
      std::array<Ref, kN> built;
      const bool ok =
          internal::InstanceSources<Bound, 0>(src, g, source, b, O, d, DType::kVoid, built.data());
      if (!ok) return nullptr;
      if (uop::IsComparison(O)) d = DType::kBool;
      return g.Make(O, d, absl::MakeConstSpan(built.data(), kN));
    }
  }

 private:
  // The dtype of the sources that share one: the first that follows from letters. The condition of
  // WHERE is not among them.
  static DType SourcesType(const BoundNodes& b) {
    DType d = DType::kVoid;
    size_t i = 0;
    ((d = d == DType::kVoid && Ps::kTyped &&
                  internal::SourceDType(O, i, DType::kVoid) == DType::kVoid
              ? Ps::TypeOf(b)
              : d,
      ++i),
     ...);
    return d;
  }
  // What a literal is that stands as source `i`.
  static constexpr DType BuiltSourceDType(size_t i, DType operand) {
    return uop::IsComparison(O) ? operand : internal::SourceDType(O, i, operand);
  }
};

}  // namespace kiln::rewrite
