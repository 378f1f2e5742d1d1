#include "tests/unit/rewrite/rule_instances.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/dtype/cast.h"
#include "core/uop/walk.h"

namespace kiln::rewrite {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

constexpr DType kDTypes[] = {DType::kBool,     DType::kInt8,    DType::kUInt8,   DType::kInt16,
                             DType::kUInt16,   DType::kInt32,   DType::kUInt32,  DType::kInt64,
                             DType::kUInt64,   DType::kFp8E4M3, DType::kFp8E5M2, DType::kFloat16,
                             DType::kBFloat16, DType::kFloat32, DType::kFloat64, DType::kIndex};

// What an index variable may be; of other integers, what its dtype holds.
Bounds Full(DType d) {
  if (d == DType::kIndex) return {-(Int128{1} << 40), Int128{1} << 40};
  return uop::FullBounds(d);
}

Scalar IntegerScalar(DType d, Int128 v) { return *dtype::WrapInteger(v, d); }

Scalar RandomInteger(support::Random& random, DType d) {
  const Bounds full = Full(d);
  switch (random.Uniform(0, 7)) {
    case 0:
      return IntegerScalar(d, 0);
    case 1:
      return IntegerScalar(d, 1);
    case 2:
      return IntegerScalar(d, -1);
    case 3:
      return IntegerScalar(d, random.Chance(1, 2) ? full.lo : full.hi);
    case 4:
      return IntegerScalar(d, Int128{1} << random.Uniform(0, 6));
    case 5:
      return IntegerScalar(d, random.Uniform(-130, 130));
    default:
      return IntegerScalar(d, random.Uniform(-2, 12));
  }
}

Scalar RandomFloat(support::Random& random, DType d) {
  constexpr double kEdges[] = {0.0, -0.0, 1, -1, 0.5, 2, 3, -1.5, kInf, -kInf, NAN, 1e-9, 65504};
  double v = random.Chance(2, 3) ? random.Pick(absl::MakeConstSpan(kEdges))
                                 : static_cast<double>(random.Uniform(-400, 400)) / 16;
  if (random.Chance(1, 12)) v = dtype::MaxFinite(d);
  if (random.Chance(1, 24)) v = std::numeric_limits<double>::denorm_min();
  return Scalar::Float(dtype::RoundToFloat(v, d));
}

}  // namespace

DType RandomSource::NextDType() {
  do {
    current_ = random_.Pick(absl::MakeConstSpan(kDTypes));
    if (random_.Chance(1, 4)) current_ = DType::kIndex;
  } while (!InDomain(domain_, current_));
  return current_;
}

DType RandomSource::PickDType(bool (*accepts)(DType)) {
  if (accepts(current_) && random_.Chance(2, 3)) return current_;
  for (int tries = 0; tries < 100; ++tries) {
    const DType d = random_.Pick(absl::MakeConstSpan(kDTypes));
    // Where the domain excludes all that is accepted (the condition of a WHERE of floats, say), it is not what is asked for.
    if (accepts(d) && (InDomain(domain_, d) || tries > 50)) return d;
  }
  return *std::find_if(std::begin(kDTypes), std::end(kDTypes), accepts);
}

Ref RandomSource::Constant(Graph& g, DType d) {
  return g.Const(d, dtype::IsFloat(d) ? RandomFloat(random_, d) : RandomInteger(random_, d));
}

Ref RandomSource::IntegerVariable(Graph& g, DType d) {
  const Bounds full = Full(d);
  Int128 lo = random_.Uniform(-20, 20), hi = lo + random_.Uniform(0, 30);
  switch (random_.Uniform(0, 5)) {
    case 0:
      lo = full.lo, hi = full.hi;
      break;
    case 1:
      lo = 0, hi = random_.Uniform(1, 16);
      break;
    case 2:
      lo = -random_.Uniform(1, 16), hi = 0;
      break;
    default:
      break;
  }
  lo = std::clamp(lo, full.lo, full.hi);
  hi = std::clamp(hi, full.lo, full.hi);
  // The name says it all, so that one name never has two meanings.
  const std::string name =
      absl::StrCat("v", random_.Uniform(0, 2), "_", std::string(dtype::Name(d)), "_", ToString(lo),
                   "_", ToString(hi));
  return g.Variable(d, name, IntegerScalar(d, lo), IntegerScalar(d, hi));
}

Ref RandomSource::Variable(Graph& g, DType d) {
  if (dtype::IsFloat(d)) {
    const bool any = random_.Chance(2, 3);
    const double lo = any ? -kInf : static_cast<double>(random_.Uniform(-4, 4)),
                 hi = any ? kInf : lo + 3;
    const std::string name =
        absl::StrCat("v", random_.Uniform(0, 2), "_", std::string(dtype::Name(d)), "_", lo);
    return g.Variable(d, name, Scalar::Float(lo), Scalar::Float(hi));
  }
  if (d == DType::kIndex && random_.Chance(1, 3)) {
    const int id = Pick(3);
    return g.Range(3 * id + 2, id, AxisType::kLoop);
  }
  return IntegerVariable(g, d);
}

