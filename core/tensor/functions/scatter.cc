// ScatterLast of indexing.h, and the functions that write at computed places.
#include <algorithm>

#include "core/tensor/functions/arguments.h"
#include "core/tensor/functions/indexing.h"
#include "core/tensor/functions/network.h"
#include "core/tensor/functions/slicing.h"
#include "core/tensor/functions/tables.h"

namespace kiln::tensor::functions {
namespace {

double IdentityOf(Reduction r, DType d) {
  return r == Reduction::kMax ? Lowest(d) : r == Reduction::kProduct ? 1 : 0;
}
Op OpOf(Reduction r) {
  return r == Reduction::kMax ? Op::kMax : r == Reduction::kProduct ? Op::kMul : Op::kAdd;
}

// Each place looks through all sources.
Scattered Direct(const Tensor& key, const Tensor& source, const Size& n, Reduction reduction) {
  Composer& c = *key.composer();
  const int64_t last = key.rank();
  const Tensor place = Positions(c, key.dtype(), n, last + 1, last - 1);
  const Tensor is_hit = Equal(Unsqueeze(key, -2), place);
  const DType index = IndexDType(key.dim(-1));
  const Tensor count = Sum(Where(is_hit, 1.0, 0.0, index), {last});
  if (reduction == Reduction::kLast) {
    const Tensor from = Positions(c, index, key.dim(-1), last + 1, last);
    const Tensor latest = Max(Where(is_hit, from, -1), {last});
    return {GatherAlong(source, latest, source.rank() - 1), count};
  }
  const double identity = IdentityOf(reduction, source.dtype());
  const Tensor chosen = Where(is_hit, Unsqueeze(source, -2), identity);
  return {Reduce(OpOf(reduction), chosen, {last}), count};
}

// y[i] = x[i - d] along the last axis, `first` before.
Tensor Shifted(const Tensor& x, const Size& d, double first) {
  return Pad(Slice(x, -1, 0, x.dim(-1) - d), -1, d, 0, first);
}

// By sorting keys: sources of one place are neighbours then, and are combined in as many steps as the
// logarithm of their number. Each place looks for the last one of its own.
Scattered BySorting(const Tensor& key, const Tensor& source, const Size& n, Reduction reduction) {
  Composer& c = *key.composer();
  const int64_t axis = source.rank() - 1;
  const Size m = key.dim(-1);
  const int64_t most = c.Bound(m);
  const Tensor none = Literal(c, key.dtype(), n);
  const Tensor inside = Where((key < 0) | ~(key < none), none, key);
  const Tensor words = Smallest(WordsOf(Cast(inside, DType::kInt32)), m);
  const Tensor sorted = Cast(Alu(Op::kShr, words, Integer(c, DType::kInt64, 32)), DType::kInt32);
  Tensor value = GatherAlong(source, PositionIn(words), axis);
  if (reduction != Reduction::kLast) {
    int step = 0;
    for (int64_t d = 1; d < most && c.ok(); d *= 2) {
      // With unknown sizes, d may be beyond the end.
      const Size by = m.is_known() ? Size(d) : Min(m, d);
      const Tensor is_same = Equal(sorted, Shifted(sorted, by, -1));
      value = Where(is_same, Alu(OpOf(reduction), value, Shifted(value, by, 0)), value);
      if (++step % 2 == 0) value = c.Take(c.builder().Contiguous(value.value()));
    }
  }
  const Tensor places = Arange(c, DType::kInt32, n);
  const Tensor end = CountBefore(sorted, places, true), begin = CountBefore(sorted, places, false);
  return {GatherAlong(value, Maximum(end - 1, 0), axis), end - begin};
}

// Up to so many places or sources each place looks through all sources.
constexpr int64_t kFew = 64;

}  // namespace

Scattered ScatterLast(const Tensor& key, const Tensor& source, const Size& n, Reduction reduction) {
  if (!key || !source || !key.composer()->ok()) return {};
  Composer& c = *key.composer();
  const int64_t places = c.Bound(n), sources = c.Bound(key.dim(-1));
  const bool fits = std::max(places, sources) < (int64_t{1} << 31) - 1;
  const bool direct = !fits || std::min(places, sources) <= kFew;
  return direct ? Direct(key, source, n, reduction) : BySorting(key, source, n, reduction);
}

namespace {

using enum DTypeRule;

enum class Into { kSet, kSum, kMean, kProduct, kMax, kMin };
Into IntoIn(const std::string& name) {
  return name == "sum"    ? Into::kSum
         : name == "mean" ? Into::kMean
         : name == "prod" ? Into::kProduct
         : name == "max"  ? Into::kMax
         : name == "min"  ? Into::kMin
                          : Into::kSet;
}

// x [..., n] with what comes from sources [..., m] at keys, whose other axes broadcast to those of x.
Tensor Written(const Tensor& x, const Tensor& key, const Tensor& source, Into into,
               bool with_self) {
  const Size n = x.dim(-1);
  if (into == Into::kMin) {
    return ReversedOrder(
        Written(ReversedOrder(x), key, ReversedOrder(source), Into::kMax, with_self));
  }
  const Reduction reduction = into == Into::kSet       ? Reduction::kLast
                              : into == Into::kProduct ? Reduction::kProduct
                              : into == Into::kMax     ? Reduction::kMax
                                                       : Reduction::kSum;
  const bool wide = into != Into::kSet && into != Into::kMax;
  const Tensor self = wide ? Widened(x) : x;
  const Scattered got = ScatterLast(key, wide ? Widened(source) : source, n, reduction);
  if (!got.value) return {};
  const Tensor is_hit = got.count > 0;
  Tensor value = got.value;
  if (into == Into::kMean) {
    const Tensor count = Cast(got.count, self.dtype());
    const Tensor sum = with_self ? self + Where(is_hit, value, 0) : value;
    const Tensor by = with_self ? count + 1 : Maximum(count, 1);
    value = x.is_float() ? sum / by : Alu(Op::kIDiv, sum, by);
  } else if (with_self && into != Into::kSet) {
    value = Alu(OpOf(reduction), self, value);
  }
  return Where(is_hit, Cast(value, x.dtype()), x);
}

Tensors Scatter(Arguments& a) {
  const Tensor x = a["x"], index = a["index"], given = a["source"];
  const int64_t axis = a.Axis("axis", x.rank());
  if (!a.ok() || !FitsInside(a, "index", index, x, axis)) return {};
  const Tensor key = MoveAxis(FromEnd(index, x.dim(axis)), axis, -1);
  const Tensor source = MoveAxis(BroadcastTo(given, index.shape()), axis, -1);
  const Tensor lines = MoveAxis(x, axis, -1);
  // Beyond the sizes of the index on other axes nothing is written.
  Tensor part = lines, inside;
  for (int64_t i = 0; i + 1 < lines.rank(); ++i) {
    if (key.dim(i) == lines.dim(i)) continue;
    part = Slice(part, i, 0, key.dim(i));
    const Tensor is_in = Positions(a.composer(), DType::kInt64, lines.dim(i), lines.rank(), i) <
                         Literal(a.composer(), DType::kInt64, key.dim(i));
    inside = inside ? inside & is_in : is_in;
  }
  Tensor y = Written(part, key, source, IntoIn(a.Text("reduce")), a.Flag("include_self"));
  if (inside && y) {
    for (int64_t i = 0; i + 1 < lines.rank(); ++i) y = Pad(y, i, 0, lines.dim(i) - y.dim(i));
    y = Where(inside, y, lines);
  }
  return {MoveAxis(y, -1, axis)};
}

// The positions of the indices go along one axis: it comes last, the sources likewise.
Tensors IndexPut(Arguments& a) {
  const Tensor x = a["x"];
  const Tensors indices = a.List("indices");
  const Axes axes = IndexAxesIn(a, x, indices);
  if (!a.ok()) return {};
  const Indexed at = WithIndices(x, indices, axes);
  if (!a.ok()) return {};
  // The shape of what `index` gives.
  const Shape taken = at.position.shape();
  Shape shape = at.x.shape();
  shape.erase(shape.begin() + at.axis);
  shape.insert(shape.begin() + at.axis, taken.begin(), taken.end());
  const Tensor values = BroadcastTo(a["values"], shape);
  if (!a.ok()) return {};
  const auto dims = static_cast<int64_t>(taken.size());
  const Size count = Count(taken);
  const Tensor source = MoveAxis(
      dims == 0 ? Unsqueeze(values, at.axis) : Flatten(values, at.axis, dims), at.axis, -1);
  const Tensor lines = MoveAxis(at.x, at.axis, -1);
  Shape row(static_cast<size_t>(lines.rank()), Size(1));
  row.back() = count;
  const Into into = a.Flag("accumulate") ? Into::kSum : Into::kSet;
  const Tensor written = Written(lines, Reshape(at.position, row), source, into, true);
  if (!a.ok()) return {};
  // Back: the axes that came together apart again, each to its place.
  Shape apart;
  Axes back(at.order.size());
  for (size_t i = 0; i < at.order.size(); ++i) {
    apart.push_back(x.dim(at.order[i]));
    back[static_cast<size_t>(at.order[i])] = static_cast<int64_t>(i);
  }
  return {Permute(Reshape(MoveAxis(written, -1, at.axis), apart), back)};
}

// The parts of `x` that are cut out, one axis at a time: what is written goes the way back.
Tensors SlicePut(Arguments& a) {
  const Tensor x = a["x"];
  const std::vector<Cut> cuts = CutsIn(a, x);
  if (!a.ok()) return {};
  Shape shape = x.shape();
  for (const Cut& cut : cuts) {
    shape[static_cast<size_t>(cut.axis)] = (cut.end - cut.begin + (cut.step - 1)) / cut.step;
  }
  Tensor value = BroadcastTo(a["values"], shape);
  Tensor is_written = Full(a.composer(), DType::kBool, shape, 1);
  for (const Cut& cut : cuts) {
    const Size n = x.dim(cut.axis);
    const auto back = [&](const Tensor& t) {
      if (!t) return t;
      Tensor spread = t;
      if (cut.step > 1) {
        const int64_t next = cut.axis + 1;
        spread = Flatten(Pad(Unsqueeze(t, next), next, 0, cut.step - 1), cut.axis, 2);
        spread = Slice(spread, cut.axis, 0, cut.end - cut.begin);
      }
      spread = Pad(spread, cut.axis, cut.begin, n - cut.end);
      return cut.is_flipped ? Flip(spread, {cut.axis}) : spread;
    };
    value = back(value);
    is_written = back(is_written);
  }
  return {Where(is_written, Cast(value, x.dtype()), x)};
}

// ** counts **

Tensors BinCount(Arguments& a) {
  const Tensor x = Reshape(a["x"], {Count(a["x"].shape())});
  const Tensor weights = a["weights"];
  const Size n = a.OneSize("size");
  const Tensor key = Cast(x, DType::kInt64);
  if (!weights) {
    const Tensor zero = Full(a.composer(), DType::kInt32, {1}, 0);
    return {Cast(ScatterLast(key, BroadcastTo(zero, x.shape()), n, Reduction::kSum).count,
                 DType::kInt64)};
  }
  if (weights.shape() != a["x"].shape()) return {a.Shaped("weights", a["x"].shape())};
  const Tensor flat = Reshape(Widened(weights), x.shape());
  const Scattered got = ScatterLast(key, flat, n, Reduction::kSum);
  return {Cast(Where(got.count > 0, got.value, 0), weights.dtype())};
}

Tensors Histogram(Arguments& a) {
  const Tensor x = Reshape(Widened(a["x"]), {Count(a["x"].shape())});
  const double low = a.Float("min"), high = a.Float("max");
  const int64_t bins = a.Int("bins");
  if (!(low < high)) return {a.Fail("max", high, " given, it must be above min, ", low)};
  const auto n = static_cast<double>(bins);
  const Tensor bin = Minimum(Floor((x - low) * (n / (high - low))), n - 1);
  // NaN is in no bin.
  const Tensor is_in = ~(x < low) & ~(x > high) & Equal(x, x);
  const Tensor key = Where(is_in, Cast(bin, DType::kInt64), -1);
  const Tensor zero = Full(a.composer(), DType::kInt32, {1}, 0);
  const Scattered got = ScatterLast(key, BroadcastTo(zero, x.shape()), bins, Reduction::kSum);
  return {Cast(got.count, DType::kInt64)};
}

}  // namespace

// clang-format off
std::vector<FunctionSchema> ScatterFunctions() {
  const InputSchema indices = Input("indices", kInteger, "index arrays, which broadcast; negative from the end; what is outside is not written").Variadic();
  return {
      {.name = "scatter", .doc = "x, where y[i, index[i, j], ...] is set to source[i, j, ...] or reduced with it, for axis 1. Of several that set, the last wins; indices outside write nothing. index may be smaller than x on other axes; source broadcasts to it. In work of the product of both sizes of the axis if one is at most 64, else by sorting the m indices, of m log(m)^2 + n log(m).",
       .inputs = {Input("x", kNumber, "what is written to").Ranks(1), Input("index", kInteger, "indices, negative from the end").Ranks(1), Input("source", kNumber, "what is written")},
       .attributes = {AxisOf("x"), Choice("reduce", {"set", "sum", "mean", "prod", "max", "min"}, "what becomes of x and the sources; a mean of integers truncates"),
                      Flag("include_self", true, "whether x itself counts where something is written")},
       .outputs = {"y"}, .compose = Scatter},
      {.name = "index_put", .doc = "x, where x[i0, i1, ...] is set to values, or they are added: index arrays for some axes, as for index, to whose result the values broadcast. Of several that set, the last wins. In work as scatter.",
       .inputs = {Input("x", kNumber, "what is written to").Ranks(1), Input("values", kNumber, "what is written"), indices},
       .attributes = {IndexAxes(), Flag("accumulate", false, "whether values are added")}, .outputs = {"y"}, .compose = IndexPut},
      {.name = "slice_put", .doc = "x, where what slice would cut out is set to values, which broadcast to it.",
       .inputs = {Input("x", kAny, "what is written to"), Input("values", kAny, "what is written; cast to the dtype of x").Alone()},
       .attributes = SliceAttributes(), .outputs = {"y"}, .compose = SlicePut},
      {.name = "bincount", .doc = "How often each of 0 .. size - 1 is in x, int64; or the sum of the weights of where it is. Others do not count.",
       .inputs = {Input("x", kInteger, "numbers"), Input("weights", kNumber, "of the shape of x").Alone().Optional()},
       .attributes = {OneSize("size", "how many numbers are counted").AtLeast(0)}, .outputs = {"counts"}, .compose = BinCount},
      {.name = "histogram", .doc = "How many elements are in each of equal bins from min to max, int64: bin floor((x - min) bins / (max - min)), where max is in the last. Others do not count.",
       .inputs = {Input("x", kFloat, "numbers")},
       .attributes = {Int("bins", "how many").Between(1, 1 << 30), Float("min", "where the first begins"), Float("max", "where the last ends")},
       .outputs = {"counts"}, .compose = Histogram},
  };
}
// clang-format on

}  // namespace kiln::tensor::functions
