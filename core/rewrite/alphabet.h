// The letters and operators that rules are written in.
//
//   using namespace alphabet;
//   rule((x * c0) * c1, x * (c0 * c1))
//   rule(i % c0, i).when(vmin(i) >= 0 && vmax(i) < c0)
//   rule(op<Op::kSink>(every(x)), DropDeadEffects)
#pragma once

#include "core/rewrite/condition.h"

namespace kiln::rewrite {

#define KILN_BINARY(symbol, o)                                     \
  template <Operand A, Operand B>                                  \
    requires(Pattern<A> || Pattern<B>)                             \
  constexpr auto operator symbol(A a, B b) {                       \
    return NodePattern<o, Lifted<A>, Lifted<B>>(Lift(a), Lift(b)); \
  }
KILN_BINARY(+, Op::kAdd)
KILN_BINARY(-, Op::kSub)
KILN_BINARY(*, Op::kMul)
KILN_BINARY(/, Op::kIDiv)
KILN_BINARY(%, Op::kMod)
KILN_BINARY(<, Op::kCmpLt)
KILN_BINARY(!=, Op::kCmpNe)
KILN_BINARY(==, Op::kCmpEq)
KILN_BINARY(&, Op::kAnd)
KILN_BINARY(|, Op::kOr)
KILN_BINARY(^, Op::kXor)
KILN_BINARY(<<, Op::kShl)
KILN_BINARY(>>, Op::kShr)
#undef KILN_BINARY

namespace alphabet {

// Anything.
inline constexpr Letter<'x'> x;
inline constexpr Letter<'y'> y;
inline constexpr Letter<'z'> z;
inline constexpr Letter<'w'> w;
// Booleans.
inline constexpr Letter<'p', AcceptsBool> p;
inline constexpr Letter<'q', AcceptsBool> q;
// Dtype index.
inline constexpr Letter<'i', AcceptsIndex> i;
inline constexpr Letter<'j', AcceptsIndex> j;
inline constexpr Letter<'k', AcceptsIndex> k;
// Floats.
inline constexpr Letter<'f', AcceptsFloat> f;
inline constexpr Letter<'h', AcceptsFloat> h;
// Anything but floats.
inline constexpr Letter<'m', AcceptsNonFloat> m;
inline constexpr Letter<'n', AcceptsNonFloat> n;
// Constants.
inline constexpr ConstLetter<0> c0;
inline constexpr ConstLetter<1> c1;
inline constexpr ConstLetter<2> c2;
inline constexpr ConstLetter<3> c3;

// An operation by its name; exactly these sources, unless the last is `rest` or `every(...)`.
template <Op O, Operand... Ps>
constexpr auto op(Ps... ps) {
  return NodePattern<O, Lifted<Ps>...>(Lift(ps)...);
}
template <Op O>
constexpr auto op(Rest r) {
  return NodePattern<O, Rest>(r);
}
template <Op O, typename P>
constexpr auto op(Every<P> e) {
  return NodePattern<O, Every<P>>(e);
}
inline constexpr Rest rest;
template <Pattern P>
constexpr Every<P> every(P pattern) {
  return Every<P>(pattern);
}
// Any of several ops.
template <Op... Os, Operand... Ps>
constexpr auto any_of(Ps... ps) {
  return AnyOpPattern<(OpSet{} | ... | OpSet::Of(Os)), Lifted<Ps>...>(Lift(ps)...);
}
// A node that matches `pattern`, called `letter` on the right: named(z, x + y).
template <Pattern V, Pattern P>
constexpr auto named(V, P pattern) {
  return NamedPattern<V, P>(pattern);
}

template <Operand C, Operand A, Operand B>
constexpr auto where(C condition, A a, B b) {
  return op<Op::kWhere>(condition, a, b);
}
template <Operand A, Operand B>
constexpr auto max(A a, B b) {
  return op<Op::kMax>(a, b);
}
template <Operand A, Operand B>
constexpr auto pow(A a, B b) {
  return op<Op::kPow>(a, b);
}
template <Pattern A>
constexpr auto cast(A a) {
  return op<Op::kCast>(a);
}
template <Pattern A>
constexpr auto bitcast(A a) {
  return op<Op::kBitcast>(a);
}
template <Pattern A>
constexpr auto neg(A a) {
  return op<Op::kNeg>(a);
}
template <Pattern A>
constexpr auto recip(A a) {
  return op<Op::kRecip>(a);
}
template <Pattern A>
constexpr auto sqrt(A a) {
  return op<Op::kSqrt>(a);
}
template <Pattern A>
constexpr auto exp2(A a) {
  return op<Op::kExp2>(a);
}
template <Pattern A>
constexpr auto log2(A a) {
  return op<Op::kLog2>(a);
}
template <Pattern A>
constexpr auto trunc(A a) {
  return op<Op::kTrunc>(a);
}
// The IR's spelling of "not".
template <Pattern A>
constexpr auto not_(A a) {
  return a != true;
}

}  // namespace alphabet
}  // namespace kiln::rewrite