// Sums of multiples, and their quotients and remainders.
Ref RandomSource::IndexExpression(Graph& g) {
  constexpr int64_t kFactors[] = {1, 2, 3, 4, 6, 8, 12, -1, -4};
  Ref sum = Variable(g, DType::kIndex);
  const int terms = Pick(3);
  for (int i = 0; i <= terms; ++i) {
    Ref term = i == 0 ? sum : Variable(g, DType::kIndex);
    term = g.Mul(term, g.Index(random_.Pick(absl::MakeConstSpan(kFactors))));
    sum = i == 0 ? term : g.Add(sum, term);
  }
  if (Chance(1, 2)) sum = g.Add(sum, g.Index(random_.Uniform(-9, 9)));
  if (Chance(1, 3))
    sum = g.Binary(Chance(1, 2) ? Op::kIDiv : Op::kMod, sum, g.Index(random_.Uniform(1, 9)));
  return sum;
}

Ref RandomSource::Expression(Graph& g, DType d) {
  if (d == DType::kBool) {
    if (Chance(1, 4)) return g.Not(Variable(g, d));
    const DType of = Chance(2, 3) ? DType::kIndex : kDTypes[Pick(16)];
    Ref a = Variable(g, of), b = Chance(1, 2) ? Constant(g, of) : Variable(g, of);
    return Chance(2, 3) ? g.Lt(a, b) : g.Ne(a, b);
  }
  if (d == DType::kIndex && Chance(1, 2)) return IndexExpression(g);
  Ref a = Variable(g, d), b = Chance(1, 2) ? Constant(g, d) : Variable(g, d);
  switch (Pick(5)) {
    case 0:
      return g.Add(a, b);
    case 1:
      return g.Mul(a, b);
    case 2:
      return g.Max(a, b);
    case 3:
      return g.Where(Variable(g, DType::kBool), a, b);
    default: {
      const DType from = PickDType([](DType) { return true; });
      return g.Cast(Variable(g, from == DType::kIndex ? DType::kInt32 : from), d);
    }
  }
}

// A value of which nothing is known, NaN included.
Ref RandomSource::Load(Graph& g, DType d) {
  Ref param = g.Param(d, "m", 100 + static_cast<int>(d), 4, AddressSpace::kGlobal);
  return g.Make(Op::kLoad, d, {g.Make(Op::kIndex, d, {param, g.Index(Pick(4))})});
}

Ref RandomSource::Leaf(Graph& g, DType d) {
  if (Chance(1, 8)) return Constant(g, d);
  if (d != DType::kIndex && Chance(1, 4)) return Load(g, d);
  return Chance(1, 2) ? Variable(g, d) : Expression(g, d);
}

// ** values **

Scalar RandomScalar(support::Random& random, DType d, Scalar lo, Scalar hi) {
  if (dtype::IsFloat(d)) {
    if (std::isinf(lo.AsFloat())) {
      const Scalar v = RandomFloat(random, d);
      // Variables are numbers here; loads may be NaN. An fp8 has no infinity that arithmetic makes.
      return std::isnan(v.AsFloat()) ? Scalar::Float(dtype::RoundToFloat(lo.AsFloat(), d)) : v;
    }
    const double part = static_cast<double>(random.Uniform(0, 16)) / 16;
    return Scalar::Float(
        dtype::RoundToFloat(lo.AsFloat() + part * (hi.AsFloat() - lo.AsFloat()), d));
  }
  const Int128 from = lo.AsWide(d), to = hi.AsWide(d);
  Int128 v = from;
  switch (random.Uniform(0, 4)) {
    case 0:
      break;
    case 1:
      v = to;
      break;
    case 2:
      v = std::clamp<Int128>(random.Uniform(-3, 3), from, to);
      break;
    default:
      v = from + static_cast<Int128>(static_cast<UInt128>(random.Next()) %
                                     static_cast<UInt128>(to - from + 1));
  }
  return IntegerScalar(d, v);
}

