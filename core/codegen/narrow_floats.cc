#include "core/codegen/narrow_floats.h"

#include "absl/container/inlined_vector.h"

#include "core/uop/walk.h"

namespace kiln::codegen::internal {
namespace {

bool IsMissing(DType d, const Target& target) {
  if (d == DType::kFloat16) return !target.has_float16;
  if (d == DType::kBFloat16) return !target.has_bfloat16;
  return d == DType::kFp8E4M3 || d == DType::kFp8E5M2;
}

bool Computes(Op op) {
  return uop::IsAlu(op) && op != Op::kCast && op != Op::kBitcast && op != Op::kWhere;
}

}  // namespace

Ref WidenNarrowFloats(Graph& g, Ref root, const Target& target) {
  uop::NodeMap<Ref> now;
  absl::InlinedVector<Ref, 4> src;
  for (Ref n : uop::Toposort(root)) {
    src.clear();
    for (Ref s : n->src()) {
      Ref replaced = now.Get(s);
      src.push_back(replaced != nullptr ? replaced : s);
    }
    if (Computes(n->op) && IsMissing(src[0]->dtype, target)) {
      for (Ref& s : src) {
        s = s->IsConst() ? g.Const(DType::kFloat32, s->arg.scalar()) : g.Cast(s, DType::kFloat32);
      }
      const bool compares = uop::IsComparison(n->op);
      Ref wide = g.Make(n->op, compares ? n->dtype : DType::kFloat32, src, n->arg, n->tag);
      now[n] = compares ? wide : g.Cast(wide, n->dtype);
    } else if (absl::MakeConstSpan(src) != n->src()) {
      now[n] = g.WithSources(n, src);
    }
  }
  Ref replaced = now.Get(root);
  return replaced != nullptr ? replaced : root;
}

}  // namespace kiln::codegen::internal
