// The nodes that gradients are made of, folded while they are built: a gradient is full of ones,
// zeros and constants. For the files of this folder.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/types/span.h"

#include "core/dtype/scalar.h"
#include "core/tensor/movement.h"
#include "core/uop/facts.h"

namespace kiln::tensor::internal {

// What sums and products of `d` are accumulated in: float32 for narrower floats. Pre: a float.
DType AccumulatorOf(DType d);

// The value of every element of `n`, if that is a constant moved about; looks through a few nodes.
std::optional<Scalar> UniformValue(Ref n);

// Confined to the compile job. Makes tensor nodes that satisfy kTensorSpec. What folds is exact,
// but for the sign of zero and for NaN: x + 0 and x * 1 are x, x * 0 stays.
class Terms {
 public:
  explicit Terms(Graph& g) : g_(g) {}
  Graph& graph() { return g_; }
  // Pre: `n` is a tensor node that has a shape.
  absl::Span<const Ref> Shape(Ref n) { return *uop::ShapeOf(g_, n); }

  // `value`, rounded to `dtype`, in each element.
  Ref Uniform(DType dtype, double value, absl::Span<const Ref> shape);
  Ref UniformScalar(DType dtype, Scalar value, absl::Span<const Ref> shape);
  Ref Zeros(Ref like) { return Uniform(like->dtype, 0, Shape(like)); }
  Ref Ones(Ref like) { return Uniform(like->dtype, 1, Shape(like)); }

  // An elementwise op, but CAST and BITCAST. Pre: it is defined on the dtype; sources of one shape.
  Ref Alu(Op op, absl::Span<const Ref> src);
  Ref Binary(Op op, Ref x, Ref y) { return Alu(op, {x, y}); }
  Ref Where(Ref condition, Ref x, Ref y) { return Alu(Op::kWhere, {condition, x, y}); }
  Ref Cast(Ref x, DType to);

  // `x` after `step`, with `shape`, which is the shape that the step makes, perhaps in another form.
  Ref Move(Ref x, const Movement& step, absl::Span<const Ref> shape);
  Ref Expand(Ref x, absl::Span<const Ref> shape);
  // By ADD or MUL; floats narrower than float32 are accumulated in float32.
  Ref Reduce(Op by, Ref x, uint32_t axes);
  // Elementwise, of one or more of one dtype and shape, as a balanced tree; narrow floats likewise.
  Ref Sum(absl::Span<const Ref> terms);

 private:
  // The folded form of an op one of whose operands is a constant, or null.
  Ref Folded(Op op, absl::Span<const Ref> src);

  Graph& g_;
};

}  // namespace kiln::tensor::internal
