// Conditions of rules: integer arithmetic and comparisons over bound constants and bounds, in exact
// integers.
#pragma once

#include "core/rewrite/any_op_pattern.h"

namespace kiln::rewrite {

struct ConditionBase {};
template <typename T>
concept Condition = std::derived_from<T, ConditionBase>;

namespace internal {
template <typename A, typename B>
void PrintInfix(const A& a, std::string_view infix, const B& b, std::string& out) {
  out += '(';
  a.Print(out);
  out += infix;
  b.Print(out);
  out += ')';
}
}  // namespace internal

// The relations that only conditions have: the IR spells them with < and !=.
enum class Relation { kLe, kGt, kGe };

template <Relation R, typename A, typename B>
struct Compare : ConditionBase {
  A a;
  B b;
  constexpr Compare(A left, B right) : a(left), b(right) {}
  static constexpr uint64_t kBinds = A::kBinds | B::kBinds;
  KILN_ALWAYS_INLINE bool Holds(Graph& g, const BoundNodes& n) const {
    const Num x = a.Eval(g, n), y = b.Eval(g, n);
    if (!x.ok || !y.ok) return false;
    switch (R) {
      case Relation::kLe:
        return x.v <= y.v;
      case Relation::kGt:
        return x.v > y.v;
      case Relation::kGe:
        return x.v >= y.v;
    }
    return false;
  }
  void Print(std::string& out) const {
    constexpr std::string_view kText[] = {" <= ", " > ", " >= "};
    internal::PrintInfix(a, kText[static_cast<int>(R)], b, out);
  }
};

// A number that is not 0; in practice a relation that the IR has too: c0 != 0, vmax(i) < c0.
template <typename P>
struct IsTrue : ConditionBase {
  P p;
  constexpr explicit IsTrue(P pattern) : p(pattern) {}
  static constexpr uint64_t kBinds = P::kBinds;
  KILN_ALWAYS_INLINE bool Holds(Graph& g, const BoundNodes& n) const {
    const Num x = p.Eval(g, n);
    return x.ok && x.v != 0;
  }
  void Print(std::string& out) const { p.Print(out); }
};

template <typename A, typename B>
struct Both : ConditionBase {
  A a;
  B b;
  constexpr Both(A left, B right) : a(left), b(right) {}
  static constexpr uint64_t kBinds = A::kBinds | B::kBinds;
  KILN_ALWAYS_INLINE bool Holds(Graph& g, const BoundNodes& n) const {
    return a.Holds(g, n) && b.Holds(g, n);
  }
  void Print(std::string& out) const { internal::PrintInfix(a, " && ", b, out); }
};
template <typename A, typename B>
struct Either : ConditionBase {
  A a;
  B b;
  constexpr Either(A left, B right) : a(left), b(right) {}
  static constexpr uint64_t kBinds = A::kBinds | B::kBinds;
  KILN_ALWAYS_INLINE bool Holds(Graph& g, const BoundNodes& n) const {
    return a.Holds(g, n) || b.Holds(g, n);
  }
  void Print(std::string& out) const { internal::PrintInfix(a, " || ", b, out); }
};
struct Always : ConditionBase {
  static constexpr uint64_t kBinds = 0;
  static bool Holds(Graph&, const BoundNodes&) { return true; }
};

// A named test of one bound node: fits(x).
template <bool (*Test)(Graph&, Ref), typename V>
struct TestOf : ConditionBase {
  static constexpr uint64_t kBinds = V::kBinds;
  KILN_ALWAYS_INLINE bool Holds(Graph& g, const BoundNodes& n) const {
    return Test(g, n.slot[V::kSlot]);
  }
  void Print(std::string& out) const {
    out += "test(";
    V::Print(out);
    out += ')';
  }
};
// For rule files to name their own tests: constexpr auto is_place(auto v) { return
// test<&IsPlace>(v); }
template <bool (*Test)(Graph&, Ref), typename V>
constexpr auto test(V) {
  return TestOf<Test, V>{};
}

// The least and greatest value of what a letter is bound to, wraparound included. No value (the
// rule does not fire) for floats.
template <bool kMax, typename V>
struct BoundOf : PatternBase {
  static constexpr uint64_t kBinds = V::kBinds;
  static constexpr OpSet kOps{};  // Matches nothing: for conditions only.
  KILN_ALWAYS_INLINE Num Eval(Graph& g, const BoundNodes& b) const {
    Ref n = b.slot[V::kSlot];
    if (dtype::IsFloat(n->dtype) || n->dtype == DType::kVoid) return {0, false};
    const Bounds bounds = n->dtype == DType::kIndex ? BoundsOf(g, n) : uop::SafeBoundsOf(g, n);
    return {kMax ? bounds.hi : bounds.lo, true};
  }
  void Print(std::string& out) const {
    out += kMax ? "vmax(" : "vmin(";
    V::Print(out);
    out += ')';
  }
};
template <char N, bool (*A)(DType)>
constexpr auto vmin(Letter<N, A>) {
  return BoundOf<false, Letter<N, A>>{};
}
template <char N, bool (*A)(DType)>
constexpr auto vmax(Letter<N, A>) {
  return BoundOf<true, Letter<N, A>>{};
}

template <typename T>
constexpr auto AsCondition(T t) {
  if constexpr (Condition<T>) {
    return t;
  } else {
    return IsTrue<T>(t);
  }
}
template <typename T>
concept ConditionOperand = Condition<T> || Pattern<T>;

template <ConditionOperand A, ConditionOperand B>
constexpr auto operator&&(A a, B b) {
  return Both<decltype(AsCondition(a)), decltype(AsCondition(b))>(AsCondition(a), AsCondition(b));
}
template <ConditionOperand A, ConditionOperand B>
constexpr auto operator||(A a, B b) {
  return Either<decltype(AsCondition(a)), decltype(AsCondition(b))>(AsCondition(a), AsCondition(b));
}

#define KILN_RELATION(symbol, relation)                               \
  template <Operand A, Operand B>                                     \
    requires(Pattern<A> || Pattern<B>)                                \
  constexpr auto operator symbol(A a, B b) {                          \
    return Compare<relation, Lifted<A>, Lifted<B>>(Lift(a), Lift(b)); \
  }
KILN_RELATION(<=, Relation::kLe)
KILN_RELATION(>, Relation::kGt)
KILN_RELATION(>=, Relation::kGe)
#undef KILN_RELATION

}  // namespace kiln::rewrite
