// Derivatives of elementwise ops, written in the language of rewrite rules.
//
//   constexpr auto kProducts = derivatives(
//       derivative(x * y, d * y, d * x));   // What goes to x, what goes to y.
//
// `v` is the node itself and `d` its adjoint. Numbers, `v`, `d` and the sources are of one dtype and
// shape (but for conditions); right sides are built by Terms, and only those that are asked for.
#pragma once

#include <tuple>
#include <type_traits>
#include <utility>

#include "core/rewrite/alphabet.h"
#include "core/tensor/gradient/terms.h"

namespace kiln::tensor::internal {

// In place of a right side: no gradient goes there.
struct NoGradient {};

template <rewrite::Pattern L, typename... Rs>
struct Derivative {
  L left;
  std::tuple<Rs...> right;  // One per source.
};

template <typename R>
constexpr auto LiftSide(R side) {
  if constexpr (std::is_same_v<R, NoGradient>) {
    return side;
  } else {
    return rewrite::Lift(side);
  }
}

template <rewrite::Pattern L, typename... Rs>
constexpr auto derivative(L left, Rs... right) {
  static_assert(L::kIsOp && L::kN == sizeof...(Rs), "one right side for each source of an op");
  return Derivative<L, decltype(LiftSide(right))...>{left, {LiftSide(right)...}};
}

template <typename... Ds>
constexpr auto derivatives(Ds... ds) {
  return std::tuple<Ds...>(ds...);
}

// Builds a right side. Confined to one call.
class SideBuilder {
 public:
  SideBuilder(Terms& terms, const rewrite::BoundNodes& bound, Ref v)
      : terms_(terms), bound_(bound), v_(v) {}

  Ref operator()(NoGradient) { return nullptr; }
  template <char Name, bool (*Accepts)(DType)>
  Ref operator()(const rewrite::Letter<Name, Accepts>&) {
    return bound_.slot[rewrite::Letter<Name, Accepts>::kSlot];
  }
  template <typename T>
  Ref operator()(const rewrite::NumberPattern<T>& number) {
    return terms_.Uniform(v_->dtype, static_cast<double>(number.v), terms_.Shape(v_));
  }
  template <Op O, typename... Ps>
  Ref operator()(const rewrite::NodePattern<O, Ps...>& pattern) {
    std::array<Ref, sizeof...(Ps)> src;
    size_t i = 0;
    std::apply([&](const auto&... p) { ((src[i++] = (*this)(p)), ...); }, pattern.src);
    return terms_.Alu(O, src);
  }

 private:
  Terms& terms_;
  const rewrite::BoundNodes& bound_;
  Ref v_;
};

// What goes to source `i` of `v`, whose adjoint is `d`: null if nothing does, or if the list has no
// derivative of its op.
template <typename... Ds>
Ref ApplyDerivatives(const std::tuple<Ds...>& list, Terms& terms, Ref v, int i, Ref d) {
  Ref result = nullptr;
  const auto try_one = [&](const auto& one) {
    rewrite::BoundNodes bound;
    return one.left.template Try<0>(v, bound, [&]<uint64_t>() {
      bound.slot['v' - 'a'] = v;
      bound.slot['d' - 'a'] = d;
      SideBuilder build(terms, bound, v);
      int at = 0;
      std::apply(
          [&](const auto&... side) { ((at++ == i ? void(result = build(side)) : void()), ...); },
          one.right);
      return true;
    });
  };
  std::apply([&](const auto&... one) { (void)(try_one(one) || ...); }, list);
  return result;
}

}  // namespace kiln::tensor::internal
