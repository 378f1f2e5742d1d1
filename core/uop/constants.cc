#include "core/uop/constants.h"

#include <limits>

#include "core/dtype/cast.h"

namespace kiln::uop {

Ref ZeroOf(Graph& g, DType dtype) {
  return dtype::IsFloat(dtype) ? g.Const(dtype, Scalar::Float(0)) : g.Int(dtype, 0);
}

Ref ReduceIdentity(Graph& g, Op op, DType dtype) {
  if (op == Op::kAdd) return ZeroOf(g, dtype);
  if (dtype::IsFloat(dtype)) {
    const double lowest = dtype::RoundToFloat(-std::numeric_limits<double>::infinity(), dtype);
    return g.Const(dtype, Scalar::Float(op == Op::kMul ? 1 : lowest));
  }
  return g.Int(dtype, op == Op::kMul ? 1 : static_cast<int64_t>(dtype::MinValue(dtype)));
}

}  // namespace kiln::uop
