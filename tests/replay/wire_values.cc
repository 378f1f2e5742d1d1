#include "tests/replay/wire_values.h"

#include <cmath>
#include <limits>

#include "core/dtype/cast.h"

namespace kiln::replay {
namespace {

using dtype::AluOp;

// Integers wrap to their type; on bool that is x != 0.
Scalar Wrapped(Int128 v, DType d) { return *dtype::WrapInteger(v, d); }

std::vector<Scalar> DivisionByZero(AluOp op, absl::Span<const Scalar> inputs) {
  if (op == AluOp::kIDiv) return {Scalar::Int(0)};
  return {inputs[0]};
}

// SHL out of range gives 0; SHR then 0, or all sign bits for signed types.
std::vector<Scalar> ShiftOutOfRange(AluOp op, DType d, absl::Span<const Scalar> inputs) {
  const bool sign_bits = op == AluOp::kShr && inputs[0].AsWide(d) < 0;
  return {Scalar::Int(sign_bits ? -1 : 0)};
}

// Truncates and saturates; NaN gives 0.
std::vector<Scalar> SaturatingCast(double v, DType out) {
  if (std::isnan(v)) return {Scalar::Int(0)};
  const Int128 lowest = dtype::MinValue(out), highest = dtype::MaxValue(out);
  if (v >= 0x1p64) return {Wrapped(highest, out)};
  if (v <= -0x1p64) return {Wrapped(lowest, out)};
  const Int128 whole = static_cast<Int128>(v);
  return {Wrapped(whole < lowest ? lowest : whole > highest ? highest : whole, out)};
}

// a * b + c rounded once. In types narrower than float64 the product is exact in double; when the
// sum is not, the next double on the side of the error rounds as the exact sum does.
Scalar FusedMultiplyAdd(double a, double b, double c, DType d) {
  if (d == DType::kFloat64) return Scalar::Float(std::fma(a, b, c));
  const double product = a * b, sum = product + c;
  const double larger = std::fabs(product) > std::fabs(c) ? product : c;
  const double smaller = std::fabs(product) > std::fabs(c) ? c : product;
  const double error =
      smaller - (sum - larger);  // Dekker's Fast2Sum. NaN if something is infinite.
  const double toward = error > 0   ? std::numeric_limits<double>::infinity()
                        : error < 0 ? -std::numeric_limits<double>::infinity()
                                    : sum;
  return Scalar::Float(dtype::RoundToFloat(std::nextafter(sum, toward), d));
}

}  // namespace

std::vector<Scalar> WireValues(const std::string& why, AluOp op, DType src, DType out,
                               absl::Span<const Scalar> inputs) {
  const bool is_int = dtype::IsInteger(out), is_float = dtype::IsFloat(out);
  const bool is_division = op == AluOp::kIDiv || op == AluOp::kMod;
  if (why == "div_by_zero" && is_int && is_division) return DivisionByZero(op, inputs);
  if (why == "int_min_by_minus_one" && dtype::IsFixedWidthInteger(out) && is_division) {
    return {op == AluOp::kMod ? Scalar::Int(0) : Wrapped(-inputs[0].AsWide(src), out)};
  }
  if (why == "shift_out_of_range" && is_int && (op == AluOp::kShl || op == AluOp::kShr)) {
    return ShiftOutOfRange(op, src, inputs);
  }
  if (why == "max_nan" && is_float) {
    return {Scalar::Float(std::numeric_limits<double>::quiet_NaN())};
  }
  if (why == "max_signed_zero" && is_float) return {Scalar::Float(0.0), Scalar::Float(-0.0)};
  if (why == "sign_of_zero" && op == AluOp::kTrunc && is_float) return {Scalar::Float(-0.0)};
  if (why == "raises" && op == AluOp::kTrunc && is_float) return {inputs[0]};
  if (why == "mulacc_rounding" && op == AluOp::kMulAcc && is_float) {
    return {FusedMultiplyAdd(inputs[0].AsFloat(), inputs[1].AsFloat(), inputs[2].AsFloat(), out)};
  }
  if (why == "cast_out_of_range" && dtype::IsFixedWidthInteger(out) && dtype::IsFloat(src)) {
    return SaturatingCast(inputs[0].AsFloat(), out);
  }
  return {};
}

}  // namespace kiln::replay
