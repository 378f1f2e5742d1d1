#include "tests/unit/tensor/random_chain.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/dtype/check.h"
#include "core/symbolic/render.h"
#include "core/uop/facts.h"
#include "core/uop/walk.h"
#include "tests/support/random.h"

namespace kiln::tensor {
namespace {

constexpr int kMaxVariables = 3;

class Generator {
 public:
  Generator(Graph& g, uint64_t seed, const RandomChainOptions& options)
      : g_(g),
        random_(seed),
        options_(options),
        symbolic_(options.symbolic && random_.Chance(1, 2)) {}

  RandomChain Make() {
    RandomChain chain;
    const int64_t rank = random_.Uniform(0, 4);
    for (int64_t i = 0; i < rank; ++i) chain.base.push_back(Size());
    shape_ = chain.base;
    KILN_CHECK(Fits(shape_));
    const int64_t steps = random_.Uniform(0, options_.max_steps);
    for (int64_t k = 0; k < steps; ++k) {
      Movement step = Step();
      const absl::StatusOr<CheckedShape> next = ShapeAfter(g_, shape_, step);
      KILN_CHECK(next.ok());
      if (!Fits(next->dims)) continue;
      shape_ = next->dims;
      chain.steps.push_back(std::move(step));
    }
    return chain;
  }

 private:
  bool Fits(absl::Span<const Ref> shape) const {
    Int128 count = 1;
    for (Ref d : shape) count *= std::max(VMax(g_, d), Int128{1});
    return count <= options_.max_elements && static_cast<int>(shape.size()) <= options_.max_rank;
  }

  Ref Size() {
    if (symbolic_ && random_.Chance(1, 3)) {
      if (Ref v = Variable(random_.Chance(1, 8) ? 0 : 1, random_.Uniform(2, 6))) return v;
    }
    return g_.Index(random_.Chance(1, 30) ? 0 : random_.Uniform(1, 6));
  }

  // A new variable, or an old one that lies within the bounds; null if there is neither.
  Ref Variable(int64_t lo, int64_t hi) {
    for (Ref v : variables_) {
      if (random_.Chance(1, 2) && BoundsOf(g_, v).lo >= lo && BoundsOf(g_, v).hi <= hi) return v;
    }
    if (variables_.size() == kMaxVariables) return nullptr;
    variables_.push_back(g_.Variable(absl::StrCat("s", variables_.size()), lo, hi));
    return variables_.back();
  }

  Movement Step() {
    switch (random_.Uniform(0, 9)) {
      case 0:
      case 1:
        return Permutation();
      case 2:
        return Movement::Flip(random_.Next() & ((uint64_t{1} << shape_.size()) - 1));
      case 3:
      case 4:
        return Padding();
      case 5:
        return Shrinking();
      case 6:
        return Expansion();
      default:
        return Reshaping();
    }
  }

  Movement Permutation() {
    std::vector<int64_t> order;
    for (size_t i = 0; i < shape_.size(); ++i) order.push_back(static_cast<int64_t>(i));
    Shuffle(order);
    return Movement::Permute(std::move(order));
  }

  Ref PadWidth() {
    if (random_.Chance(1, 2)) return g_.Index(0);
    if (symbolic_ && random_.Chance(1, 4)) {
      if (Ref v = Variable(0, 3)) return v;
    }
    return g_.Index(random_.Uniform(0, 3));
  }

  Movement Padding() {
    std::vector<Ref> pairs;
    for (size_t i = 0; i < shape_.size(); ++i) {
      const bool pads = random_.Chance(1, 2);
      pairs.push_back(pads ? PadWidth() : g_.Index(0));
      pairs.push_back(pads ? PadWidth() : g_.Index(0));
    }
    return Movement::Pad(std::move(pairs));
  }

  // Axes of symbolic size lose what lies beyond their smallest size, or nothing.
  Movement Shrinking() {
    std::vector<Ref> pairs;
    for (Ref d : shape_) {
      const auto least = static_cast<int64_t>(std::max(VMin(g_, d), Int128{0}));
      Ref begin = g_.Index(0);
      Ref end = d;
      if (random_.Chance(1, 2)) {
        begin = g_.Index(random_.Chance(1, 2) ? 0 : random_.Uniform(0, least));
        const int64_t first = begin->IntValue();
        end = random_.Chance(1, 20) ? begin
                                    : g_.Index(random_.Uniform(std::min(first + 1, least), least));
        if (symbolic_ && IsIntConst(begin, 0) && least > 0 && random_.Chance(1, 3)) {
          if (Ref v = Variable(1, least)) end = v;
        }
      }
      pairs.push_back(begin);
      pairs.push_back(end);
    }
    return Movement::Shrink(std::move(pairs));
  }

