#include "tests/support/random_kernel.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"

#include "core/codegen/kernel_ranges.h"
#include "core/codegen/opt/apply.h"
#include "core/dtype/cast.h"
#include "core/uop/facts.h"

namespace kiln::support {
namespace {

constexpr std::array kDTypes = {DType::kFloat32, DType::kFloat32,  DType::kInt32, DType::kInt32,
                                DType::kBool,    DType::kUInt8,    DType::kInt64, DType::kFloat16,
                                DType::kFloat64, DType::kBFloat16, DType::kInt16};

class Maker {
 public:
  Maker(Graph& g, Random& random) : g_(g), random_(random) {}

  RandomKernel Make() {
    const int64_t num_loops = random_.Uniform(0, 3);
    for (int64_t i = 0; i < num_loops; ++i) loops_.push_back(NewRange(AxisType::kLoop));
    next_axis_ = 10;  // Reductions come after loops.
    const int64_t num_stores = random_.Chance(1, 4) ? 2 : 1;
    std::vector<Ref> stores;
    for (int64_t i = 0; i < num_stores; ++i) {
      const DType d = random_.Pick(absl::MakeConstSpan(kDTypes));
      Ref out = NewParam(d, Size(loops_));
      outputs_.push_back(out);
    }
    for (Ref out : outputs_) {
      std::vector<Ref> open = loops_;
      Ref place = Place(out, RowMajor(loops_), random_.Chance(1, 6) ? Condition(open) : nullptr);
      own_place_ = random_.Chance(1, 4) ? place : nullptr;
      Ref value = Expression(out->dtype, open, 3);
      std::vector<Ref> src = {place, value};
      src.insert(src.end(), loops_.begin(), loops_.end());
      stores.push_back(g_.Make(Op::kStore, DType::kVoid, src));
    }
    result_.kernel = g_.Make(Op::kSink, DType::kVoid, stores);
    result_.is_exact = is_exact_;
    return std::move(result_);
  }

 private:
  Ref NewRange(AxisType type) {
    const int32_t id = next_axis_++;
    if (random_.Chance(1, 8)) {
      const std::string name = absl::StrCat("n", id);
      result_.variables[name] = random_.Uniform(0, 5);
      Ref v = g_.Variable(name, 0, 5);
      return g_.Range(random_.Chance(1, 2) ? v : g_.Mul(v, g_.Index(2)), id, type);
    }
    constexpr std::array<int64_t, 9> kSizes = {1, 2, 3, 4, 5, 6, 8, 12, 16};
    return g_.Range(random_.Pick(absl::MakeConstSpan(kSizes)), id, type);
  }

  int64_t MaxEnd(Ref r) { return static_cast<int64_t>(VMax(g_, r->src(0))); }
  int64_t Size(const std::vector<Ref>& ranges) {
    int64_t size = 1;
    for (Ref r : ranges) size *= std::max<int64_t>(MaxEnd(r), 1);
    return size;
  }
  Ref RowMajor(const std::vector<Ref>& ranges) {
    Ref index = g_.Index(0);
    int64_t stride = 1;
    for (auto r = ranges.rbegin(); r != ranges.rend(); ++r) {
      index = g_.Add(g_.Mul(*r, g_.Index(stride)), index);
      stride *= std::max<int64_t>(MaxEnd(*r), 1);
    }
    return index;
  }

  Scalar RandomValue(DType d) {
    const int64_t lo = dtype::IsUnsigned(d) || d == DType::kBool ? 0 : -4;
    return *dtype::Cast(Scalar::Int(random_.Uniform(lo, 5)), DType::kInt64, d);
  }

  Ref NewParam(DType d, int64_t elems) {
    std::vector<Scalar> values(static_cast<size_t>(elems));
    for (Scalar& v : values) v = RandomValue(d);
    result_.contents.push_back(std::move(values));
    const auto number = static_cast<int64_t>(result_.contents.size()) - 1;
    return g_.Param(d, absl::StrCat("p", number), number, elems, uop::AddressSpace::kGlobal);
  }

