// What functions of the library are made of: elementwise operators that broadcast and promote,
// reductions, movements. See tensor.h for what happens after an error.
#pragma once

#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "core/tensor/functions/tensor.h"

namespace kiln::tensor::functions {

// ** constants **
// A scalar in the dtype of `like` (rounded, saturated), or in `dtype`.
Tensor Literal(const Tensor& like, double v);
Tensor Literal(Composer& c, DType dtype, double v);
// An integer, exact. `dtype` is a fixed-width integer.
Tensor Integer(Composer& c, DType dtype, int64_t v);
// A size as data.
Tensor Literal(Composer& c, DType dtype, const Size& v);
// The identity of MAX.
double Lowest(DType d);
// `v` in each element.
Tensor Full(Composer& c, DType dtype, const Shape& shape, double v);
// The dtype of indices below n: int32 where that is known to do.
DType IndexDType(const Size& n);
// The index along the only axis.
Tensor Arange(Composer& c, DType dtype, const Size& n);
// The index along axis `axis` of a tensor of rank `rank`, whose other axes have size 1.
Tensor Positions(Composer& c, DType dtype, const Size& n, int64_t rank, int64_t axis);

// ** shapes **
// The shape to which all broadcast; an error if there is none.
Shape BroadcastShape(Composer& c, const std::vector<Shape>& shapes);
Tensor BroadcastTo(const Tensor& x, const Shape& shape);
// All with one shape and one dtype.
Tensors Broadcast(Tensors xs);
Size Count(const Shape& shape);

// ** elementwise **
Tensor Cast(const Tensor& x, DType to);
Tensor Bitcast(const Tensor& x, DType to);
// Any elementwise op; sources are broadcast and promoted.
Tensor Alu(Op op, const Tensor& x);
Tensor Alu(Op op, const Tensor& x, const Tensor& y);
Tensor operator+(const Tensor& x, const Tensor& y);
Tensor operator-(const Tensor& x, const Tensor& y);
Tensor operator-(const Tensor& x);
Tensor operator*(const Tensor& x, const Tensor& y);
Tensor operator/(const Tensor& x, const Tensor& y);  // Of floats.
Tensor operator+(const Tensor& x, double y);
Tensor operator-(const Tensor& x, double y);
Tensor operator-(double x, const Tensor& y);
Tensor operator*(const Tensor& x, double y);
Tensor operator+(double x, const Tensor& y);
Tensor operator*(double x, const Tensor& y);
Tensor operator/(double x, const Tensor& y);
Tensor operator/(const Tensor& x, double y);
Tensor operator<(const Tensor& x, const Tensor& y);
Tensor operator>(const Tensor& x, const Tensor& y);
Tensor operator<(const Tensor& x, double y);
Tensor operator>(const Tensor& x, double y);
Tensor Equal(const Tensor& x, const Tensor& y);
Tensor Equal(const Tensor& x, double y);
Tensor NotEqual(const Tensor& x, const Tensor& y);
// Of truths.
Tensor operator~(const Tensor& p);
Tensor operator&(const Tensor& p, const Tensor& q);
Tensor operator|(const Tensor& p, const Tensor& q);
Tensor Where(const Tensor& p, const Tensor& x, const Tensor& y);
Tensor Where(const Tensor& p, const Tensor& x, double y);
Tensor Where(const Tensor& p, double x, const Tensor& y);
Tensor Where(const Tensor& p, double x, double y, DType dtype);
Tensor Maximum(const Tensor& x, const Tensor& y);
Tensor Maximum(const Tensor& x, double y);
Tensor Minimum(const Tensor& x, const Tensor& y);
Tensor Minimum(const Tensor& x, double y);
// x, so that what was smaller is larger: -x of floats, and the complement of the bits of others.
Tensor ReversedOrder(const Tensor& x);
Tensor Detach(const Tensor& x);
// Floats of 8 and 16 bits as float32, in which they are computed with; others as they are.
Tensor Widened(const Tensor& x);
// The dtype of Widened.
DType WideDType(DType d);

// ** mathematical functions of floats **
Tensor Sqrt(const Tensor& x);
// Sqrt, whose gradient at 0 is 0 instead of infinite: of lengths, which are smallest there.
Tensor Root(const Tensor& x);
Tensor Exp(const Tensor& x);
Tensor Log(const Tensor& x);
Tensor Sin(const Tensor& x);
Tensor Cos(const Tensor& x);
Tensor Trunc(const Tensor& x);
Tensor Floor(const Tensor& x);
Tensor Abs(const Tensor& x);  // Of numbers.
Tensor Sigmoid(const Tensor& x);
Tensor Tanh(const Tensor& x);
Tensor Expm1(const Tensor& x);
Tensor Log1p(const Tensor& x);
Tensor Softplus(const Tensor& x);  // log(1 + e^x)
Tensor Square(const Tensor& x);
Tensor Atan(const Tensor& x);
Tensor Erf(const Tensor& x);
Tensor Erfc(const Tensor& x);

// ** reductions **: over axes counted from 0. Floats of 8 and 16 bits accumulate in float32.
enum class Keep : bool { kNo, kYes };  // Whether reduced axes stay, with size 1.
Tensor Reduce(Op op, const Tensor& x, const Axes& axes, Keep keep = Keep::kNo);
Tensor Sum(const Tensor& x, const Axes& axes, Keep keep = Keep::kNo);
Tensor Mean(const Tensor& x, const Axes& axes, Keep keep = Keep::kNo);
Tensor Max(const Tensor& x, const Axes& axes, Keep keep = Keep::kNo);
Tensor Min(const Tensor& x, const Axes& axes, Keep keep = Keep::kNo);
Axes AllAxes(const Tensor& x);

// ** movement **: axes may be negative where there is one.
Tensor Reshape(const Tensor& x, const Shape& shape);
Tensor Permute(const Tensor& x, const Axes& axes);
// Moves axis `from` to the place `to`.
Tensor MoveAxis(const Tensor& x, int64_t from, int64_t to);
Tensor SwapAxes(const Tensor& x, int64_t a, int64_t b);
// A new axis of size 1 at this place of the result.
Tensor Unsqueeze(const Tensor& x, int64_t axis);
Tensor Squeeze(const Tensor& x, const Axes& axes);
Tensor Flip(const Tensor& x, const Axes& axes);
// Elements begin .. end-1 of an axis.
Tensor Slice(const Tensor& x, int64_t axis, const Size& begin, const Size& end);
// Element `i` of an axis, which goes away.
Tensor Select(const Tensor& x, int64_t axis, const Size& i);
Tensor Pad(const Tensor& x, int64_t axis, const Size& before, const Size& after, double value = 0);
Tensor Concat(const Tensors& xs, int64_t axis);
Tensor Stack(const Tensors& xs, int64_t axis);
// Size `n` at an axis of size 1.
Tensor ExpandAxis(const Tensor& x, int64_t axis, const Size& n);
// Axes `first` .. first+count-1 in one.
Tensor Flatten(const Tensor& x, int64_t first, int64_t count);

}  // namespace kiln::tensor::functions
