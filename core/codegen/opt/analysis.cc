#include "core/codegen/opt/analysis.h"

#include <algorithm>

#include "core/codegen/kernel_ranges.h"
#include "core/uop/walk.h"

namespace kiln::codegen {
namespace {

using internal::DependsOn;

double EndOf(Graph& g, Ref range) {
  return std::max<double>(1, static_cast<double>(VMax(g, range->src(0))));
}

bool IsReduced(Ref range) {
  const AxisType type = internal::TypeOf(range);
  return type == AxisType::kReduce || type == AxisType::kUnroll;
}

bool Computes(Ref n) {
  return uop::IsAlu(n->op) && n->dtype != DType::kIndex && n->src(0)->dtype != DType::kIndex;
}

// Nodes of the decompositions: see README.md.
int64_t SizeOf(Ref n, const OpSupport& ops) {
  if (ops.Has(n->op, n->dtype)) return 1;
  switch (n->op) {
    case Op::kExp2:
    case Op::kLog2:
    case Op::kSqrt:
      return 40;
    case Op::kSin:
    case Op::kThreefry:
      return 120;
    case Op::kPow:
      return 200;
    default:
      return 1;
  }
}

}  // namespace

int64_t OperationsOf(Ref root, const OpSupport& ops) {
  int64_t count = 0;
  uop::NodeMap<bool> seen;
  std::vector<Ref> stack = {root};
  while (!stack.empty()) {
    Ref n = stack.back();
    stack.pop_back();
    if (seen.Get(n) || !Computes(n)) continue;
    seen[n] = true;
    count += SizeOf(n, ops);
    stack.insert(stack.end(), n->src().begin(), n->src().end());
  }
  return count;
}

Analysis Analyse(Graph& g, Ref kernel) {
  Analysis a;
  for (Ref n : uop::Toposort(kernel)) {
    if (n->Is(Op::kRange)) {
      a.ranges.push_back(n);
      if (!IsReduced(n)) a.loops.push_back(n);
      if (!IsReduced(n)) a.elements *= EndOf(g, n);
    }
  }
  const auto by_axis = [](Ref x, Ref y) { return internal::AxisId(x) < internal::AxisId(y); };
  std::sort(a.ranges.begin(), a.ranges.end(), by_axis);
  std::sort(a.loops.begin(), a.loops.end(), by_axis);

  int64_t widest = 1;
  for (Ref n : uop::Toposort(kernel)) {
    double times = 1, turns = 1;
    for (Ref r : uop::RangesOf(g, n)) {
      turns *= EndOf(g, r);
      if (IsReduced(r)) times *= EndOf(g, r);
    }
    if (Computes(n) || n->Is(Op::kLoad)) {
      a.work += turns;
      widest = std::max<int64_t>(widest, dtype::SizeBytes(n->dtype));
    }
    if (n->Is(Op::kLoad) || n->Is(Op::kStore)) {
      Ref place = n->src(0);
      a.accesses.push_back({n, place, symbolic::AffineOf(g, place->src(1)), times});
      if (n->Is(Op::kStore)) a.work += a.elements;
    }
    if (n->Is(Op::kReduce)) {
      const absl::Span<const Ref> ended = internal::EndedRanges(n);
      Reduction r = {n, {ended.begin(), ended.end()}, times};
      std::sort(r.ended.begin(), r.ended.end(), by_axis);
      for (Ref e : r.ended) r.times *= EndOf(g, e);
      a.work += turns * (r.times / times);
      a.reductions.push_back(std::move(r));
    }
  }
  a.lane_bytes = std::max<int64_t>(widest, 4);
  std::stable_sort(a.reductions.begin(), a.reductions.end(),
                   [](const Reduction& x, const Reduction& y) { return x.times > y.times; });
  return a;
}

Stride StrideOf(Graph& g, const Access& access, Ref range) {
  Ref element = access.place->src(1);
  const bool is_gated = access.place->num_src > 2 && DependsOn(g, access.place->src(2), range);
  if (!DependsOn(g, element, range)) return is_gated ? Stride::kUnit : Stride::kNone;
  if (!access.element.has_value() || access.element->CoefOf(range) != 1) return Stride::kScattered;
  for (const symbolic::Term& t : access.element->terms) {
    if (t.base != range && DependsOn(g, t.base, range)) return Stride::kScattered;
  }
  return Stride::kUnit;
}

}  // namespace kiln::codegen
