// Tensors out of attributes, and random ones.
#include <cmath>
#include <numbers>

#include "core/tensor/functions/algebra.h"
#include "core/tensor/functions/arguments.h"
#include "core/tensor/functions/indexing.h"
#include "core/tensor/functions/scan.h"
#include "core/tensor/functions/tables.h"

namespace kiln::tensor::functions {
namespace {

using enum DTypeRule;

DType DTypeOr(const Arguments& a, DType otherwise) {
  return a.DTypeIn("dtype").value_or(otherwise);
}

Tensors FullFunction(Arguments& a) {
  return {Full(a.composer(), DTypeOr(a, DType::kFloat32), a.Sizes("shape"), a.Float("value"))};
}
Tensors FullLike(Arguments& a) {
  const Tensor x = a["x"];
  return {Full(a.composer(), DTypeOr(a, x.dtype()), x.shape(), a.Float("value"))};
}

// start + i step, rounded once to the dtype.
Tensor Progression(Arguments& a, int64_t n, double start, double step, DType dtype) {
  if (dtype::IsFloat(dtype)) {
    const Tensor i = Cast(Arange(a.composer(), DType::kInt64, n), DType::kFloat64);
    return Cast(i * step + start, dtype);
  }
  const DType wide = DType::kInt64;
  return Cast(Arange(a.composer(), wide, n) * step + start, dtype);
}

Tensors ArangeFunction(Arguments& a) {
  const double start = a.Float("start"), stop = a.Float("stop"), step = a.Float("step");
  const bool whole = std::trunc(start) == start && std::trunc(step) == step;
  const DType dtype = DTypeOr(a, whole ? DType::kInt64 : DType::kFloat32);
  if (step == 0) return {a.Fail("step", "0 given")};
  if (!whole && !dtype::IsFloat(dtype)) {
    return {a.Fail("dtype", "start or step is not whole, it must be a float")};
  }
  const double count = std::max(0.0, std::ceil((stop - start) / step));
  if (!(count < 0x1p42)) return {a.Fail("stop", "there would be ", count, " elements")};
  return {Progression(a, static_cast<int64_t>(count), start, step, dtype)};
}

Tensors Linspace(Arguments& a) {
  const double start = a.Float("start"), stop = a.Float("stop");
  const int64_t n = a.Int("count");
  const DType dtype = DTypeOr(a, DType::kFloat32);
  if (!dtype::IsFloat(dtype)) return {a.Fail("dtype", "it must be a float")};
  const double step = n > 1 ? (stop - start) / static_cast<double>(n - 1) : 0;
  return {Progression(a, n, start, step, dtype)};
}

Tensors Eye(Arguments& a) {
  const Size rows = a.Int("rows"), columns = a.Has("columns") ? Size(a.Int("columns")) : rows;
  const Tensor row = Positions(a.composer(), DType::kInt64, rows, 2, 0);
  const Tensor column = Positions(a.composer(), DType::kInt64, columns, 2, 1);
  return {
      Cast(Equal(column, row + static_cast<double>(a.Int("offset"))), DTypeOr(a, DType::kFloat32))};
}

Tensors Iota(Arguments& a) {
  const Shape shape = a.Sizes("shape");
  const auto rank = static_cast<int64_t>(shape.size());
  const int64_t axis = a.Axis("axis", rank);
  const DType dtype = DTypeOr(a, DType::kInt64);
  if (!a.ok()) return {};
  const Tensor i =
      Positions(a.composer(), dtype::IsFixedWidthInteger(dtype) ? dtype : DType::kInt64,
                shape[static_cast<size_t>(axis)], rank, axis);
  return {BroadcastTo(Cast(i, dtype), shape)};
}

// ** random **

// Words of 32 bits: the lower halves of THREEFRY of (counter + i, counter + i + half), then the upper.
Tensor Words(const Arguments& a, int64_t count) {
  const Tensor key = a["key"];
  if (!key.dim(0).Is(2)) {
    return a.Fail("key", "its shape is ", ToText(key.shape()), ", it must be (2)");
  }
  Composer& c = a.composer();
  const int64_t half = (count + 1) / 2;
  const auto word = [](const Tensor& t) { return Cast(Cast(t, DType::kUInt32), DType::kUInt64); };
  const Tensor upper = Literal(c, DType::kUInt64, 0x1p32),
               mask = Literal(c, DType::kUInt64, 0xffffffff);
  const Tensor low =
      Arange(c, DType::kUInt32, half) + Reshape(Cast(a["counter"], DType::kUInt32), {});
  const Tensor high = low + Literal(c, DType::kUInt32, static_cast<double>(half));
  const Tensor counts = word(high) * upper | word(low);
  const Tensor keys = word(Select(key, 0, 1)) * upper | word(Select(key, 0, 0));
  const Tensor bits = Alu(Op::kThreefry, counts, keys);
  const Tensor first = Cast(bits & mask, DType::kUInt32);
  const Tensor second = Cast(Alu(Op::kIDiv, bits, upper), DType::kUInt32);
  return Slice(Concat({first, second}, 0), 0, 0, count);
}

// What a dtype of floats needs for numbers below 1: a word of its size, and how many bits of it.
struct FloatWord {
  DType word;
  int mantissa;
};
std::optional<FloatWord> WordOf(DType d) {
  switch (d) {
    case DType::kFloat16:
      return FloatWord{DType::kUInt16, 10};
    case DType::kBFloat16:
      return FloatWord{DType::kUInt16, 7};
    case DType::kFloat32:
      return FloatWord{DType::kUInt32, 23};
    case DType::kFloat64:
      return FloatWord{DType::kUInt64, 52};
    default:
      return std::nullopt;
  }
}

struct Draw {
  Tensor values;
  int64_t words = 0;  // That were used.
};
// 0 <= y < 1: random bits as the fraction of numbers from 1 to 2.
Draw Uniform(const Arguments& a, const Shape& shape, DType dtype) {
  const std::optional<FloatWord> as = WordOf(dtype);
  if (!as.has_value()) {
    return {a.Fail("dtype", "it must be float16, bfloat16, float32 or float64"), 0};
  }
  const int64_t n = a.composer().Known(Count(shape), "the number of random elements");
  if (n > int64_t{1} << 31) return {a.Fail("shape", "it has more than 2^31 elements"), 0};
  const int64_t bytes = dtype::SizeBytes(dtype), words = (n * bytes + 3) / 4;
  if (!a.ok()) return {};
  if (n == 0) return {Full(a.composer(), dtype, shape, 0), 0};
  const Tensor bits = Bitcast(Words(a, words), as->word);
  const Tensor divisor = Literal(bits, std::ldexp(1, static_cast<int>(8 * bytes) - as->mantissa));
  const Tensor one = Bitcast(Literal(a.composer(), dtype, 1), as->word);
  const Tensor fraction = Bitcast(Alu(Op::kIDiv, bits, divisor) | one, dtype) - 1;
  return {Reshape(Slice(fraction, 0, 0, n), shape), words};
}

// The values, and the counter after them.
Tensors With(const Arguments& a, const Tensor& values, int64_t words) {
  const Tensor counter = a["counter"];
  return {values, counter + static_cast<double>(words)};
}

Tensors UniformFunction(Arguments& a) {
  const DType dtype = DTypeOr(a, DType::kFloat32);
  const Draw draw = Uniform(a, a.Sizes("shape"), dtype);
  const double low = a.Float("low"), high = a.Float("high");
  if (low == 0 && high == 1) return With(a, draw.values, draw.words);
  return With(a, draw.values * (high - low) + low, draw.words);
}

// Source: Box & Muller, "A Note on the Generation of Random Normal Deviates", 1958.
Tensors Normal(Arguments& a) {
  Shape shape = a.Sizes("shape");
  shape.insert(shape.begin(), Size(2));
  const Draw draw = Uniform(a, shape, DType::kFloat32);
  const Tensor angle = Select(draw.values, 0, 0) * (2 * std::numbers::pi);
  const Tensor radius = Sqrt(Log(1 - Select(draw.values, 0, 1)) * -2);
  const Tensor y = Cast(Cos(angle) * radius, DTypeOr(a, DType::kFloat32));
  const double mean = a.Float("mean"), std = a.Float("std");
  return With(a, mean == 0 && std == 1 ? y : y * std + mean, draw.words);
}

Tensors RandInt(Arguments& a) {
  const double low = static_cast<double>(a.Int("low")), high = static_cast<double>(a.Int("high"));
  if (!(low < high)) return {a.Fail("high", high, " given, it must be above low, ", low)};
  const Draw draw = Uniform(a, a.Sizes("shape"), DType::kFloat32);
  const DType dtype = DTypeOr(a, DType::kInt32);
  if (!dtype::IsFixedWidthInteger(dtype)) return {a.Fail("dtype", "it must be an integer")};
  return With(a, Cast(draw.values * (high - low), dtype) + low, draw.words);
}

Tensors Bernoulli(Arguments& a) {
  const Tensor p = Cast(a["p"], DType::kFloat32);
  const Draw draw = Uniform(a, p.shape(), DType::kFloat32);
  return With(a, Cast(draw.values < p, DTypeOr(a, DType::kFloat32)), draw.words);
}

Tensors Dropout(Arguments& a) {
  const Tensor x = a["x"];
  const double p = a.Float("p");
  if (p == 0) return With(a, x, 0);
  const Draw draw = Uniform(a, x.shape(), DType::kFloat32);
  const double scale = p == 1 ? 0 : 1 / (1 - p);
  const Tensor scaled = Cast(Widened(x) * scale, x.dtype());
  return With(a, Where(draw.values < p, 0, scaled), draw.words);
}

Tensors Permutation(Arguments& a) {
  const Draw draw = Uniform(a, {a.Int("n")}, DType::kFloat32);
  return With(a, SortedBy(draw.values, 0, false, a.Int("n")).index, draw.words);
}

// How many parts of the whole weight a uniform number is beyond.
Tensors Multinomial(Arguments& a) {
  const Tensor weights = Widened(a["weights"]);
  const Tensor rows = weights.rank() == 1 ? Unsqueeze(weights, 0) : weights;
  const Size n = a.Int("count");
  const Tensor sums = Scan(Op::kAdd, rows, 1);
  const Tensor parts = sums / Slice(sums, 1, sums.dim(1) - 1, sums.dim(1));
  const Draw draw = Uniform(a, {n, rows.dim(0), 1}, DType::kFloat32);
  const Tensor is_beyond = ~(draw.values < parts);  // [count, rows, weights]
  const Tensor index = SwapAxes(Sum(Where(is_beyond, 1.0, 0.0, DType::kInt32), {2}), 0, 1);
  return With(a, weights.rank() == 1 ? Squeeze(index, {0}) : index, draw.words);
}

// ** declarations **

AttributeSchema Result(std::string_view otherwise) {
  return DTypeIn("dtype", absl::StrCat("of the result; ", std::string(otherwise), " if left out"))
      .Optional();
}
AttributeSchema ShapeAttribute() { return Sizes("shape", "the shape").AtLeast(0); }

FunctionSchema Random(std::string_view name, std::string_view doc, std::vector<InputSchema> inputs,
                      std::vector<AttributeSchema> attributes, Tensors (*f)(Arguments&)) {
  FunctionSchema row;
  row.name = name;
  row.doc = doc;
  row.inputs = {
      Input("key", kInteger, "[2], uint32: what numbers are drawn from"),
      Input("counter", kInteger, "how many words of 32 bits were drawn before; one element, uint32")
          .Ranks(0, 1)};
  row.inputs[0] = std::move(row.inputs[0]).Rank(1);
  row.inputs.insert(row.inputs.end(), inputs.begin(), inputs.end());
  row.attributes = std::move(attributes);
  row.outputs = {"y", "new_counter"};
  row.compose = f;
  return row;
}

}  // namespace

// clang-format off
std::vector<FunctionSchema> CreationFunctions() {
  return {
      {.name = "full", .doc = "A value in each element.", .inputs = {},
       .attributes = {ShapeAttribute(), Float("value", "rounded to the dtype"), Result("float32")}, .outputs = {"y"}, .compose = FullFunction},
      {.name = "full_like", .doc = "A value in each element, in the shape of x.", .inputs = {Input("x", kAny, "gives shape and dtype")},
       .attributes = {Float("value", "rounded to the dtype"), Result("that of x")}, .outputs = {"y"}, .compose = FullLike},
      {.name = "arange", .doc = "start, start + step, ... below stop (above, if step is negative).", .inputs = {},
       .attributes = {Float("stop", "where it ends"), Float("start", "where it begins").Default(0.0), Float("step", "between elements").Default(1.0),
                      Result("int64 for whole numbers, else float32")}, .outputs = {"y"}, .compose = ArangeFunction},
      {.name = "linspace", .doc = "count numbers from start to stop, both included, equally far apart.", .inputs = {},
       .attributes = {Float("start", "the first"), Float("stop", "the last"), Int("count", "how many").AtLeast(0), Result("float32")}, .outputs = {"y"}, .compose = Linspace},
      {.name = "eye", .doc = "1 on a diagonal, else 0.", .inputs = {},
       .attributes = {Int("rows", "how many").AtLeast(0), Int("columns", "how many; rows if left out").AtLeast(0).Optional(),
                      Int("offset", "how far the diagonal is to the right").Default(int64_t{0}).Between(-1e9, 1e9), Result("float32")}, .outputs = {"y"}, .compose = Eye},
      {.name = "iota", .doc = "The index along an axis.", .inputs = {},
       .attributes = {ShapeAttribute(), Int("axis", "which").Default(int64_t{-1}), Result("int64")}, .outputs = {"y"}, .compose = Iota},

      Random("uniform", "Random numbers, low <= y < high, by the counter based generator Threefry-2x32-20. Source: Salmon et al., \"Parallel Random Numbers: As Easy as 1, 2, 3\", SC 2011.", {},
             {ShapeAttribute(), Float("low", "the least").Default(0.0), Float("high", "the limit").Default(1.0), Result("float32")}, UniformFunction),
      Random("normal", "Random numbers of the normal distribution. Source: Box & Muller, 1958.", {},
             {ShapeAttribute(), Float("mean", "of the distribution").Default(0.0), Float("std", "its standard deviation").Default(1.0), Result("float32")}, Normal),
      Random("randint", "Random integers, low <= y < high, of which 2^23 differ at most.", {},
             {ShapeAttribute(), Int("low", "the least"), Int("high", "the limit"), Result("int32")}, RandInt),
      Random("bernoulli", "1 with probability p, else 0, of the shape of p.", {Input("p", kFloat, "probabilities")}, {Result("float32")}, Bernoulli),
      Random("dropout", "0 with probability p, else x / (1 - p). Source: Srivastava et al., JMLR 15, 2014.", {Input("x", kFloat, "what is thinned out").Alone()},
             {Float("p", "the probability of 0").Default(0.5).Between(0, 1)}, Dropout),
      Random("permutation", "0 .. n - 1 in random order, int64.", {}, {Int("n", "how many").AtLeast(1)}, Permutation),
      Random("multinomial", "Indices with probabilities in proportion to weights [n] or [rows, n]: [count] or [rows, count], int32. Drawn with replacement.",
             {Input("weights", kFloat, "not negative").Ranks(1, 2)}, {Int("count", "how many").AtLeast(1)}, Multinomial),
  };
}
// clang-format on

}  // namespace kiln::tensor::functions
