#include "tests/unit/rewrite/rule_observe.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/dtype/alu.h"
#include "core/dtype/status.h"
#include "core/uop/facts.h"
#include "core/uop/walk.h"

namespace kiln::rewrite {
namespace {

bool OperandsMakeSense(Ref n) {
  if (n->op == Op::kCast) return n->src(0)->dtype != DType::kVoid && n->dtype != DType::kVoid;
  if (n->op == Op::kBitcast)
    return dtype::SizeBits(n->src(0)->dtype) == dtype::SizeBits(n->dtype) &&
           n->dtype != DType::kIndex;
  const DType operand = uop::IsComparison(n->op) ? n->src(0)->dtype : n->dtype;
  if (!dtype::IsDefined(uop::ToAlu(n->op), operand)) return false;
  if (uop::IsComparison(n->op) && n->dtype != DType::kBool) return false;
  for (int i = 0; i < n->num_src; ++i) {
    const DType want = n->op == Op::kWhere && i == 0 ? DType::kBool : operand;
    if (n->src(i)->dtype != want) return false;
  }
  return true;
}

// Element `i` of a value whose shape is [size]; of a scalar, itself. NOLINTNEXTLINE(misc-no-recursion): instances are shallow.
Ref Element(Graph& g, Ref n, int i) {
  if (n->op == Op::kStack) return n->src(i);
  if (n->op == Op::kUnstack && uop::ShapeOf(g, n->src(0)).ok())
    return Element(g, n->src(0), static_cast<int>(n->arg.integer()));
  if (!uop::IsAlu(n->op)) return n;
  std::vector<Ref> src;
  for (Ref s : n->src()) src.push_back(Element(g, s, i));
  return g.WithSources(n, src);
}

absl::Status ObservePlace(Graph& g, Ref place, const symbolic::Bindings& bindings,
                          std::vector<Scalar>& out) {
  Scalar gate = Scalar::Bool(true);
  if (place->num_src > 2) {
    KILN_ASSIGN_OR_RETURN(gate, symbolic::Evaluate(g, place->src(2), bindings));
  }
  out.push_back(gate);
  if (!gate.AsBool()) return absl::OkStatus();
  out.push_back(Scalar::Int(uop::ParamOf(place->src(0)).number));
  KILN_ASSIGN_OR_RETURN(const Scalar index, symbolic::Evaluate(g, place->src(1), bindings));
  out.push_back(index);
  return absl::OkStatus();
}

absl::Status ObserveStore(Graph& g, Ref store, const symbolic::Bindings& bindings,
                          std::vector<Scalar>& out) {
  std::vector<Scalar> place;
  KILN_RETURN_IF_ERROR(ObservePlace(g, store->src(0), bindings, place));
  if (!place[0].AsBool()) return absl::OkStatus();  // Nothing is written.
  out.insert(out.end(), place.begin(), place.end());
  KILN_ASSIGN_OR_RETURN(const Scalar value, symbolic::Evaluate(g, store->src(1), bindings));
  out.push_back(value);
  return absl::OkStatus();
}

}  // namespace

bool MakesSense(Graph& g, Ref root) {
  for (Ref n : uop::Toposort(root)) {
    if (uop::IsAlu(n->op) && !OperandsMakeSense(n)) return false;
    if (!uop::IsEffect(n->op) && !uop::ShapeOf(g, n).ok()) return false;
  }
  return true;
}

absl::StatusOr<std::vector<Scalar>> Observe(Graph& g, Ref root,
                                            const symbolic::Bindings& bindings) {
  std::vector<Scalar> out;
  if (root->op == Op::kIndex) {
    KILN_RETURN_IF_ERROR(ObservePlace(g, root, bindings, out));
  } else if (root->op == Op::kSink) {
    for (Ref s : root->src()) KILN_RETURN_IF_ERROR(ObserveStore(g, s, bindings, out));
  } else {
    KILN_ASSIGN_OR_RETURN(const absl::Span<const Ref> shape, uop::ShapeOf(g, root));
    const int64_t size = shape.empty() ? 1 : shape[0]->IntValue();
    for (int i = 0; i < size; ++i) {
      KILN_ASSIGN_OR_RETURN(const Scalar value,
                            symbolic::Evaluate(g, Element(g, root, i), bindings));
      out.push_back(value);
    }
  }
  return out;
}

double RoundingOf(Graph& g, Ref root, const symbolic::Bindings& bindings) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  double largest = 0;
  for (Ref n : uop::Toposort(root)) {
    if (!dtype::IsFloat(n->dtype)) continue;
    const auto v = symbolic::Evaluate(g, n, bindings);
    if (!v.ok() || !std::isfinite(v->AsFloat())) return kInf;
    // Near the ends of the exponent, an intermediate result may be lost altogether.
    const double size = std::fabs(v->AsFloat());
    if (size > 1e3 || (size < 1e-3 && size != 0)) return kInf;
    largest = std::max(largest, size);
  }
  const int mantissa_bits = root->dtype == DType::kFloat64    ? 52
                            : root->dtype == DType::kFloat32  ? 23
                            : root->dtype == DType::kFloat16  ? 10
                            : root->dtype == DType::kBFloat16 ? 7
                            : root->dtype == DType::kFp8E4M3  ? 3
                                                              : 2;
  return std::ldexp(largest, 4 - mantissa_bits);
}

bool DividesByZero(Graph& g, Ref root, const symbolic::Bindings& bindings) {
  for (Ref n : uop::Toposort(root)) {
    if (n->op != Op::kIDiv && n->op != Op::kMod) continue;
    const auto divisor = symbolic::Evaluate(g, n->src(1), bindings);
    if (!divisor.ok() || *divisor == Scalar::Int(0)) return true;
  }
  return false;
}

bool SeesNanPayload(Graph& g, Ref root, const symbolic::Bindings& bindings) {
  const auto is_nan = [&](Ref n) {
    if (!dtype::IsFloat(n->dtype)) return false;
    const auto v = symbolic::Evaluate(g, n, bindings);
    return v.ok() && std::isnan(v->AsFloat());
  };
  for (Ref n : uop::Toposort(root)) {
    if (n->op == Op::kBitcast && (is_nan(n) || is_nan(n->src(0)))) return true;
  }
  return false;
}

}  // namespace kiln::rewrite