symbolic::Bindings RandomBindings(support::Random& random, Ref root) {
  symbolic::Bindings bindings;
  for (Ref n : uop::Toposort(root)) {
    if (n->op == Op::kVariable) {
      const uop::VariableInfo v = uop::VariableOf(n);
      bindings.variables[std::string(v.name)] = RandomScalar(random, n->dtype, v.min, v.max);
    } else if (n->op == Op::kSpecial) {
      bindings.variables[std::string(n->arg.payload().text)] =
          IntegerScalar(n->dtype, random.Uniform(0, n->src(0)->IntValue() - 1));
    } else if (n->op == Op::kRange) {
      bindings.ranges[n->arg.range().axis_id] = random.Uniform(0, n->src(0)->IntValue() - 1);
    } else if (n->op == Op::kParam) {
      std::vector<Scalar>& buffer = bindings.buffers[uop::ParamOf(n).number];
      for (int64_t i = 0; i < uop::ParamOf(n).elems; ++i) {
        buffer.push_back(dtype::IsFloat(n->dtype) ? RandomFloat(random, n->dtype)
                                                  : RandomInteger(random, n->dtype));
      }
    }
  }
  return bindings;
}

// ** builders **

namespace {

constexpr Op kUnaryOps[] = {Op::kCast, Op::kNeg,  Op::kRecip, Op::kSqrt,
                            Op::kExp2, Op::kLog2, Op::kSin,   Op::kTrunc};
constexpr Op kBinaryOps[] = {Op::kAdd, Op::kSub,   Op::kMul,   Op::kFDiv,  Op::kIDiv,    Op::kMod,
                             Op::kMax, Op::kCmpLt, Op::kCmpNe, Op::kCmpEq, Op::kAnd,     Op::kOr,
                             Op::kXor, Op::kShl,   Op::kShr,   Op::kPow,   Op::kThreefry};

Ref Stack(Graph& g, RandomSource& source, DType d, int size, bool constant) {
  std::vector<Ref> elements;
  for (int i = 0; i < size; ++i)
    elements.push_back(constant ? source.Constant(g, d) : source.Leaf(g, d));
  return g.Make(Op::kStack, d, elements);
}
Ref StackOfAny(Graph& g, RandomSource& source, bool constant) {
  return Stack(g, source, source.NextDType(), 1 + source.Pick(3), constant);
}
Ref Unstack(Graph& g, RandomSource& source, Ref x, int size) {
  return g.Make(Op::kUnstack, x->dtype, {x}, Arg::Int(source.Pick(size)));
}
Ref UnaryOfStack(Graph& g, RandomSource& source, bool constant) {
  Ref x = StackOfAny(g, source, constant);
  const Op op = source.random().Pick(absl::MakeConstSpan(kUnaryOps));
  return op == Op::kCast ? g.Cast(x, source.PickDType(AcceptsAny)) : g.Unary(op, x);
}
// Operands of one elementwise operation: a stack, and more of as many elements or scalars.
class StackOperands {
 public:
  StackOperands(Graph& g, RandomSource& source, int count, bool constant)
      : g_(g), source_(source), constant_(constant), stack_(source.Pick(count)) {}

  Ref Next(DType d) {
    if (next_++ == stack_ || source_.Chance(1, 2)) return Stack(g_, source_, d, size_, constant_);
    return constant_ ? source_.Constant(g_, d) : source_.Leaf(g_, d);
  }
  int size() const { return size_; }

