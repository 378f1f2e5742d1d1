// Convolution, pooling, interpolation: x [n, c, spatial...], with 1 to 3 spatial axes.
#include <algorithm>

#include "core/tensor/functions/arguments.h"
#include "core/tensor/functions/indexing.h"
#include "core/tensor/functions/tables.h"
#include "core/tensor/functions/windows.h"

namespace kiln::tensor::functions {
namespace {

using enum DTypeRule;

Axes AxesFrom(int64_t first, int64_t count) {
  Axes axes;
  for (int64_t i = 0; i < count; ++i) axes.push_back(first + i);
  return axes;
}
Shape Join(Shape first, const Shape& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}
Shape Tail(const Tensor& x, int64_t first) {
  Shape shape = x.shape();
  shape.erase(shape.begin(), shape.begin() + std::min(first, x.rank()));
  return shape;
}
std::vector<int64_t> KnownSizes(const Arguments& a, const Shape& shape, std::string_view what) {
  std::vector<int64_t> sizes;
  for (const Size& s : shape) sizes.push_back(a.composer().Known(s, what));
  return sizes;
}

// ** convolution **

// Windows times weights: x is padded, weight [out, in / groups, kernel...].
Tensor Convolved(const Tensor& x, const Tensor& weight, const std::vector<Window>& windows,
                 int64_t groups) {
  const auto spatial = static_cast<int64_t>(windows.size());
  const Tensor seen = Windows(x, windows);  // [n, c, places..., kernel...]
  if (!seen) return {};
  const Shape places_and_kernel = Tail(seen, 2);
  const Shape places(places_and_kernel.begin(), places_and_kernel.begin() + spatial);
  const Size in = x.dim(1) / groups, out = weight.dim(0) / groups;
  const Tensor left = Reshape(seen, Join({x.dim(0), groups, 1, in}, places_and_kernel));
  const Shape ones(static_cast<size_t>(spatial), Size(1));
  const Tensor right = Reshape(weight, Join(Join({1, groups, out, in}, ones), Tail(weight, 2)));
  Axes summed = {3};
  for (int64_t a : AxesFrom(4 + spatial, spatial)) summed.push_back(a);
  const Tensor y = Sum(left * right, summed);
  return Reshape(y, Join({x.dim(0), weight.dim(0)}, places));
}

Tensor WithBias(const Arguments& a, const Tensor& y, const Size& channels) {
  const Tensor bias = a.Shaped("bias", {channels});
  if (!bias) return y;
  return y + Reshape(Widened(bias),
                     Join({channels}, Shape(static_cast<size_t>(y.rank() - 2), Size(1))));
}

bool CheckWeight(const Arguments& a, const Size& in, const Size& want, int64_t groups,
                 const Size& divided) {
  const Tensor x = a["x"], weight = a["weight"];
  if (weight.rank() != x.rank()) {
    a.Fail("weight", "it has ", weight.rank(), " axes, x has ", x.rank());
  } else if (!(in == want)) {
    a.Fail("weight", "its shape ", ToText(weight.shape()), " does not fit x, of shape ",
           ToText(x.shape()), ", in ", groups, groups == 1 ? " group" : " groups");
  } else if (divided.is_known() && divided.value() % groups != 0) {
    a.Fail("groups", groups, " given, which does not divide ", divided.value(), " channels");
  }
  return a.ok();
}

Tensors Conv(Arguments& a) {
  const Tensor x = a["x"], weight = a["weight"];
  const int64_t groups = a.Int("groups");
  if (!CheckWeight(a, weight.dim(1) * groups, x.dim(1), groups, weight.dim(0))) return {};
  const Sliding sliding = SlidingOver(a, x, KnownSizes(a, Tail(weight, 2), "the size of a kernel"));
  if (!a.ok()) return {};
  const Tensor padded = sliding.Padded(Widened(x), 0);
  const Tensor y = Convolved(padded, Widened(weight), sliding.windows, groups);
  return {Cast(WithBias(a, y, weight.dim(0)), x.dtype())};
}

// A convolution of x with zeros between its elements and around them, by the mirrored kernel.
Tensors ConvTranspose(Arguments& a) {
  const Tensor x = a["x"], weight = a["weight"];
  const int64_t groups = a.Int("groups"), spatial = x.rank() - 2;
  if (!CheckWeight(a, weight.dim(0), x.dim(1), groups, x.dim(1))) return {};
  const std::vector<int64_t> sizes = KnownSizes(a, Tail(weight, 2), "the size of a kernel");
  const auto stride = a.PerAxis("stride", spatial), padding = a.PerAxis("padding", spatial),
             extra = a.PerAxis("output_padding", spatial),
             dilation = a.PerAxis("dilation", spatial);
  if (!a.ok()) return {};
  Tensor spread = Widened(x);
  std::vector<Window> windows;
  for (int64_t i = 0; i < spatial; ++i) {
    const auto k = static_cast<size_t>(i);
    const int64_t axis = i + 2;
    const Window w{sizes[k], 1, dilation[k]};
    windows.push_back(w);
    if (stride[k] > 1) {
      const Size n = spread.dim(axis);
      spread = Flatten(Pad(Unsqueeze(spread, axis + 1), axis + 1, 0, stride[k] - 1), axis, 2);
      spread = Slice(spread, axis, 0, n * stride[k] - (stride[k] - 1));
    }
    const int64_t before = w.extent() - 1 - padding[k], after = before + extra[k];
    spread = Pad(spread, axis, std::max<int64_t>(before, 0), std::max<int64_t>(after, 0));
    spread = Slice(spread, axis, std::max<int64_t>(-before, 0),
                   spread.dim(axis) - std::max<int64_t>(-after, 0));
  }
  const Size in = x.dim(1) / groups, out = weight.dim(1);
  const Shape kernel = Tail(weight, 2);
  const Tensor grouped = Reshape(Widened(weight), Join({groups, in, out}, kernel));
  const Tensor turned = Reshape(SwapAxes(grouped, 1, 2), Join({out * groups, in}, kernel));
  const Tensor y = Convolved(spread, Flip(turned, AxesFrom(2, spatial)), windows, groups);
  return {Cast(WithBias(a, y, out * groups), x.dtype())};
}

// ** pooling **

Sliding PoolOver(const Arguments& a) {
  const Tensor x = a["x"];
  return SlidingOver(a, x, a.PerAxis("kernel", x.rank() - 2), a.Flag("ceil"));
}

Tensors MaxPool(Arguments& a) {
  const Tensor x = a["x"];
  const Sliding sliding = PoolOver(a);
  if (!a.ok()) return {};
  const Tensor seen = Windows(sliding.Padded(x, Lowest(x.dtype())), sliding.windows);
  return {Max(seen, AxesFrom(x.rank(), x.rank() - 2))};
}

Tensors AvgPool(Arguments& a) {
  const Tensor given = a["x"], x = Widened(given);
  const int64_t spatial = x.rank() - 2;
  const Sliding sliding = PoolOver(a);
  if (!a.ok()) return {};
  const Axes elements = AxesFrom(x.rank(), spatial);
  const Tensor sum = Sum(Windows(sliding.Padded(x, 0), sliding.windows), elements);
  // How many elements of a window count: those of x, and of the padding that was asked for.
  Sliding around = sliding;
  Tensor counted = Full(a.composer(), x.dtype(), Join({1, 1}, Tail(x, 2)), 1);
  if (a.Flag("count_padding")) {
    const auto asked = SlidingOver(a, given, a.PerAxis("kernel", spatial));
    if (!a.ok()) return {};
    counted = asked.Padded(counted, 1);
    for (size_t i = 0; i < around.padding.size(); ++i) {
      around.padding[i].first = 0;
      around.padding[i].second -= asked.padding[i].second;
    }
  }
  const Tensor count = Sum(Windows(around.Padded(counted, 0), sliding.windows), elements);
  return {Cast(sum / count, given.dtype())};
}

// Place o of `out` covers the elements from floor(o n / out) up to ceil((o + 1) n / out) - 1.
template <Tensor (*f)(const Tensor&, const Axes&, Keep), bool is_max>
Tensor Adaptive(Tensor x, const std::vector<int64_t>& sizes) {
  if (!x) return x;
  Composer& c = *x.composer();
  const int64_t first = x.rank() - static_cast<int64_t>(sizes.size());
  for (size_t i = 0; i < sizes.size() && c.ok(); ++i) {
    const int64_t axis = first + static_cast<int64_t>(i), out = sizes[i];
    const Size n = x.dim(axis);
    if ((n % out).Is(0)) {
      Shape shape = x.shape();
      shape[static_cast<size_t>(axis)] = out;
      shape.insert(shape.begin() + axis + 1, n / out);
      x = f(Reshape(x, shape), {axis + 1}, Keep::kNo);
      continue;
    }
    const Tensor o = Positions(c, DType::kInt64, out, 2, 0),
                 at = Positions(c, DType::kInt64, n, 2, 1);
    const auto times = [&c](const Tensor& t, const Size& k) {
      return t * Literal(c, DType::kInt64, k);
    };
    const auto over = [](const Tensor& t, int64_t k) {
      return Alu(Op::kIDiv, t, Literal(t, static_cast<double>(k)));
    };
    const Tensor begin = over(times(o, n), out);
    const Tensor end = over(times(o + 1, n) + static_cast<double>(out - 1), out);
    const Tensor is_covered = ~(at < begin) & (at < end);
    const Tensor lines = Unsqueeze(MoveAxis(x, axis, -1), -2);
    Tensor y;
    if (is_max) {
      y = Max(Where(is_covered, lines, Lowest(x.dtype())), {lines.rank() - 1});
    } else {
      const Tensor count = Reshape(Cast(end - begin, x.dtype()), {out});
      y = Sum(Where(is_covered, lines, 0), {lines.rank() - 1}) / count;
    }
    x = MoveAxis(y, -1, axis);
  }
  return x;
}

Tensors AdaptiveAvgPool(Arguments& a) {
  const Tensor x = a["x"];
  const auto sizes = a.PerAxis("sizes", x.rank() - 2);
  return {Cast(Adaptive<Mean, false>(Widened(x), sizes), x.dtype())};
}
Tensors AdaptiveMaxPool(Arguments& a) {
  const Tensor x = a["x"];
  return {Adaptive<Max, true>(x, a.PerAxis("sizes", x.rank() - 2))};
}

Tensors Unfold(Arguments& a) {
  const Tensor x = a["x"];
  const int64_t spatial = x.rank() - 2;
  const Sliding sliding = SlidingOver(a, x, a.PerAxis("kernel", spatial));
  if (!a.ok()) return {};
  const Tensor seen = Windows(sliding.Padded(x, 0), sliding.windows);
  Axes order = {0, 1};
  for (int64_t axis : AxesFrom(2 + spatial, spatial)) order.push_back(axis);
  for (int64_t axis : AxesFrom(2, spatial)) order.push_back(axis);
  return {Flatten(Flatten(Permute(seen, order), 2 + spatial, spatial), 1, 1 + spatial)};
}

// ** interpolation **

// floor((o + shift) n / out) at place o, where shift is 0 or 1/2.
Tensor NearestAlong(const Tensor& x, int64_t axis, const Size& n, int64_t out, bool exact) {
  Composer& c = *x.composer();
  const Tensor o = Arange(c, DType::kInt64, out);
  const Tensor over = (exact ? o * 2 + 1 : o) * Literal(c, DType::kInt64, n);
  return Take(x, Alu(Op::kIDiv, over, Integer(c, DType::kInt64, exact ? 2 * out : out)), axis);
}

// A position between elements: the one before it, and how far it is beyond, of the dtype of x.
struct Between {
  Tensor low, rest;
};
// As a fraction of integers, so that it is exact.
Between PositionsAlong(const Tensor& x, const Size& n, int64_t out, bool align_corners) {
  Composer& c = *x.composer();
  const auto number = [&c](const Size& v) { return Literal(c, DType::kInt64, v); };
  const Tensor o = Arange(c, DType::kInt64, out);
  const int64_t under = align_corners ? std::max<int64_t>(out - 1, 1) : 2 * out;
  // From half a place before the first, so that it is not negative.
  const Tensor over = align_corners ? o * number(n - 1) : (o * 2 + 1) * number(n) + number(out);
  const Tensor low = Alu(Op::kIDiv, over, number(under));
  const Tensor rest = Cast(over - low * number(under), x.dtype()) / static_cast<double>(under);
  return {align_corners ? low : low - 1, rest};
}
// [out] as it broadcasts along an axis of x.
Tensor AlongAxis(const Tensor& t, const Tensor& x, int64_t axis) {
  Shape shape(static_cast<size_t>(x.rank() - axis), Size(1));
  shape[0] = t.dim(0);
  return Reshape(t, shape);
}
// The element at a position, which is moved into x.
Tensor Nearest(const Tensor& x, int64_t axis, const Size& n, const Tensor& at) {
  const Tensor last = Literal(*x.composer(), DType::kInt64, n - 1);
  return Take(x, Minimum(Maximum(at, 0), last), axis);
}

Tensor LinearAlong(const Tensor& x, int64_t axis, const Size& n, int64_t out, bool align_corners) {
  const Between at = PositionsAlong(x, n, out, align_corners);
  const Tensor weight = AlongAxis(at.rest, x, axis);
  return Nearest(x, axis, n, at.low) * (1 - weight) + Nearest(x, axis, n, at.low + 1) * weight;
}

// Source: Keys, "Cubic convolution interpolation for digital image processing", IEEE Trans. ASSP 29,
// 1981, with a = -3/4 as in PyTorch.
Tensor CubicAlong(const Tensor& x, int64_t axis, const Size& n, int64_t out, bool align_corners) {
  const Between at = PositionsAlong(x, n, out, align_corners);
  constexpr double kA = -0.75;
  const auto near = [](const Tensor& d) {  // 0 <= d <= 1.
    return ((d * (kA + 2) - (kA + 3)) * d) * d + 1;
  };
  const auto far = [](const Tensor& d) {  // 1 <= d <= 2.
    return ((d * kA - 5 * kA) * d + 8 * kA) * d - 4 * kA;
  };
  const Tensor t = at.rest;
  const Tensor weights[] = {far(t + 1), near(t), near(1 - t), far(2 - t)};
  Tensor y;
  for (int k = 0; k < 4; ++k) {
    const Tensor term = Nearest(x, axis, n, at.low + (k - 1)) * AlongAxis(weights[k], x, axis);
    y = y ? y + term : term;
  }
  return y;
}

Tensors Interpolate(Arguments& a) {
  const Tensor given = a["x"];
  const std::string mode = a.Text("mode");
  const auto sizes = a.PerAxis("sizes", given.rank() - 2);
  const bool is_nearest = mode == "nearest" || mode == "nearest_exact";
  const bool align = a.Flag("align_corners");
  Tensor x = is_nearest ? given : Widened(given);
  if (mode == "area") return {Cast(Adaptive<Mean, false>(x, sizes), given.dtype())};
  for (size_t i = 0; i < sizes.size() && a.ok(); ++i) {
    const int64_t axis = static_cast<int64_t>(i) + 2;
    const Size n = x.dim(axis);
    if (n.Is(0)) return {a.Fail("x", "its axis ", axis, " has size 0")};
    if (n.Is(sizes[i])) continue;
    x = is_nearest         ? NearestAlong(x, axis, n, sizes[i], mode == "nearest_exact")
        : mode == "linear" ? LinearAlong(x, axis, n, sizes[i], align)
                           : CubicAlong(x, axis, n, sizes[i], align);
  }
  return {Cast(x, given.dtype())};
}

// ** declarations **

constexpr std::string_view kSpatial = "[n, c, spatial...], with 1 to 3 spatial axes";
InputSchema Image() { return Input("x", kNumber, kSpatial).Ranks(3, 5); }
AttributeSchema Positive(std::string_view name, std::string_view doc) {
  return Ints(name, doc).Between(1, 1 << 30);
}
AttributeSchema Stride() {
  return Positive("stride", "between windows; one for all spatial axes, or one each")
      .Default(std::vector<int64_t>{1});
}
AttributeSchema PoolStride() {
  return Positive("stride", "between windows; that of kernel, if left out").Optional();
}
AttributeSchema Dilation() {
  return Positive("dilation", "between elements of a window").Default(std::vector<int64_t>{1});
}
AttributeSchema Padding(std::string_view what) {
  return Ints("padding", what).Between(0, 1 << 30).Default(std::vector<int64_t>{0});
}
AttributeSchema ZeroPadding() {
  return Padding("zeros around: one for all, one each, or before and after each");
}
AttributeSchema Groups() {
  return Int("groups", "of channels, each seen by itself").Default(int64_t{1}).Between(1, 1 << 30);
}
AttributeSchema Kernel() {
  return Positive("kernel", "the size of windows; one for all, or one each");
}
AttributeSchema Ceil() {
  return Flag("ceil", false,
              "whether a last window that begins inside may reach beyond the padding");
}
AttributeSchema OutSizes() {
  return Positive("sizes", "of the result; one for all spatial axes, or one each");
}

}  // namespace

// clang-format off
std::vector<FunctionSchema> ConvolutionFunctions() {
  return {
      {.name = "conv", .doc = "y[n, o, p] = bias[o] + the sum over i and k of x[n, i, p stride + k dilation - padding] weight[o, i, k], in 1 to 3 dimensions: x [n, in, ...], weight [out, in / groups, kernel...] -> [n, out, ...].",
       .inputs = {Image(), Input("weight", kNumber, "[out, in / groups, kernel...]").Ranks(3, 5), Input("bias", kNumber, "[out]").Rank(1).Optional()},
       .attributes = {Stride(), ZeroPadding(), Dilation(), Groups()}, .outputs = {"y"}, .compose = Conv},
      {.name = "conv_transpose", .doc = "What conv has as its gradient: x [n, in, ...], weight [in, out / groups, kernel...] -> [n, out, ...], of size (size - 1) stride - 2 padding + dilation (kernel - 1) + output_padding + 1.",
       .inputs = {Image(), Input("weight", kNumber, "[in, out / groups, kernel...]").Ranks(3, 5), Input("bias", kNumber, "[out]").Rank(1).Optional()},
       .attributes = {Stride(), Padding("what is left out of the result on both sides"),
                      Ints("output_padding", "what is added to the size of the result").Between(0, 1 << 30).Default(std::vector<int64_t>{0}), Dilation(), Groups()},
       .outputs = {"y"}, .compose = ConvTranspose},
      {.name = "max_pool", .doc = "The largest of each window; padding counts as the lowest value.",
       .inputs = {Image()},
       .attributes = {Kernel(), PoolStride(), Padding("around: one for all, one each, or before and after each"), Dilation(), Ceil()}, .outputs = {"y"}, .compose = MaxPool},
      {.name = "avg_pool", .doc = "The mean of each window.",
       .inputs = {Input("x", kFloat, kSpatial).Ranks(3, 5)},
       .attributes = {Kernel(), PoolStride(), ZeroPadding(), Dilation(), Ceil(), Flag("count_padding", true, "whether zeros of the padding count")},
       .outputs = {"y"}, .compose = AvgPool},
      {.name = "adaptive_avg_pool", .doc = "The mean of windows such that the result has these sizes: place o of m covers the elements from floor(o n / m) up to ceil((o + 1) n / m) - 1.",
       .inputs = {Input("x", kFloat, kSpatial).Ranks(3, 5)}, .attributes = {OutSizes()}, .outputs = {"y"}, .compose = AdaptiveAvgPool},
      {.name = "adaptive_max_pool", .doc = "The largest of windows as in adaptive_avg_pool.",
       .inputs = {Image()}, .attributes = {OutSizes()}, .outputs = {"y"}, .compose = AdaptiveMaxPool},
      {.name = "unfold", .doc = "Windows as columns: [n, c, spatial...] -> [n, c times elements of a window, windows].",
       .inputs = {Input("x", kAny, kSpatial).Ranks(3, 5)},
       .attributes = {Kernel(), Stride(), ZeroPadding(), Dilation()}, .outputs = {"y"}, .compose = Unfold},
      {.name = "interpolate", .doc = "x with other spatial sizes. nearest: element floor(o n / m) at place o of m; nearest_exact: floor((o + 1/2) n / m); linear: between the two elements around (o + 1/2) n / m - 1/2, or with align_corners o (n - 1) / (m - 1); cubic: a cubic between the four around it, with a = -3/4 (Keys, IEEE Trans. ASSP 29, 1981); elements beyond the edge are those at the edge; area: adaptive_avg_pool.",
       .inputs = {Input("x", kFloat, kSpatial).Ranks(3, 5)},
       .attributes = {OutSizes(), Choice("mode", {"nearest", "nearest_exact", "linear", "cubic", "area"}, "how"), Flag("align_corners", false, "whether the outermost elements stay, for linear and cubic")},
       .outputs = {"y"}, .compose = Interpolate},
  };
}
// clang-format on

}  // namespace kiln::tensor::functions
