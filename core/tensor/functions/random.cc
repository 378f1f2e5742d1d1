// Random numbers: all from THREEFRY of a key and a counter, as the `random` fixtures define them.
#include <cmath>
#include <numbers>

#include "core/tensor/functions/arguments.h"
#include "core/tensor/functions/indexing.h"
#include "core/tensor/functions/rows.h"
#include "core/tensor/functions/scan.h"
#include "core/tensor/functions/tables.h"

namespace kiln::tensor::functions {
namespace {

using enum DTypeRule;

// Words of 32 bits: the lower halves of THREEFRY of (counter + i, counter + i + half), then the upper.
Tensor Words(const Arguments& a, const Size& count) {
  const Tensor key = a["key"];
  if (!key.dim(0).Is(2)) {
    return a.Fail("key", "its shape is ", ToText(key.shape()), ", it must be (2)");
  }
  Composer& c = a.composer();
  const Size half = (count + 1) / 2;
  const auto word = [](const Tensor& t) { return Cast(Cast(t, DType::kUInt32), DType::kUInt64); };
  const Tensor upper = Literal(c, DType::kUInt64, 0x1p32),
               mask = Literal(c, DType::kUInt64, 0xffffffff);
  const Tensor low =
      Arange(c, DType::kUInt32, half) + Reshape(Cast(a["counter"], DType::kUInt32), {});
  const Tensor high = low + Literal(c, DType::kUInt32, half);
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
  Size words = 0;  // That were used.
};
// 0 <= y < 1: random bits as the fraction of numbers from 1 to 2.
Draw Uniform(const Arguments& a, const Shape& shape, DType dtype) {
  const std::optional<FloatWord> as = WordOf(dtype);
  if (!as.has_value()) {
    return {a.Fail("dtype", "it must be float16, bfloat16, float32 or float64"), 0};
  }
  const Size n = Count(shape);
  if (a.composer().Bound(n) > int64_t{1} << 31) {
    return {a.Fail("shape", "it has more than 2^31 elements"), 0};
  }
  const int64_t bytes = dtype::SizeBytes(dtype);
  const Size words = bytes == 4 ? n : (n * bytes + 3) / 4;
  if (!a.ok()) return {};
  if (n.Is(0)) return {Full(a.composer(), dtype, shape, 0), 0};
  const Tensor bits = Bitcast(Words(a, words), as->word);
  const Tensor divisor = Literal(bits, std::ldexp(1, static_cast<int>(8 * bytes) - as->mantissa));
  const Tensor one = Bitcast(Literal(a.composer(), dtype, 1), as->word);
  const Tensor fraction = Bitcast(Alu(Op::kIDiv, bits, divisor) | one, dtype) - 1;
  return {Reshape(Slice(fraction, 0, 0, n), shape), words};
}

// The values, and the counter after them.
Tensors With(const Arguments& a, const Tensor& values, const Size& words) {
  const Tensor counter = a["counter"];
  return {values, counter + Literal(a.composer(), counter.dtype(), words)};
}

Tensors Bits(Arguments& a) {
  const Shape shape = a.Sizes("shape");
  const Size n = Count(shape);
  if (n.Is(0)) return With(a, Full(a.composer(), DType::kUInt32, shape, 0), 0);
  return With(a, Reshape(Words(a, n), shape), n);
}
Tensors SplitKey(Arguments& a) {
  const Size n = a.OneSize("count");
  return With(a, Reshape(Words(a, n * 2), {n, 2}), n * 2);
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

// By the inverse of the distribution function.
Tensors Exponential(Arguments& a) {
  const Draw draw = Uniform(a, a.Sizes("shape"), DType::kFloat32);
  const Tensor y = Log(1 - draw.values) * (-1 / a.Float("rate"));
  return With(a, Cast(y, DTypeOr(a, DType::kFloat32)), draw.words);
}
Tensors Gumbel(Arguments& a) {
  const Draw draw = Uniform(a, a.Sizes("shape"), DType::kFloat32);
  // Of 0 < v < 1: halfway between the numbers that can be drawn.
  const Tensor y = -Log(-Log(draw.values + 0x1p-24));
  return With(a, Cast(y, DTypeOr(a, DType::kFloat32)), draw.words);
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
  Shape shape = x.shape();
  if (a.Has("shared_axes")) {
    for (int64_t axis : a.AxesIn("shared_axes", x.rank())) shape[static_cast<size_t>(axis)] = 1;
  }
  const Draw draw = Uniform(a, shape, DType::kFloat32);
  const double scale = p == 1 ? 0 : 1 / (1 - p);
  const Tensor scaled = Cast(Widened(x) * scale, x.dtype());
  return With(a, Where(draw.values < p, 0, scaled), draw.words);
}

Tensors Permutation(Arguments& a) {
  const Size n = a.OneSize("n");
  const Draw draw = Uniform(a, {n}, DType::kFloat32);
  return With(a, SortedBy(draw.values, 0, false, n).index, draw.words);
}

// The least of -log(v) / weight. Source: Efraimidis & Spirakis, "Weighted random sampling with a
// reservoir", Information Processing Letters 97, 2006.
Draw WithoutReplacement(const Arguments& a, const Tensor& rows, const Size& count) {
  const Size n = rows.dim(1);
  if (n.is_known() && count.is_known() && count.value() > n.value()) {
    return {a.Fail("count", count.value(), " given, there are ", n.value(), " to draw"), 0};
  }
  const Draw draw = Uniform(a, rows.shape(), DType::kFloat32);
  const Tensor wait = -Log(draw.values + 0x1p-24) / Cast(rows, DType::kFloat32);
  return {Cast(SortedBy(wait, 1, false, count).index, DType::kInt32), draw.words};
}

// How many parts of the whole weight a uniform number is beyond.
Draw WithReplacement(const Arguments& a, const Tensor& rows, const Size& count) {
  const Tensor sums = Scan(Op::kAdd, rows, 1);
  const Tensor parts = sums / Slice(sums, 1, sums.dim(1) - 1, sums.dim(1));
  const Draw draw = Uniform(a, {count, rows.dim(0)}, DType::kFloat32);
  const Tensor index = CountBefore(parts, SwapAxes(draw.values, 0, 1), /*or_equal=*/true);
  return {Cast(index, DType::kInt32), draw.words};
}

Tensors Multinomial(Arguments& a) {
  const Tensor weights = Widened(a["weights"]);
  const Tensor rows = weights.rank() == 1 ? Unsqueeze(weights, 0) : weights;
  const Size count = a.OneSize("count");
  const Draw draw =
      a.Flag("replacement") ? WithReplacement(a, rows, count) : WithoutReplacement(a, rows, count);
  return With(a, weights.rank() == 1 ? Squeeze(draw.values, {0}) : draw.values, draw.words);
}

// ** declarations **

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
std::vector<FunctionSchema> RandomFunctions() {
  return {
      Random("uniform", "Random numbers, low <= y < high, by the counter based generator Threefry-2x32-20. Source: Salmon et al., \"Parallel Random Numbers: As Easy as 1, 2, 3\", SC 2011.", {},
             {ShapeAttribute(), Float("low", "the least").Default(0.0), Float("high", "the limit").Default(1.0), Result("float32")}, UniformFunction),
      Random("normal", "Random numbers of the normal distribution. Source: Box & Muller, 1958.", {},
             {ShapeAttribute(), Float("mean", "of the distribution").Default(0.0), Float("std", "its standard deviation").Default(1.0), Result("float32")}, Normal),
      Random("randint", "Random integers, low <= y < high, of which 2^23 differ at most.", {},
             {ShapeAttribute(), Int("low", "the least"), Int("high", "the limit"), Result("int32")}, RandInt),
      Random("bernoulli", "1 with probability p, else 0, of the shape of p.", {Input("p", kFloat, "probabilities")}, {Result("float32")}, Bernoulli),
      Random("dropout", "0 with probability p, else x / (1 - p). Source: Srivastava et al., JMLR 15, 2014.", {Input("x", kFloat, "what is thinned out").Alone()},
             {Float("p", "the probability of 0").Default(0.5).Between(0, 1),
              Ints("shared_axes", "axes along which all are kept or none, as for whole channels; none if left out").Optional()}, Dropout),
      Random("permutation", "0 .. n - 1 in random order, int64.", {}, {OneSize("n", "how many").AtLeast(1)}, Permutation),
      Random("multinomial", "Indices with probabilities in proportion to weights [n] or [rows, n]: [count] or [rows, count], int32. Without replacement each is drawn once at most, of weight 0 only when no other is left. Source of that: Efraimidis & Spirakis, Information Processing Letters 97, 2006.",
             {Input("weights", kFloat, "not negative").Ranks(1, 2)},
             {OneSize("count", "how many").AtLeast(1), Flag("replacement", true, "whether what was drawn may be drawn again")}, Multinomial),
      Random("exponential", "Random numbers of the exponential distribution: -log(1 - v) / rate for v as uniform draws them.", {},
             {ShapeAttribute(), Float("rate", "1 / the mean").Default(1.0).AtLeast(1e-30), Result("float32")}, Exponential),
      Random("gumbel", "Random numbers of the Gumbel distribution: -log(-log(v + 2^-24)) for v as uniform draws them.", {}, {ShapeAttribute(), Result("float32")}, Gumbel),
      Random("random_bits", "Random words, uint32: word i of n is the lower half of Threefry-2x32-20 of (counter + i, counter + i + h), where h = ceil(n / 2), or the upper half of that of i - h.", {},
             {ShapeAttribute()}, Bits),
      Random("split_key", "Keys of their own, [count, 2], uint32: what is drawn from them is independent of what is drawn from this one.", {},
             {OneSize("count", "how many").Default(int64_t{2}).AtLeast(1)}, SplitKey),
  };
}
// clang-format on

}  // namespace kiln::tensor::functions