 private:
  Graph& g_;
  RandomSource& source_;
  const bool constant_;
  const int stack_, size_ = 1 + source_.Pick(3);  // Which operand is a stack in any case.
  int next_ = 0;
};

constexpr Op kTernaryOps[] = {Op::kWhere, Op::kMulAcc};

Ref BinaryOf(Graph& g, RandomSource& source, StackOperands operands) {
  const DType d = source.NextDType();
  Ref x = operands.Next(d), y = operands.Next(d);
  return g.Binary(source.random().Pick(absl::MakeConstSpan(kBinaryOps)), x, y);
}
Ref TernaryOf(Graph& g, RandomSource& source, StackOperands operands) {
  const DType d = source.NextDType();
  const Op op = source.random().Pick(absl::MakeConstSpan(kTernaryOps));
  Ref x = operands.Next(op == Op::kWhere ? DType::kBool : d);
  Ref y = operands.Next(d), z = operands.Next(d);
  return g.Make(op, d, {x, y, z});
}

Ref ElementOfStack(Graph& g, RandomSource& source) {
  Ref x = StackOfAny(g, source, false);
  return Unstack(g, source, x, x->num_src);
}
Ref ElementOfUnary(Graph& g, RandomSource& source) {
  Ref x = UnaryOfStack(g, source, false);
  return Unstack(g, source, x, x->src(0)->num_src);
}
Ref ElementOfBinary(Graph& g, RandomSource& source) {
  const StackOperands operands(g, source, 2, false);
  return Unstack(g, source, BinaryOf(g, source, operands), operands.size());
}
Ref ElementOfTernary(Graph& g, RandomSource& source) {
  const StackOperands operands(g, source, 3, false);
  return Unstack(g, source, TernaryOf(g, source, operands), operands.size());
}
Ref UnaryOfConstants(Graph& g, RandomSource& source) { return UnaryOfStack(g, source, true); }
Ref BinaryOfConstants(Graph& g, RandomSource& source) {
  return BinaryOf(g, source, StackOperands(g, source, 2, true));
}
Ref TernaryOfConstants(Graph& g, RandomSource& source) {
  return TernaryOf(g, source, StackOperands(g, source, 3, true));
}
Ref StackOfElements(Graph& g, RandomSource& source) {
  Ref whole = StackOfAny(g, source, false);
  std::vector<Ref> elements;
  for (int i = 0; i < whole->num_src; ++i) {
    elements.push_back(
        g.Make(Op::kUnstack, whole->dtype, {whole}, Arg::Int(source.Chance(1, 8) ? 0 : i)));
  }
  return g.Make(Op::kStack, whole->dtype, elements);
}

// An element index within 64 elements where the gate holds, and the gate.
std::array<Ref, 2> GatedIndex(Graph& g, RandomSource& source) {
  Ref i = g.Add(g.Range(16, 0), g.Mul(g.Range(8, 1), g.Index(16)));
  Ref bound = g.Lt(i, g.Index(source.random().Uniform(1, 64)));
  if (source.Chance(1, 3)) bound = g.And(bound, source.Leaf(g, DType::kBool));
  if (source.Chance(1, 3)) bound = g.Bool(source.Chance(1, 2));
  if (IsIntConst(bound, 1)) i = g.Range(16, 0);
  return {i, bound};
}
Ref GatedPlace(Graph& g, RandomSource& source, int number, Ref gate) {
  DType d = source.NextDType();
  if (d == DType::kIndex) d = DType::kFloat32;
  const auto [i, bound] = GatedIndex(g, source);
  return g.Make(
      Op::kIndex, d,
      {g.Param(d, "p", number, 64, AddressSpace::kGlobal), i, gate != nullptr ? gate : bound});
}
Ref PlaceUnderGate(Graph& g, RandomSource& source) { return GatedPlace(g, source, 0, nullptr); }
Ref LoadGatedOff(Graph& g, RandomSource& source) {
  Ref place = GatedPlace(g, source, 0, g.Bool(false));
  if (source.Chance(1, 2)) return g.Make(Op::kLoad, place->dtype, {place});
  return g.Make(Op::kLoad, place->dtype, {place, source.Leaf(g, place->dtype)});
}
Ref SinkOfStores(Graph& g, RandomSource& source) {
  std::vector<Ref> stores;
  for (int i = 0; i < 3; ++i) {
    Ref place = GatedPlace(g, source, i, source.Chance(1, 2) ? g.Bool(false) : nullptr);
    stores.push_back(g.Make(Op::kStore, DType::kVoid, {place, source.Leaf(g, place->dtype)}));
  }
  return g.Make(Op::kSink, DType::kVoid, stores);
}
Ref Counter(Graph& g, RandomSource& source) { return g.Range(1 + source.Pick(2), source.Pick(3)); }
Ref LaunchIndex(Graph& g, RandomSource& source) {
  return g.Special("gidx0", g.Index(1 + source.Pick(2)));
}
Ref AnyVariable(Graph& g, RandomSource& source) {
  const DType d = source.NextDType();
  const Ref c = source.Constant(g, d);
  if (dtype::IsFloat(d) || source.Chance(1, 2)) return source.Variable(g, d);
  return g.Variable(d, "point", c->arg.scalar(), c->arg.scalar());
}

struct Builder {
  std::string_view table, left;  // The left side begins so.
  InstanceBuilder build;
};
constexpr Builder kBuilders[] = {
    {"bounds", "var(", AnyVariable},
    {"bounds", "range(", Counter},
    {"bounds", "special(", LaunchIndex},
    {"stacks", "unstack(stack(", ElementOfStack},
    {"stacks", "unstack({cast", ElementOfUnary},
    {"stacks", "unstack({add", ElementOfBinary},
    {"stacks", "unstack({where", ElementOfTernary},
    {"stacks", "{cast", UnaryOfConstants},
    {"stacks", "{add", BinaryOfConstants},
    {"stacks", "{sub", BinaryOfConstants},
    {"stacks", "{where", TernaryOfConstants},
    {"stacks", "mulacc(", TernaryOfConstants},
    {"stacks", "stack(unstack(", StackOfElements},
    {"memory", "index(", PlaceUnderGate},
    {"memory", "load(", LoadGatedOff},
    {"memory", "sink(", SinkOfStores},
};

}  // namespace

InstanceBuilder BuilderFor(std::string_view table, std::string_view rule_text) {
  for (const Builder& b : kBuilders) {
    if (b.table == table && rule_text.starts_with(b.left)) return b.build;
  }
  return nullptr;
}

}  // namespace kiln::rewrite