  Ref Place(Ref param, Ref element, Ref gate) {
    return gate == nullptr ? g_.Make(Op::kIndex, param->dtype, {param, element})
                           : g_.Make(Op::kIndex, param->dtype, {param, element, gate});
  }

  Ref Condition(const std::vector<Ref>& open) {
    if (open.empty()) return g_.Lt(g_.Index(random_.Uniform(0, 1)), g_.Index(1));
    Ref r = random_.Pick(absl::MakeConstSpan(open));
    Ref c = g_.Lt(r, g_.Index(random_.Uniform(0, 7)));
    if (random_.Chance(1, 3)) c = g_.Not(c);
    if (random_.Chance(1, 3)) c = g_.And(c, Condition(open));
    return c;
  }

  // A load of a new buffer.
  Ref Load(DType d, const std::vector<Ref>& open) {
    if (own_place_ != nullptr && own_place_->dtype == d && random_.Chance(1, 2)) {
      return own_place_->num_src > 2
                 ? g_.Make(Op::kLoad, d, {own_place_, g_.Const(d, RandomValue(d))})
                 : g_.Make(Op::kLoad, d, {own_place_});
    }
    std::vector<Ref> used;
    for (Ref r : open) {
      if (random_.Chance(3, 4)) used.insert(used.begin() + random_.Uniform(0, used.size()), r);
    }
    Ref index = RowMajor(used);
    const int64_t size = Size(used);
    switch (random_.Uniform(0, 5)) {
      case 0: {  // Shifted, and gated off outside.
        const int64_t shift = random_.Uniform(-2, 2);
        Ref shifted = g_.Add(index, g_.Index(shift));
        Ref gate = g_.And(g_.Not(g_.Lt(shifted, g_.Index(0))), g_.Lt(shifted, g_.Index(size)));
        return g_.Make(Op::kLoad, d,
                       {Place(NewParam(d, size), shifted, gate), g_.Const(d, RandomValue(d))});
      }
      case 1: {  // A column of a matrix.
        const int64_t width = random_.Uniform(1, 3);
        return g_.Make(
            Op::kLoad, d,
            {Place(NewParam(d, size * width),
                   g_.Add(g_.Mul(index, g_.Index(width)), g_.Index(width - 1)), nullptr)});
      }
      case 2: {  // Another shape.
        const int64_t inner = random_.Uniform(1, 5);
        Ref row = g_.IDiv(index, g_.Index(inner)), column = g_.Mod(index, g_.Index(inner));
        const int64_t rows = (size + inner - 1) / inner;
        return g_.Make(Op::kLoad, d,
                       {Place(NewParam(d, rows * inner),
                              g_.Add(g_.Mul(column, g_.Index(rows)), row), nullptr)});
      }
      case 3: {  // Backwards.
        return g_.Make(Op::kLoad, d,
                       {Place(NewParam(d, size),
                              g_.Add(g_.Mul(index, g_.Index(-1)), g_.Index(size - 1)), nullptr)});
      }
      default:
        return g_.Make(Op::kLoad, d, {Place(NewParam(d, size), index, nullptr)});
    }
  }

  Ref Leaf(DType d, const std::vector<Ref>& open) {
    if (random_.Chance(1, 6)) return g_.Const(d, RandomValue(d));
    if (!open.empty() && random_.Chance(1, 6)) {
      return g_.Cast(random_.Pick(absl::MakeConstSpan(open)), d);
    }
    return Load(d, open);
  }

  Ref Reduce(DType d, const std::vector<Ref>& open, int depth) {
    std::vector<Ref> inner = open, ended;
    if (!reductions_.empty() && random_.Chance(1, 3)) {
      ended = random_.Pick(absl::MakeConstSpan(reductions_));
      for (Ref r : ended) {
        if (std::find(open.begin(), open.end(), r) != open.end()) ended.clear();
        if (ended.empty()) break;
      }
    }
    if (ended.empty()) {
      for (int64_t i = random_.Uniform(1, 2); i > 0; --i)
        ended.push_back(NewRange(AxisType::kReduce));
      reductions_.push_back(ended);
    }
    inner.insert(inner.end(), ended.begin(), ended.end());
    constexpr std::array kBy = {Op::kAdd, Op::kAdd, Op::kMax, Op::kMul};
    Op by = random_.Pick(absl::MakeConstSpan(kBy));
    if (dtype::IsFloat(d) && by == Op::kMul) by = Op::kMax;
    if (dtype::IsFloat(d) && by == Op::kAdd) is_exact_ = false;
    std::vector<Ref> src = {Expression(d, inner, depth - 1)};
    src.insert(src.end(), ended.begin(), ended.end());
    return g_.Make(Op::kReduce, d, src, uop::Arg::Of(uop::ReduceArg{by}));
  }

