#include "core/uop/arg.h"

#include <cmath>

#include "core/dtype/cast.h"

namespace kiln::uop {
namespace {

bool IsCanonicalInteger(Scalar v, DType d) {
  return d == DType::kIndex || dtype::WrapInteger(v.AsWide(d), d) == v;
}
bool IsCanonicalFloat(Scalar v) { return Scalar::Float(v.AsFloat()) == v; }

bool IsConstant(Scalar v, DType d) {
  if (d == DType::kVoid) return false;
  if (!dtype::IsFloat(d)) return IsCanonicalInteger(v, d);
  return IsCanonicalFloat(v) && (std::isnan(v.AsFloat()) || dtype::Represents(d, v.AsFloat()));
}

// Bounds of a float variable are doubles, whatever its dtype.
bool IsBound(int64_t bits, DType d) {
  const Scalar v = Scalar::Int(bits);
  if (d == DType::kVoid) return false;
  return dtype::IsFloat(d) ? IsCanonicalFloat(v) : IsCanonicalInteger(v, d);
}

bool IsPayload(const Payload& p, Op op, DType d) {
  switch (op) {
    case Op::kVariable:
      return p.ints.size() == 2 && IsBound(p.ints[0], d) && IsBound(p.ints[1], d);
    case Op::kParam:
      return p.ints.size() == 3 && p.ints[2] >= 0 && p.ints[2] < kNumAddressSpaces;
    default:
      return true;
  }
}

}  // namespace

bool IsValidArg(Op op, DType dtype, Arg arg) {
  switch (Info(op).arg) {
    case ArgKind::kNone:
      return arg == Arg();
    case ArgKind::kScalar:
      return IsConstant(arg.scalar(), dtype);
    case ArgKind::kInt:
      return true;
    case ArgKind::kRange:
      return Arg::Of(arg.range()) == arg && static_cast<int>(arg.range().type) < kNumAxisTypes;
    case ArgKind::kReduce: {
      const Op by = arg.reduce().op;
      return Arg::Of(arg.reduce()) == arg && (by == Op::kAdd || by == Op::kMul || by == Op::kMax);
    }
    case ArgKind::kPayload:
      return IsPayload(arg.payload(), op, dtype);
  }
  return false;
}

}  // namespace kiln::uop
