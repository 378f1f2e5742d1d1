#include "tests/support/minimise.h"

#include <vector>

#include "core/uop/facts.h"
#include "core/uop/walk.h"
#include "tests/support/copy_graph.h"

namespace kiln::support {
namespace {

// Smaller things that could stand for `n`.
std::vector<Ref> Smaller(Graph& g, Ref n) {
  std::vector<Ref> result;
  if (n->Is(Op::kConst)) {
    if (n->dtype != DType::kIndex) return result;
    const int64_t c = n->IntValue();
    for (int64_t smaller : {int64_t{0}, int64_t{1}, c / 2, c - (c > 0) + (c < 0)}) {
      const bool is_smaller = smaller >= 0 ? smaller < (c < 0 ? -c : c) : smaller > c;
      if (is_smaller) result.push_back(g.Index(smaller));
    }
    return result;
  }
  if (n->dtype == DType::kIndex) {
    result = {g.Index(0), g.Index(1)};
  } else if (n->dtype == DType::kBool) {
    result = {g.Bool(false), g.Bool(true)};
  } else if (dtype::IsInteger(n->dtype)) {
    result = {g.Int(n->dtype, 0), g.Int(n->dtype, 1)};
  } else if (dtype::IsFloat(n->dtype)) {
    result = {g.Const(n->dtype, Scalar::Float(0)), g.Const(n->dtype, Scalar::Float(1))};
  }
  for (Ref s : n->src()) {
    if (s->dtype == n->dtype) result.push_back(s);
  }
  if (n->Is(Op::kVariable) && n->dtype == DType::kIndex) {
    const uop::VariableInfo v = uop::VariableOf(n);
    const int64_t lo = v.min.AsInt();
    const int64_t hi = v.max.AsInt();
    if (lo < 0 && hi >= 0) result.push_back(g.Variable(v.name, 0, hi));
    for (int64_t step = hi - lo - (hi - lo) / 2; step > 0; step /= 2) {
      result.push_back(g.Variable(v.name, lo, hi - step));
      result.push_back(g.Variable(v.name, lo + step, hi));
    }
  }
  return result;
}

}  // namespace

Ref Minimise(Graph& g, Ref root, const std::function<bool(Ref)>& fails) {
  for (bool changed = true; changed;) {
    changed = false;
    const std::vector<Ref> nodes = uop::Toposort(root);
    for (size_t k = nodes.size(); k-- > 0 && !changed;) {
      for (Ref smaller : Smaller(g, nodes[k])) {
        Ref candidate = Replace(g, root, nodes[k], smaller);
        if (candidate == root || !fails(candidate)) continue;
        root = candidate;
        changed = true;
        break;
      }
    }
  }
  return root;
}

}  // namespace kiln::support