  // NOLINTNEXTLINE(misc-no-recursion): as deep as `depth`.
  Ref Expression(DType d, const std::vector<Ref>& open, int depth) {
    if (depth <= 0) return Leaf(d, open);
    const auto next = [&] { return Expression(d, open, depth - 1); };
    const bool is_float = dtype::IsFloat(d);
    switch (random_.Uniform(0, 9)) {
      case 0:
      case 1:
        return open.size() < 5 ? Reduce(d, open, depth) : next();
      case 2:
        return g_.Where(Condition(open), next(),
                        random_.Chance(1, 2) ? g_.Const(d, RandomValue(d)) : next());
      case 3: {
        const DType from = random_.Pick(absl::MakeConstSpan(kDTypes));
        return from == d ? next() : g_.Cast(Expression(from, open, depth - 1), d);
      }
      case 4:
        return g_.Max(next(), next());
      case 5:
        return g_.Mul(next(), next());
      case 6:
        if (is_float) return next();
        return d == DType::kBool
                   ? g_.Or(next(), next())
                   : g_.Binary(random_.Chance(1, 2) ? Op::kIDiv : Op::kMod, next(), next());
      case 7:
        return d == DType::kBool ? Comparison(open, depth) : g_.Sub(next(), next());
      case 8:
        return g_.Where(Comparison(open, depth), next(), next());
      default:
        return g_.Add(next(), next());
    }
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  Ref Comparison(const std::vector<Ref>& open, int depth) {
    const DType from = random_.Pick(absl::MakeConstSpan(kDTypes));
    Ref a = Expression(from, open, depth - 1), b = Expression(from, open, depth - 1);
    // Of sums that may be off by a bit, a comparison may go either way.
    if (dtype::IsFloat(from)) a = Leaf(from, open), b = Leaf(from, open);
    return g_.Lt(a, b);
  }

  Graph& g_;
  Random& random_;
  RandomKernel result_;
  std::vector<Ref> loops_, outputs_;
  std::vector<std::vector<Ref>> reductions_;
  int32_t next_axis_ = 0;
  Ref own_place_ = nullptr;
  bool is_exact_ = true;
};

}  // namespace

RandomKernel MakeRandomKernel(Graph& g, Random& random) { return Maker(g, random).Make(); }

std::vector<codegen::Opt> RandomOpts(Graph& g, Ref kernel, const codegen::Target& target,
                                     Random& random) {
  using codegen::OptKind;
  std::vector<codegen::Opt> opts;
  for (int64_t tries = random.Uniform(1, 12); tries > 0; --tries) {
    const std::vector<Ref> ranges = codegen::internal::RangesBelow(kernel);
    if (ranges.empty()) break;
    constexpr std::array<int64_t, 7> kAmounts = {0, 2, 2, 3, 4, 4, 8};
    const auto axis = [&] {
      return codegen::internal::AxisId(random.Pick(absl::MakeConstSpan(ranges)));
    };
    codegen::Opt opt = {static_cast<OptKind>(random.Uniform(0, 4)), axis(),
                        random.Pick(absl::MakeConstSpan(kAmounts))};
    if (opt.kind == OptKind::kSwap) opt.amount = axis();
    const absl::StatusOr<Ref> next = codegen::ApplyOpt(g, kernel, opt, target);
    if (!next.ok()) continue;
    kernel = *next;
    opts.push_back(opt);
  }
  return opts;
}

}  // namespace kiln::support
