// Patterns of any of several ops, and patterns with a name.
#pragma once

#include "core/rewrite/node_pattern.h"

namespace kiln::rewrite {

// Any of several ops, on sources that match `Ps`, in order; of a commutative one also in the other.
template <OpSet kSet, Pattern... Ps>
struct AnyOpPattern : internal::SourcePatterns<kSet, Ps...> {
  using Base = internal::SourcePatterns<kSet, Ps...>;
  using Base::kN, Base::src;
  explicit constexpr AnyOpPattern(Ps... ps) : Base(ps...) {}

  static constexpr bool AnyCommutes() {
    for (int i = 0; i < uop::kNumOps; ++i) {
      const Op op = static_cast<Op>(i);
      if (kSet.Has(op) && uop::IsCommutative(op)) return true;
    }
    return false;
  }
  static constexpr bool kCanonical =
      !(AnyCommutes() && Base::kConstantFirst) && (Ps::kCanonical && ...);
  static constexpr PatternSize Size(Side side, int depth) {
    return (PatternSize{.operations = 1} + ... + Ps::Size(side, depth + 1));
  }

  template <uint64_t Bound, typename Next>
  KILN_ALWAYS_INLINE bool Try(Ref n, BoundNodes& b, Next&& next) const {
    if (!kSet.Has(n->op) || (n->src_filter & Base::kFilter) != Base::kFilter) return false;
    if (Base::kOpenEnded ? n->num_src < Base::kFixed : n->num_src != kN) return false;
    return Base::template TryOrders < Bound,
           AnyCommutes() && Base::kSwaps > (n, uop::IsCommutative(n->op), b, next);
  }

  void Print(std::string& out) const {
    std::string name;
    for (int i = 0; i < uop::kNumOps; ++i) {
      if (!kSet.Has(static_cast<Op>(i))) continue;
      absl::StrAppend(&name, name.empty() ? "{" : "|", std::string(uop::Name(static_cast<Op>(i))));
    }
    internal::PrintCall(name + "}", src, out);
  }

  // Some node that this pattern matches, for tests. Null for open-ended patterns, and if the op
  // that was picked does not go with them.
  template <uint64_t Bound>
  Ref Instance(Graph& g, InstanceSource& source, BoundNodes& b, DType d) const {
    if constexpr (Base::kOpenEnded) {
      return nullptr;
    } else {
      const Op op = PickOp(source);
      if (uop::Info(op).arg != uop::ArgKind::kNone) return nullptr;
      if (d == DType::kVoid) d = source.PickDType(AcceptsAny);
      std::array<Ref, kN> built;
      const bool ok =
          internal::InstanceSources<Bound, 0>(src, g, source, b, op, d, DType::kVoid, built.data());
      if (!ok) return nullptr;
      if (uop::IsComparison(op)) d = DType::kBool;
      return g.Make(op, d, absl::MakeConstSpan(built.data(), kN));
    }
  }

 private:
  static Op PickOp(InstanceSource& source) {
    int k = source.Pick(std::popcount(kSet.word[0]) + std::popcount(kSet.word[1]));
    int i = 0;
    while (!kSet.Has(static_cast<Op>(i)) || k-- > 0) ++i;
    return static_cast<Op>(i);
  }
};

// A node that matches P, with a name of its own.
template <Pattern V, Pattern P>
struct NamedPattern : PatternBase {
  P p;
  constexpr explicit NamedPattern(P pattern) : p(pattern) {}
  static constexpr uint64_t kBinds = V::kBinds | P::kBinds;
  static_assert((V::kBinds & P::kBinds) == 0, "the name is used inside");
  static constexpr OpSet kOps = P::kOps;
  static constexpr bool kIsOp = P::kIsOp, kIsConst = P::kIsConst, kCanonical = P::kCanonical;
  static constexpr bool kLiterals = P::kLiterals;
  static constexpr PatternSize Size(Side side, int depth) { return P::Size(side, depth); }

  template <uint64_t Bound, typename Next>
  KILN_ALWAYS_INLINE bool Try(Ref n, BoundNodes& b, Next&& next) const {
    return p.template Try<Bound>(
        n, b, [&]<uint64_t B>() KILN_LAMBDA_INLINE { return V{}.template Try<B>(n, b, next); });
  }
  void Print(std::string& out) const {
    V::Print(out);
    out += ':';
    p.Print(out);
  }
  template <uint64_t Bound>
  Ref Instance(Graph& g, InstanceSource& source, BoundNodes& b, DType d) const {
    Ref n = p.template Instance<Bound>(g, source, b, d);
    b.slot[V::kSlot] = n;
    return n;
  }
};

}  // namespace kiln::rewrite
