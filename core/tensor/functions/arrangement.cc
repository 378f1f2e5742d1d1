// Rearrangements that are made of several movements, and matrices of parts.
#include <algorithm>

#include "core/tensor/functions/arguments.h"
#include "core/tensor/functions/indexing.h"
#include "core/tensor/functions/tables.h"
#include "core/tensor/functions/windows.h"

namespace kiln::tensor::functions {
namespace {

using enum DTypeRule;

bool Divides(const Arguments& a, std::string_view name, int64_t by, const Size& n,
             std::string_view what) {
  if (!n.is_known() || n.value() % by == 0) return true;
  a.Fail(name, by, " given, which does not divide ", std::string(what), ", ", n.value());
  return false;
}

Tensors Unflatten(Arguments& a) {
  const Tensor x = a["x"];
  const int64_t axis = a.Axis("axis", x.rank());
  Shape sizes = a.Sizes("sizes"), shape = x.shape();
  if (!a.ok()) return {};
  const Size n = x.dim(axis);
  Size rest = 1;
  auto open = sizes.end();
  for (auto it = sizes.begin(); it != sizes.end(); ++it) {
    if (!it->Is(-1)) {
      rest = rest * *it;
    } else if (open != sizes.end()) {
      return {a.Fail("sizes", "-1 is in it twice")};
    } else {
      open = it;
    }
  }
  if (open != sizes.end()) *open = rest.Is(0) ? Size(0) : n / rest;
  const Size product = Count(sizes);
  if (product.is_known() && n.is_known() && !(product == n)) {
    return {
        a.Fail("sizes", ToText(a.Sizes("sizes")), " given, axis ", axis, " has size ", n.value())};
  }
  shape.erase(shape.begin() + axis);
  shape.insert(shape.begin() + axis, sizes.begin(), sizes.end());
  return {Reshape(x, shape)};
}

Tensors Chunk(Arguments& a) {
  const Tensor x = a["x"];
  const int64_t axis = a.Axis("axis", x.rank()), chunks = a.Int("chunks");
  const Size n = x.dim(axis);
  Tensors pieces;
  if (!n.is_known()) {
    const Size each = n / chunks;  // Slice sees to it that nothing is left.
    for (int64_t i = 0; i < chunks && a.ok(); ++i) {
      pieces.push_back(Slice(x, axis, each * i, i + 1 == chunks ? n : each * (i + 1)));
    }
    return pieces;
  }
  const int64_t each = n.value() / chunks, larger = n.value() % chunks;
  int64_t begin = 0;
  for (int64_t i = 0; i < chunks && a.ok(); ++i) {
    const int64_t end = begin + each + (i < larger ? 1 : 0);
    pieces.push_back(Slice(x, axis, begin, end));
    begin = end;
  }
  return pieces;
}
Tensors Unbind(Arguments& a) {
  const Tensor x = a["x"];
  const int64_t axis = a.Axis("axis", x.rank());
  const int64_t n = a.composer().Known(x.dim(axis), "the size of an axis that is taken apart");
  if (n > 1 << 16) return {a.Fail("x", "its axis ", axis, " has size ", n, ", more than 65536")};
  if (n == 0) return {a.Fail("x", "its axis ", axis, " has size 0")};
  Tensors pieces;
  for (int64_t i = 0; i < n && a.ok(); ++i) pieces.push_back(Select(x, axis, i));
  return pieces;
}

// A quarter turn takes the first axis to the second.
Tensors Rot90(Arguments& a) {
  const Tensor x = a["x"];
  const int64_t first = a.Axis("axis0", x.rank()), second = a.Axis("axis1", x.rank());
  if (first == second) return {a.Fail("axis1", "it is axis0")};
  switch (((a.Int("times") % 4) + 4) % 4) {
    case 1:
      return {SwapAxes(Flip(x, {second}), first, second)};
    case 2:
      return {Flip(x, {first, second})};
    case 3:
      return {Flip(SwapAxes(x, first, second), {second})};
    default:
      return {x};
  }
}

// ** channels and space **

Tensors PixelShuffle(Arguments& a) {
  const Tensor x = a["x"];
  const int64_t r = a.Int("factor");
  if (!Divides(a, "factor", r * r, x.dim(1), "the channels of x")) return {};
  const Size c = x.dim(1) / (r * r);
  const Tensor apart = Reshape(x, {x.dim(0), c, r, r, x.dim(2), x.dim(3)});
  return {Reshape(Permute(apart, {0, 1, 4, 2, 5, 3}), {x.dim(0), c, x.dim(2) * r, x.dim(3) * r})};
}
Tensors PixelUnshuffle(Arguments& a) {
  const Tensor x = a["x"];
  const int64_t r = a.Int("factor");
  if (!Divides(a, "factor", r, x.dim(2), "the height of x") ||
      !Divides(a, "factor", r, x.dim(3), "the width of x")) {
    return {};
  }
  const Size h = x.dim(2) / r, w = x.dim(3) / r;
  const Tensor apart = Reshape(x, {x.dim(0), x.dim(1), h, r, w, r});
  return {Reshape(Permute(apart, {0, 1, 3, 5, 2, 4}), {x.dim(0), x.dim(1) * (r * r), h, w})};
}
Tensors ChannelShuffle(Arguments& a) {
  const Tensor x = a["x"];
  const int64_t groups = a.Int("groups");
  if (!Divides(a, "groups", groups, x.dim(1), "the channels of x")) return {};
  Shape shape = x.shape();
  shape[1] = groups;
  shape.insert(shape.begin() + 2, x.dim(1) / groups);
  return {Reshape(SwapAxes(Reshape(x, shape), 1, 2), x.shape())};
}

// The sum of what unfold would take from each place: one axis at a time, the elements of windows are
// added where they lie.
Tensor FoldAxis(const Tensor& x, int64_t places, int64_t elements, const Window& w, int64_t padding,
                int64_t size) {
  Composer& c = *x.composer();
  const int64_t whole = size + 2 * padding, count = (whole - w.extent()) / w.stride + 1;
  Tensor sum;
  for (int64_t e = 0; e < w.size && c.ok(); ++e) {
    Tensor part = Select(x, elements, e);
    if (w.stride > 1) {
      part = Unsqueeze(part, places + 1);
      part = Flatten(Pad(part, places + 1, 0, w.stride - 1), places, 2);
      part = Slice(part, places, 0, (count - 1) * w.stride + 1);
    }
    const int64_t before = e * w.dilation, used = (count - 1) * w.stride + 1;
    part = Pad(part, places, before, whole - before - used);
    sum = sum ? sum + part : part;
  }
  return Slice(sum, places, padding, padding + size);
}
Tensors Fold(Arguments& a) {
  const Tensor given = a["x"];
  const std::vector<int64_t> sizes = a.Ints("sizes");
  const auto spatial = static_cast<int64_t>(sizes.size());
  const auto kernel = a.PerAxis("kernel", spatial), stride = a.PerAxis("stride", spatial),
             padding = a.PerAxis("padding", spatial), dilation = a.PerAxis("dilation", spatial);
  if (spatial < 1 || spatial > 3) return {a.Fail("sizes", spatial, " given, there may be 1 to 3")};
  Size windows = 1, elements = 1;
  Shape shape = {given.dim(0), 0};
  std::vector<Window> ws;
  for (size_t i = 0; i < sizes.size() && a.ok(); ++i) {
    const Window w{kernel[i], stride[i], dilation[i]};
    const Size whole = Size(sizes[i]) + 2 * padding[i];
    if (whole.value() < w.extent()) {
      return {a.Fail("kernel", "a window of ", w.extent(), " does not fit into ", whole.value())};
    }
    if (w.size > 1 << 10) return {a.Fail("kernel", w.size, " given, it may be 1024")};
    ws.push_back(w);
    elements = elements * w.size;
    windows = windows * ((whole - w.extent()) / w.stride + 1);
  }
  if (!a.ok()) return {};
  const Size rows = given.dim(1);
  if (!rows.is_known() || rows.value() % elements.value() != 0 || !(given.dim(2) == windows)) {
    return {a.Fail("x", "its shape is ", ToText(given.shape()), ", it must be [n, a multiple of ",
                   elements.value(), ", ", windows.value(), "]")};
  }
  shape[1] = rows / elements;
  for (const Window& w : ws) shape.emplace_back(w.size);
  for (size_t i = 0; i < ws.size(); ++i) {
    shape.push_back((Size(sizes[i]) + 2 * padding[i] - ws[i].extent()) / ws[i].stride + 1);
  }
  // [n, c, elements..., places...]: the elements of each axis in turn are at 2, and go last, where
  // its places are at `spatial` and more from the front by those done before.
  Tensor y = Reshape(Widened(given), shape);
  for (size_t i = 0; i < ws.size() && y; ++i) {
    const Tensor moved = MoveAxis(y, 2, -1);
    y = FoldAxis(moved, 1 + spatial, moved.rank() - 1, ws[i], padding[i], sizes[i]);
  }
  return {Cast(y, given.dtype())};
}

// ** matrices of parts **

Tensors DiagEmbed(Arguments& a) {
  const Tensor x = a["x"];
  const Size offset = a.OneSize("offset");
  const Size down = Max(0 - offset, 0), right = Max(offset, 0), n = x.dim(-1) + down + right;
  Composer& c = a.composer();
  const Tensor row = Positions(c, DType::kInt64, n, 2, 0),
               column = Positions(c, DType::kInt64, n, 2, 1);
  const Tensor is_diagonal = Equal(column, row + Literal(c, DType::kInt64, offset));
  const Tensor moved = Pad(x, -1, down, right);  // Element i in row i + down.
  return {Where(is_diagonal, Unsqueeze(moved, -1), 0)};
}
Tensors BlockDiag(Arguments& a) {
  Size rows = 0, columns = 0;
  const Tensors xs = a.List("xs");
  for (const Tensor& x : xs) {
    rows = rows + x.dim(0);
    columns = columns + x.dim(1);
  }
  Tensors strips;
  Size before = 0;
  for (const Tensor& x : xs) {
    strips.push_back(Pad(x, 1, before, columns - before - x.dim(1)));
    before = before + x.dim(1);
  }
  return {Concat(strips, 0)};
}

InputSchema X() { return Input("x", kAny, "what is moved"); }
InputSchema Image() { return Input("x", kAny, "[n, c, height, width]").Rank(4); }
AttributeSchema Positive(std::string_view name, std::string_view doc) {
  return Ints(name, doc).Between(1, 1 << 30);
}

}  // namespace

// clang-format off
std::vector<FunctionSchema> ArrangementFunctions() {
  const std::vector<int64_t> one = {1}, zero = {0};
  return {
      {.name = "unflatten", .doc = "One axis as several, row-major: the inverse of flatten.", .inputs = {X().Ranks(1)},
       .attributes = {Sizes("sizes", "of the axes; one may be -1: what is left").AtLeast(-1), AxisOf("x")}, .outputs = {"y"}, .compose = Unflatten},
      {.name = "chunk", .doc = "x in so many pieces along an axis, the first ones larger by 1 where they can't be equal, as numpy's array_split.", .inputs = {X().Ranks(1)},
       .attributes = {Int("chunks", "how many").Between(1, 1 << 16), AxisOf("x")}, .outputs = {"pieces..."}, .compose = Chunk},
      {.name = "unbind", .doc = "The elements of an axis, which goes away, each as a tensor.", .inputs = {X().Ranks(1)},
       .attributes = {Int("axis", "an axis of x, negative from the end").Default(int64_t{0})}, .outputs = {"pieces..."}, .compose = Unbind},
      {.name = "rot90", .doc = "x, turned from axis0 to axis1 by quarters: once, y[i, j] = x[j, m - 1 - i].", .inputs = {X().Ranks(2)},
       .attributes = {Int("times", "how many quarters").Default(int64_t{1}), Int("axis0", "the one axis").Default(int64_t{0}), Int("axis1", "the other").Default(int64_t{1})},
       .outputs = {"y"}, .compose = Rot90},
      {.name = "pixel_shuffle", .doc = "Channels as pixels: [n, c r^2, h, w] -> [n, c, h r, w r], where y[n, c, h r + i, w r + j] = x[n, c r^2 + i r + j, h, w]. Source: Shi et al., arXiv:1609.05158.", .inputs = {Image()},
       .attributes = {Int("factor", "r").Between(1, 1 << 15)}, .outputs = {"y"}, .compose = PixelShuffle},
      {.name = "pixel_unshuffle", .doc = "The inverse of pixel_shuffle: [n, c, h r, w r] -> [n, c r^2, h, w].", .inputs = {Image()},
       .attributes = {Int("factor", "r").Between(1, 1 << 15)}, .outputs = {"y"}, .compose = PixelUnshuffle},
      {.name = "channel_shuffle", .doc = "Channels of groups in turn: y[n, i g + k] = x[n, k c / g + i]. Source: Zhang et al., arXiv:1707.01083.", .inputs = {Input("x", kAny, "[n, c, ...]").Ranks(2)},
       .attributes = {Int("groups", "g, a divisor of c").AtLeast(1)}, .outputs = {"y"}, .compose = ChannelShuffle},
      {.name = "fold", .doc = "The sum of windows where they overlap, the adjoint of unfold: [n, c times elements of a window, windows] -> [n, c, sizes...].",
       .inputs = {Input("x", kNumber, "columns, as unfold gives them").Rank(3)},
       .attributes = {Positive("sizes", "of the spatial axes of the result"), Positive("kernel", "the size of windows; one for all, or one each"),
                      Positive("stride", "between windows; one for all, or one each").Default(one),
                      Ints("padding", "around; one for all, or one each").Between(0, 1 << 30).Default(zero), Positive("dilation", "between elements of a window").Default(one)},
       .outputs = {"y"}, .compose = Fold},
      {.name = "diag_embed", .doc = "Matrices whose diagonal is x: y[..., i, i + offset] = x[..., i], else 0.", .inputs = {X().Ranks(1)},
       .attributes = {OneSize("offset", "how far the diagonal is to the right").Default(int64_t{0}).Between(-1e9, 1e9)}, .outputs = {"y"}, .compose = DiagEmbed},
      {.name = "block_diag", .doc = "Matrices along the diagonal of one, else 0.", .inputs = {Input("xs", kAny, "the matrices").Rank(2).Variadic()},
       .attributes = {}, .outputs = {"y"}, .compose = BlockDiag},
  };
}
// clang-format on

}  // namespace kiln::tensor::functions
