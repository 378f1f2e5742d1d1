// Functions that move elements and change none.
#include <algorithm>

#include "core/tensor/functions/arguments.h"
#include "core/tensor/functions/slicing.h"
#include "core/tensor/functions/tables.h"
#include "core/tensor/functions/windows.h"

namespace kiln::tensor::functions {
namespace {

using enum DTypeRule;

// ** shapes **

Tensors ReshapeFunction(Arguments& a) {
  const Tensor x = a["x"];
  Shape shape = a.Sizes("shape");
  Size rest = Count(x.shape());
  auto open = shape.end();
  for (auto it = shape.begin(); it != shape.end(); ++it) {
    if (it->Is(-1)) {
      if (open != shape.end()) return {a.Fail("shape", "-1 is in it twice")};
      open = it;
    } else if (it->Is(0)) {
      rest = 0;
    } else {
      rest = rest / *it;
    }
  }
  if (open != shape.end()) *open = rest;
  const Size have = Count(x.shape()), want = Count(shape);
  if (have.is_known() && want.is_known() && have.value() != want.value()) {
    return {a.Fail("shape", ToText(a.Sizes("shape")), " given, which does not hold the ",
                   have.value(), " elements of ", ToText(x.shape()))};
  }
  return {Reshape(x, shape)};
}

Tensors Expand(Arguments& a) {
  const Tensor x = a["x"];
  Shape shape = a.Sizes("shape");
  const Shape own = x.shape();
  for (size_t i = 0; i < shape.size(); ++i) {  // -1: as it is.
    if (shape[i].Is(-1) && shape.size() - i <= own.size()) {
      shape[i] = own[own.size() - (shape.size() - i)];
    }
  }
  return {BroadcastTo(x, shape)};
}

Tensors PermuteFunction(Arguments& a) {
  const Tensor x = a["x"];
  Axes axes = a.Ints("axes");
  if (static_cast<int64_t>(axes.size()) != x.rank()) {
    return {a.Fail("axes", axes.size(), " given, x has ", x.rank())};
  }
  a.AxesIn("axes", x.rank());
  if (!a.ok()) return {};
  for (int64_t& axis : axes) axis += axis < 0 ? x.rank() : 0;
  return {Permute(x, axes)};
}
Tensors SwapAxesFunction(Arguments& a) {
  const Tensor x = a["x"];
  const int64_t first = a.Axis("axis0", x.rank()), second = a.Axis("axis1", x.rank());
  if (!a.ok()) return {};
  return {SwapAxes(x, first, second)};
}
Tensors MoveAxisFunction(Arguments& a) {
  const Tensor x = a["x"];
  const int64_t from = a.Axis("from", x.rank()), to = a.Axis("to", x.rank());
  if (!a.ok()) return {};
  return {MoveAxis(x, from, to)};
}
Tensors SqueezeFunction(Arguments& a) {
  const Tensor x = a["x"];
  Axes axes = a.AxesIn("axes", x.rank());
  if (!a.Has("axes")) {
    std::erase_if(axes, [&x](int64_t axis) { return !x.dim(axis).Is(1); });
  }
  for (int64_t axis : axes) {
    if (x.dim(axis).is_known() && !x.dim(axis).Is(1)) {
      return {a.Fail("axes", "axis ", axis, " of x has size ", x.dim(axis).value(), ", not 1")};
    }
  }
  return {Squeeze(x, axes)};
}
Tensors UnsqueezeFunction(Arguments& a) {
  Tensor x = a["x"];
  const auto more = static_cast<int64_t>(a.Ints("axes").size());
  for (int64_t axis : a.AxesIn("axes", x.rank() + more)) x = Unsqueeze(x, axis);
  return {x};
}
Tensors FlattenFunction(Arguments& a) {
  const Tensor x = a["x"];
  if (x.rank() == 0) return {Reshape(x, {1})};
  const int64_t first = a.Axis("first", x.rank()), last = a.Axis("last", x.rank());
  if (!a.ok()) return {};
  if (last < first) return {a.Fail("last", "axis ", last, " comes before axis ", first)};
  return {Flatten(x, first, last - first + 1)};
}
Tensors FlipFunction(Arguments& a) { return {Flip(a["x"], a.AxesIn("axes", a["x"].rank()))}; }

// ** joining and splitting **

// Whether all have the shape of the first but along `axis`; -1: there, too.
bool AreAlike(const Arguments& a, const Tensors& xs, int64_t axis) {
  for (size_t k = 1; k < xs.size(); ++k) {
    bool alike = xs[k].rank() == xs[0].rank();
    for (int64_t i = 0; alike && i < xs[0].rank(); ++i) {
      alike = i == axis || xs[k].dim(i) == xs[0].dim(i);
    }
    if (alike) continue;
    a.Fail("xs", "the shapes ", ToText(xs[0].shape()), " and ", ToText(xs[k].shape()),
           " do not fit together");
    return false;
  }
  return a.ok();
}
Tensors ConcatFunction(Arguments& a) {
  const Tensors xs = a.List("xs");
  const int64_t axis = a.Axis("axis", xs[0].rank());
  if (!AreAlike(a, xs, axis)) return {};
  return {Concat(xs, axis)};
}
Tensors StackFunction(Arguments& a) {
  const Tensors xs = a.List("xs");
  const int64_t axis = a.Axis("axis", xs[0].rank() + 1);
  if (!AreAlike(a, xs, -1)) return {};
  return {Stack(xs, axis)};
}
Tensors Split(Arguments& a) {
  const Tensor x = a["x"];
  const int64_t axis = a.Axis("axis", x.rank());
  Shape sizes = a.Sizes("sizes");
  const Size n = x.dim(axis);
  if (sizes.empty()) return {a.Fail("sizes", "there are none")};
  if (sizes.size() == 1 && sizes[0].is_known() &&
      n.is_known()) {  // Of equal ones, as many as needed.
    const int64_t each = sizes[0].value();
    if (each < 1) return {a.Fail("sizes", each, " given, it must be at least 1")};
    if ((n.value() - 1) / each >= 1 << 16) return {a.Fail("sizes", "more than 65536 pieces")};
    sizes.clear();
    for (int64_t begin = 0; begin < n.value() || begin == 0; begin += each) {
      sizes.emplace_back(std::min(each, n.value() - begin));
    }
  }
  Tensors pieces;
  Size begin = 0;
  for (const Size& size : sizes) {
    pieces.push_back(Slice(x, axis, begin, begin + size));
    begin = begin + size;
  }
  if (begin.is_known() && n.is_known() && !(begin == n)) {
    return {a.Fail("sizes", "they add up to ", begin.value(), ", axis ", axis, " has size ",
                   n.value())};
  }
  return pieces;
}

Tensor Repeated(const Tensor& x, int64_t axis, const Size& times, bool each) {
  return Flatten(ExpandAxis(Unsqueeze(x, each ? axis + 1 : axis), each ? axis + 1 : axis, times),
                 axis, 2);
}
Tensors Tile(Arguments& a) {
  Tensor x = a["x"];
  Shape repeats = a.Sizes("repeats");
  while (static_cast<int64_t>(repeats.size()) > x.rank() && a.ok()) x = Unsqueeze(x, 0);
  if (!a.ok()) return {};
  const int64_t first = x.rank() - static_cast<int64_t>(repeats.size());
  for (size_t i = 0; i < repeats.size(); ++i) {
    x = Repeated(x, first + static_cast<int64_t>(i), repeats[i], false);
  }
  return {x};
}
Tensors RepeatInterleave(Arguments& a) {
  const Tensor x = a["x"];
  const int64_t axis = a.Axis("axis", x.rank());
  if (!a.ok()) return {};
  return {Repeated(x, axis, a.OneSize("repeats"), true)};
}

// ** cutting **

Tensors SelectFunction(Arguments& a) {
  const Tensor x = a["x"];
  const int64_t axis = a.Axis("axis", x.rank());
  const Size i = a.OneSize("index"), n = x.dim(axis);
  if (n.is_known() && i.is_known() && (i.value() < -n.value() || i.value() >= n.value())) {
    return {a.Fail("index", i.value(), " given, axis ", axis, " has size ", n.value())};
  }
  return {Select(x, axis, i.is_known() && i.value() < 0 ? n + i : i)};
}

Tensors SliceFunction(Arguments& a) {
  Tensor x = a["x"];
  for (const Cut& cut : CutsIn(a, x)) {
    const Tensor ordered = cut.is_flipped ? Flip(x, {cut.axis}) : x;
    x = Every(Slice(ordered, cut.axis, cut.begin, cut.end), cut.axis, cut.step);
  }
  return {x};
}

// ** padding **

// x with `n` elements of itself before or after it.
Tensor Edge(const Tensor& x, int64_t axis, int64_t n, bool before, const std::string& mode) {
  const Size size = x.dim(axis);
  if (mode == "circular") {
    return before ? Slice(x, axis, size - n, size) : Slice(x, axis, 0, n);
  }
  if (mode == "reflect") {
    return Flip(before ? Slice(x, axis, 1, n + 1) : Slice(x, axis, size - 1 - n, size - 1), {axis});
  }
  return ExpandAxis(before ? Slice(x, axis, 0, 1) : Slice(x, axis, size - 1, size), axis, n);
}
Tensors PadFunction(Arguments& a) {
  Tensor x = a["x"];
  const Shape pads = a.Sizes("pads");
  const std::string mode = a.Text("mode");
  const auto axes = static_cast<int64_t>(pads.size() / 2);
  if (pads.size() % 2 != 0 || axes > x.rank()) {
    return {
        a.Fail("pads", pads.size(), " given, it needs two for each of up to ", x.rank(), " axes")};
  }
  for (int64_t i = 0; i < axes && a.ok(); ++i) {
    const int64_t axis = x.rank() - axes + i;
    const Size before = pads[static_cast<size_t>(2 * i)],
               after = pads[static_cast<size_t>(2 * i + 1)];
    const auto cut = [](const Size& s) { return s.is_known() && s.value() < 0 ? 0 - s : Size(0); };
    const auto added = [](const Size& s) { return s.is_known() && s.value() < 0 ? Size(0) : s; };
    x = Slice(x, axis, cut(before), x.dim(axis) - cut(after));
    if (mode == "constant") {
      x = Pad(x, axis, added(before), added(after), a.Float("value"));
      continue;
    }
    const Size n = x.dim(axis);
    const int64_t front = a.composer().Known(added(before), "a padding from x itself"),
                  back = a.composer().Known(added(after), "a padding from x itself");
    const int64_t size = a.composer().Bound(n);  // Of symbolic ones, Slice sees to it.
    const int64_t most = mode == "reflect"    ? size - 1
                         : mode == "circular" ? size
                         : size > 0           ? INT64_MAX
                                              : 0;
    if (std::max(front, back) > std::max<int64_t>(most, 0)) {
      return {a.Fail("pads", std::max(front, back), " given, axis ", axis, " of size ", ToText(n),
                     " allows ", std::max<int64_t>(most, 0))};
    }
    Tensors parts;
    if (front > 0) parts.push_back(Edge(x, axis, front, true, mode));
    parts.push_back(x);
    if (back > 0) parts.push_back(Edge(x, axis, back, false, mode));
    x = Concat(parts, axis);
  }
  return {x};
}

Tensors Roll(Arguments& a) {
  Tensor x = a["x"];
  const Shape shifts = a.Sizes("shifts");
  const std::vector<int64_t> axes = a.Ints("axes");
  if (shifts.size() != axes.size()) {
    return {a.Fail("shifts", shifts.size(), " given, there are ", axes.size(), " axes")};
  }
  for (size_t i = 0; i < axes.size() && a.ok(); ++i) {
    const int64_t axis = axes[i] < 0 ? axes[i] + x.rank() : axes[i];
    if (axis < 0 || axis >= x.rank()) return {a.Fail("axes", "there is no axis ", axes[i])};
    const Size n = x.dim(axis);
    if (n.Is(0)) continue;
    const Size shift = (shifts[i] % n + n) % n;
    if (shift.Is(0)) continue;
    x = Concat({Slice(x, axis, n - shift, n), Slice(x, axis, 0, n - shift)}, axis);
  }
  return {x};
}

template <bool upper>
Tensors Triangle(Arguments& a) {
  const Tensor x = a["x"];
  const Tensor row = Positions(a.composer(), DType::kInt64, x.dim(-2), 2, 0);
  const Tensor column = Positions(a.composer(), DType::kInt64, x.dim(-1), 2, 1);
  const Tensor border = row + Literal(a.composer(), DType::kInt64, a.OneSize("offset"));
  return {upper ? Where(column < border, 0, x) : Where(border < column, 0, x)};
}

Tensors MeshGrid(Arguments& a) {
  const Tensors xs = a.List("xs");
  const bool swapped = a.Text("indexing") == "xy" && xs.size() > 1;
  Shape shape;
  for (const Tensor& x : xs) shape.push_back(x.dim(0));
  if (swapped) std::swap(shape[0], shape[1]);
  Tensors grids;
  for (size_t i = 0; i < xs.size(); ++i) {
    Shape own(shape.size(), Size(1));
    own[swapped && i < 2 ? 1 - i : i] = xs[i].dim(0);
    grids.push_back(BroadcastTo(Reshape(xs[i], own), shape));
  }
  return grids;
}

Tensors SlidingWindow(Arguments& a) {
  const Tensor x = a["x"];
  const int64_t axis = a.Axis("axis", x.rank());
  const Tensor seen = Windows(MoveAxis(x, axis, -1), {{a.Int("size"), a.Int("step"), 1}});
  return {seen ? MoveAxis(seen, -2, axis) : seen};
}

InputSchema X() { return Input("x", kAny, "what is moved"); }

}  // namespace

// clang-format off
std::vector<FunctionSchema> MovementFunctions() {
  const AttributeSchema offset = OneSize("offset", "how far the diagonal is to the right").Default(int64_t{0}).Between(-1e9, 1e9);
  return {
      {.name = "reshape", .doc = "The same elements, row-major, in another shape.", .inputs = {X()},
       .attributes = {Sizes("shape", "the shape; one size may be -1: what is left").AtLeast(-1)}, .outputs = {"y"}, .compose = ReshapeFunction},
      {.name = "expand", .doc = "x broadcast to a shape.", .inputs = {X()},
       .attributes = {Sizes("shape", "the shape; -1: as it is").AtLeast(-1)}, .outputs = {"y"}, .compose = Expand},
      {.name = "permute", .doc = "Axis i of y is axis axes[i] of x.", .inputs = {X()},
       .attributes = {Ints("axes", "each axis of x once")}, .outputs = {"y"}, .compose = PermuteFunction},
      {.name = "swapaxes", .doc = "x with two axes exchanged.", .inputs = {X().Ranks(1)},
       .attributes = {Int("axis0", "the one").Default(int64_t{-2}), Int("axis1", "the other").Default(int64_t{-1})}, .outputs = {"y"}, .compose = SwapAxesFunction},
      {.name = "moveaxis", .doc = "x with one axis moved to another place.", .inputs = {X().Ranks(1)},
       .attributes = {Int("from", "the axis"), Int("to", "its place in y")}, .outputs = {"y"}, .compose = MoveAxisFunction},
      {.name = "squeeze", .doc = "x without axes of size 1.", .inputs = {X()},
       .attributes = {AxesOf("x")}, .outputs = {"y"}, .compose = SqueezeFunction},
      {.name = "unsqueeze", .doc = "x with new axes of size 1.", .inputs = {X()},
       .attributes = {Ints("axes", "their places in y")}, .outputs = {"y"}, .compose = UnsqueezeFunction},
      {.name = "flatten", .doc = "x with axes first to last in one.", .inputs = {X()},
       .attributes = {Int("first", "the first axis").Default(int64_t{0}), Int("last", "the last axis").Default(int64_t{-1})}, .outputs = {"y"}, .compose = FlattenFunction},
      {.name = "flip", .doc = "x with axes reversed.", .inputs = {X()}, .attributes = {AxesOf("x")}, .outputs = {"y"}, .compose = FlipFunction},
      {.name = "concat", .doc = "Tensors one after another along an axis; the other sizes are equal.",
       .inputs = {Input("xs", kAny, "the parts").Ranks(1).Variadic()}, .attributes = {AxisOf("xs")}, .outputs = {"y"}, .compose = ConcatFunction},
      {.name = "stack", .doc = "Tensors of one shape along a new axis.",
       .inputs = {Input("xs", kAny, "the parts").Variadic()},
       .attributes = {Int("axis", "its place in y").Default(int64_t{0})}, .outputs = {"y"}, .compose = StackFunction},
      {.name = "split", .doc = "x in pieces along an axis.", .inputs = {X().Ranks(1)},
       .attributes = {Sizes("sizes", "of the pieces; of one size, as many as needed, the last may be smaller").AtLeast(0), AxisOf("x")}, .outputs = {"pieces..."}, .compose = Split},
      {.name = "tile", .doc = "x repeated along each axis, the last ones if there are fewer numbers than axes.", .inputs = {X()},
       .attributes = {Sizes("repeats", "how often").AtLeast(0)}, .outputs = {"y"}, .compose = Tile},
      {.name = "repeat_interleave", .doc = "Each element along an axis repeated.", .inputs = {X().Ranks(1)},
       .attributes = {OneSize("repeats", "how often").AtLeast(0), AxisOf("x")}, .outputs = {"y"}, .compose = RepeatInterleave},
      {.name = "select", .doc = "One element of an axis, which goes away.", .inputs = {X().Ranks(1)},
       .attributes = {OneSize("index", "which, negative from the end; one that depends on variables counts from the beginning"), AxisOf("x")}, .outputs = {"y"}, .compose = SelectFunction},
      {.name = "slice", .doc = "x[begin:end:step] along axes, as in Python: negative ones count from the end (those that depend on variables do not), what is too large or small is cut off.", .inputs = {X()},
       .attributes = SliceAttributes(), .outputs = {"y"}, .compose = SliceFunction},
      {.name = "pad", .doc = "x with elements around: a constant, x mirrored at its edge (reflect), its edge (replicate), or its other end (circular).", .inputs = {X()},
       .attributes = {Sizes("pads", "before and after, for each of the last axes; negative ones cut off"),
                      Choice("mode", {"constant", "reflect", "replicate", "circular"}, "with what"), Float("value", "the constant").Default(0.0)}, .outputs = {"y"}, .compose = PadFunction},
      {.name = "roll", .doc = "y[i] = x[i - shift], around the end.", .inputs = {X().Ranks(1)},
       .attributes = {Sizes("shifts", "per axis"), Ints("axes", "which")}, .outputs = {"y"}, .compose = Roll},
      {.name = "triu", .doc = "x on and right of a diagonal of its last two axes, else 0.", .inputs = {X().Ranks(2)}, .attributes = {offset}, .outputs = {"y"}, .compose = Triangle<true>},
      {.name = "tril", .doc = "x on and left of a diagonal of its last two axes, else 0.", .inputs = {X().Ranks(2)}, .attributes = {offset}, .outputs = {"y"}, .compose = Triangle<false>},
      {.name = "meshgrid", .doc = "Vectors as the coordinates of a grid: output k has vector k along axis k; by \"xy\", axes 0 and 1 are exchanged.",
       .inputs = {Input("xs", kAny, "the vectors").Rank(1).Alone().Variadic()},
       .attributes = {Choice("indexing", {"ij", "xy"}, "the order of axes")}, .outputs = {"grids..."}, .compose = MeshGrid},
      {.name = "sliding_window", .doc = "Windows along an axis; their elements are a new last axis.", .inputs = {X().Ranks(1)},
       .attributes = {Int("size", "of a window").Between(1, 1 << 30), Int("step", "between windows").Default(int64_t{1}).Between(1, 1 << 30), AxisOf("x")}, .outputs = {"y"}, .compose = SlidingWindow},
  };
}
// clang-format on

}  // namespace kiln::tensor::functions