  Movement Expansion() {
    std::vector<Ref> dims = shape_;
    for (Ref& d : dims) {
      if (IsIntConst(d, 1) && random_.Chance(2, 3)) d = Size();
    }
    return Movement::Expand(std::move(dims));
  }

  // Takes the sizes apart, sometimes reorders the parts, and multiplies neighbours.
  Movement Reshaping() {
    std::vector<Ref> parts = Parts();
    if (random_.Chance(1, 4)) Shuffle(parts);
    std::vector<Ref> dims;
    for (Ref part : parts) {
      if (random_.Chance(1, 8)) dims.push_back(g_.Index(1));
      const bool full = static_cast<int>(dims.size()) >= options_.max_rank;
      if (!dims.empty() && (full || random_.Chance(1, 2))) {
        dims.back() = Product(dims.back(), part);
      } else {
        dims.push_back(part);
      }
    }
    return Movement::Reshape(std::move(dims));
  }

  Ref Product(Ref a, Ref b) {
    if (a->IsConst() && b->IsConst()) return g_.Index(a->IntValue() * b->IntValue());
    return g_.Mul(a, b);
  }

  std::vector<Ref> Parts() {
    std::vector<Ref> parts;
    for (Ref d : shape_) {
      std::vector<Ref> pending = {d};
      while (!pending.empty()) {
        Ref n = pending.back();
        pending.pop_back();
        if (n->Is(Op::kMul)) {
          pending.insert(pending.end(), {n->src(0), n->src(1)});
        } else if (IsIntConst(n) && n->IntValue() > 1) {
          Split(n->IntValue(), parts);
        } else if (!IsIntConst(n, 1)) {
          parts.push_back(n);
        }
      }
    }
    return parts;
  }

  void Split(int64_t n, std::vector<Ref>& parts) {
    for (int64_t d = 2; d * d <= n; ++d) {
      while (n % d == 0 && n > d && random_.Chance(1, 2)) {
        parts.push_back(g_.Index(d));
        n /= d;
      }
    }
    parts.push_back(g_.Index(n));
  }

  template <typename T>
  void Shuffle(std::vector<T>& v) {
    for (size_t i = v.size(); i > 1; --i) {
      std::swap(v[i - 1], v[static_cast<size_t>(random_.Uniform(0, static_cast<int64_t>(i) - 1))]);
    }
  }

  Graph& g_;
  support::Random random_;
  const RandomChainOptions options_;
  const bool symbolic_;
  std::vector<Ref> variables_;
  std::vector<Ref> shape_;
};

std::string Text(absl::Span<const Ref> dims) {
  return absl::StrJoin(dims, ", ",
                       [](std::string* out, Ref d) { out->append(symbolic::Render(d)); });
}

}  // namespace

RandomChain MakeRandomChain(Graph& g, uint64_t seed, const RandomChainOptions& options) {
  return Generator(g, seed, options).Make();
}

symbolic::Bindings RandomSizes(Graph& g, const RandomChain& chain, uint64_t seed) {
  support::Random random(seed);
  std::vector<Ref> roots = chain.base;
  for (const Movement& step : chain.steps)
    roots.insert(roots.end(), step.dims.begin(), step.dims.end());
  symbolic::Bindings values;
  for (Ref n : uop::Toposort(roots)) {
    if (!n->Is(Op::kVariable)) continue;
    const Bounds& b = BoundsOf(g, n);
    const int64_t v = random.Uniform(static_cast<int64_t>(b.lo), static_cast<int64_t>(b.hi));
    values.variables[std::string(uop::VariableOf(n).name)] = Scalar::Int(v);
  }
  return values;
}

std::string ToString(const RandomChain& chain) {
  std::string text = absl::StrCat("[", Text(chain.base), "]");
  for (const Movement& step : chain.steps) {
    absl::StrAppend(&text, " ", std::string(uop::Name(step.op)), "(");
    if (step.op == Op::kFlip) absl::StrAppend(&text, step.flipped);
    absl::StrAppend(&text, Text(step.dims), absl::StrJoin(step.order, ", "), ")");
  }
  return text;
}

}  // namespace kiln::tensor
