#include "tests/unit/uop/random_graph.h"

#include <limits>
#include <string>

#include "core/dtype/cast.h"
#include "core/uop/syntax.h"

namespace kiln::uop {
namespace {

using support::Random;

template <typename T, size_t n>
T Pick(Random& random, const T (&choices)[n]) {
  return choices[static_cast<size_t>(random.Uniform(0, n - 1))];
}

Scalar RandomScalar(Random& random, DType d) {
  if (dtype::IsFloat(d)) {
    const double special[] = {0.0,
                              -0.0,
                              1.0,
                              0.1,
                              1e-40,
                              1e30,
                              448.0,
                              std::numeric_limits<double>::quiet_NaN(),
                              std::numeric_limits<double>::infinity(),
                              -std::numeric_limits<double>::infinity()};
    if (random.Chance(1, 2)) {
      return *dtype::Cast(Scalar::Float(Pick(random, special)), DType::kFloat64, d);
    }
    if (random.Chance(1, 2)) {
      return Scalar::Float(
          dtype::RoundToFloat(static_cast<double>(random.Uniform(-300, 300)) / 10, d));
    }
    return d == DType::kFloat64 ? Scalar::Float(std::bit_cast<double>(random.Next()))
                                : dtype::FromBits(random.Next(), d);
  }
  if (d == DType::kIndex && random.Chance(1, 4)) {
    return Scalar::Int(static_cast<int64_t>(random.Next()));
  }
  if (random.Chance(1, 2)) return *dtype::WrapInteger(random.Uniform(-9, 99), d);
  return *dtype::WrapInteger(static_cast<int64_t>(random.Next()), d);
}

std::string RandomText(Random& random) {
  const std::string_view names[] = {"",     "i",   "n", "r0",  "rm1",       "gidx0", "add",
                                    "true", "nan", "_", "a b", "x\"y\\z\n", "r007"};
  if (random.Chance(5, 6)) return std::string(Pick(random, names));
  std::string s;
  for (int64_t i = random.Uniform(0, 50); i > 0; --i) s += static_cast<char>(random.Next());
  return s;
}

DType RandomDType(Random& random, bool with_void) {
  return static_cast<DType>(random.Uniform(with_void ? 0 : 1, dtype::kNumDTypes - 1));
}

Ref RandomNode(Graph& g, Random& random) {
  Op op = static_cast<Op>(random.Uniform(0, kNumOps - 1));
  const bool leaf = g.size() < 8 || random.Chance(1, 5);
  const Op leaves[] = {Op::kConst, Op::kConst, Op::kVariable, Op::kParam, Op::kInput};
  if (leaf) op = Pick(random, leaves);
  std::vector<Ref> src;
  const int64_t min = Info(op).min_src, max = std::min<int64_t>(MaxSources(op), min + 3);
  for (int64_t i = g.size() == 0 ? 0 : random.Uniform(min, max); i > 0; --i) {
    // Mostly recent ones, so that graphs become deep.
    const int64_t from = random.Chance(2, 3) ? std::max<int64_t>(0, g.size() - int64_t{10}) : 0;
    src.push_back(g.At(static_cast<UOpId>(random.Uniform(from, g.size() - int64_t{1}))));
  }
  const bool needs_value = op == Op::kConst || op == Op::kVariable;
  const std::optional<DType> implied = internal::ImpliedDType(op, src);
  DType d = RandomDType(random, !needs_value);
  if (implied.has_value() && random.Chance(7, 8)) d = *implied;
  if (leaf && random.Chance(1, 2)) d = DType::kIndex;
  const auto tag = static_cast<uint8_t>(random.Chance(1, 20) ? random.Uniform(1, 255) : 0);
  return g.Make(op, d, src, RandomArg(g, random, op, d), tag);
}

}  // namespace

Arg RandomArg(Graph& g, Random& random, Op op, DType d) {
  switch (Info(op).arg) {
    case ArgKind::kNone:
      return {};
    case ArgKind::kScalar:
      return Arg::Of(RandomScalar(random, d));
    case ArgKind::kInt:
      return Arg::Int(random.Chance(1, 2) ? random.Uniform(-2, 4)
                                          : static_cast<int64_t>(random.Next()));
    case ArgKind::kRange: {
      const int32_t axes[] = {0, 1, 2, -1, -2, INT32_MAX, INT32_MIN};
      return Arg::Of(RangeArg{Pick(random, axes),
                              static_cast<AxisType>(random.Uniform(0, kNumAxisTypes - 1))});
    }
    case ArgKind::kReduce: {
      const Op ops[] = {Op::kAdd, Op::kMul, Op::kMax};
      return Arg::Of(ReduceArg{Pick(random, ops),
                               static_cast<uint32_t>(random.Next()) >> random.Uniform(0, 31)});
    }
    case ArgKind::kPayload:
      break;
  }
  std::vector<int64_t> ints;
  if (op == Op::kVariable) {
    const bool anonymous = random.Chance(1, 4);
    for (int i = 0; i < 2; ++i) ints.push_back(anonymous ? 0 : RandomScalar(random, d).AsInt());
    return g.PayloadArg(anonymous ? "" : RandomText(random), ints);
  }
  if (op == Op::kParam) {
    ints = {random.Uniform(0, 3), random.Uniform(-1, 64), random.Uniform(0, kNumAddressSpaces - 1)};
  } else {
    for (int64_t i = random.Uniform(0, 3); i > 0; --i) {
      ints.push_back(random.Chance(1, 2) ? random.Uniform(0, 2)
                                         : static_cast<int64_t>(random.Next()));
    }
  }
  return g.PayloadArg(RandomText(random), ints);
}

std::vector<Ref> RandomGraph(Graph& g, Random& random, int nodes) {
  std::vector<Ref> roots;
  for (int i = 0; i < nodes; ++i) {
    Ref n = RandomNode(g, random);
    if (i == nodes - 1 || random.Chance(1, 30)) roots.push_back(n);
  }
  return roots;
}

}  // namespace kiln::uop
