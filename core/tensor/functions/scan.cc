#include "core/tensor/functions/scan.h"

#include <limits>

namespace kiln::tensor::functions {
namespace {

constexpr int64_t kPiece = 32;
// Up to here in one kernel.
constexpr int64_t kShort = 128;

// Along the last axis, in work of its square.
Tensor Direct(Op op, const Tensor& x, double identity) {
  const Size n = x.dim(-1);
  Composer& c = *x.composer();
  const DType index = IndexDType(n);
  const Tensor to = Positions(c, index, n, 2, 0), from = Positions(c, index, n, 2, 1);
  const Tensor seen = Where(to < from, identity, Unsqueeze(x, -2));
  return Reduce(op, seen, {x.rank()});
}

Tensor Along(Op op, const Tensor& x, double identity) {
  if (!x || !x.composer()->ok()) return {};
  const Size n = x.dim(-1);
  const int64_t most = x.composer()->Bound(n);
  if (most <= kShort) return Direct(op, x, identity);
  // Of pieces, then what comes before each piece.
  const int64_t pieces = (most - 1) / kPiece + 1, rank = x.rank();
  Shape shape = x.shape();
  shape.back() = pieces;
  shape.push_back(kPiece);
  const Tensor padded = Pad(x, -1, 0, Size(pieces * kPiece) - n, identity);
  const Tensor inner = Direct(op, Reshape(padded, shape), identity);
  const Tensor totals = Along(op, Select(inner, -1, kPiece - 1), identity);
  const Tensor before = Pad(Slice(totals, -1, 0, pieces - 1), -1, 1, 0, identity);
  const Tensor all = Alu(op, inner, Unsqueeze(before, -1));
  return Slice(Flatten(all, rank - 1, 2), -1, 0, n);
}

}  // namespace

Tensor Scan(Op op, const Tensor& x, int64_t axis) {
  const double identity = op == Op::kAdd ? 0 : op == Op::kMul ? 1 : Lowest(x.dtype());
  return MoveAxis(Along(op, MoveAxis(x, axis, -1), identity), -1, axis);
}

Tensor LogSumExp(const Tensor& x, const Axes& axes, Keep keep) {
  const Tensor max = Detach(Max(x, axes, Keep::kYes));
  const Tensor finite = Where(Abs(max) < std::numeric_limits<double>::infinity(), max, 0);
  const Tensor log = Log(Sum(Exp(x - finite), axes, Keep::kYes)) + finite;
  return keep == Keep::kYes ? log : Squeeze(log, axes);
}

}  // namespace kiln::tensor::functions
