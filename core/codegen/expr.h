// Arithmetic on nodes as C++ operators, for algorithms that build graphs.
//
//   Expr e(g, x);
//   return Select(e < 0, -e, e * 2 + 1).ref();
#pragma once

#include <concepts>
#include <cstdint>

#include "core/dtype/cast.h"
#include "core/uop/graph.h"

namespace kiln::codegen {

template <typename T>
concept Number = std::integral<T> || std::floating_point<T>;

// A node and its graph. Immutable; borrowed from the graph.
class Expr {
 public:
  Expr(Graph& g, Ref n) : graph_(&g), node_(n) {}

  Ref ref() const { return node_; }
  Graph& graph() const { return *graph_; }
  DType dtype() const { return node_->dtype; }

  // A constant of this expression's dtype: rounded to it if that is a float, wrapped if it is an
  // integer.
  template <Number T>
  Expr Const(T v) const {
    return Const(dtype(), v);
  }
  template <Number T>
  Expr Const(DType d, T v) const {
    if (dtype::IsFloat(d)) {
      return {*graph_, graph_->Const(d, Scalar::Float(dtype::RoundToFloat(double(v), d)))};
    }
    return {*graph_, graph_->Int(d, static_cast<int64_t>(v))};
  }

  // CAST and BITCAST.
  Expr As(DType d) const { return {*graph_, d == dtype() ? node_ : graph_->Cast(node_, d)}; }
  Expr Bits(DType d) const { return {*graph_, graph_->Make(Op::kBitcast, d, {node_})}; }

  Expr Binary(Op op, Expr y) const { return {*graph_, graph_->Binary(op, node_, y.node_)}; }

  // x * -1; of a constant, the constant.
  Expr operator-() const;
  Expr operator!() const { return {*graph_, graph_->Not(node_)}; }

 private:
  Graph* graph_;
  Ref node_;
};

inline Expr Expr::operator-() const {
  if (!node_->IsConst()) return {*graph_, graph_->Neg(node_)};
  if (dtype::IsFloat(dtype())) return Const(-node_->arg.scalar().AsFloat());
  return Const(static_cast<int64_t>(0 - node_->arg.bits()));
}

// The operators of the IR; of `/`, FDIV on floats and IDIV on integers.
#define KILN_EXPR_OPERATOR(symbol, op)                                    \
  inline Expr operator symbol(Expr x, Expr y) { return x.Binary(op, y); } \
  template <Number T>                                                     \
  Expr operator symbol(Expr x, T y) {                                     \
    return x.Binary(op, x.Const(y));                                      \
  }                                                                       \
  template <Number T>                                                     \
  Expr operator symbol(T a, Expr y) {                                     \
    const Expr x = y.Const(a);                                            \
    return x.Binary(op, y);                                               \
  }
KILN_EXPR_OPERATOR(+, Op::kAdd)
KILN_EXPR_OPERATOR(*, Op::kMul)
KILN_EXPR_OPERATOR(/, dtype::IsFloat(x.dtype()) ? Op::kFDiv : Op::kIDiv)
KILN_EXPR_OPERATOR(&, Op::kAnd)
KILN_EXPR_OPERATOR(|, Op::kOr)
KILN_EXPR_OPERATOR(^, Op::kXor)
KILN_EXPR_OPERATOR(<<, Op::kShl)
KILN_EXPR_OPERATOR(>>, Op::kShr)
KILN_EXPR_OPERATOR(<, Op::kCmpLt)
KILN_EXPR_OPERATOR(!=, Op::kCmpNe)
#undef KILN_EXPR_OPERATOR

// There is no subtraction in canonical graphs: x - y is x + y * -1, which is exact for floats too.
inline Expr operator-(Expr x, Expr y) { return x + -y; }
template <Number T>
Expr operator-(Expr x, T y) {
  return x + -x.Const(y);
}
template <Number T>
Expr operator-(T x, Expr y) {
  return y.Const(x) + -y;
}

// True where both are equal; false with a NaN.
inline Expr Equal(Expr x, Expr y) { return !(x != y); }
template <Number T>
Expr Equal(Expr x, T y) {
  return Equal(x, x.Const(y));
}

inline Expr Select(Expr condition, Expr x, Expr y) {
  return {x.graph(), x.graph().Where(condition.ref(), x.ref(), y.ref())};
}
template <Number T>
Expr Select(Expr condition, Expr x, T y) {
  return Select(condition, x, x.Const(y));
}
template <Number T>
Expr Select(Expr condition, T x, Expr y) {
  return Select(condition, y.Const(x), y);
}

}  // namespace kiln::codegen
