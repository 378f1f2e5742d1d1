#include "tests/replay/sample.h"

#include <algorithm>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/dtype/cast.h"
#include "core/uop/facts.h"
#include "core/uop/walk.h"
#include "tests/replay/value.h"

namespace kiln::replay {
namespace {

// Unbounded integers are sampled within this distance of zero.
constexpr int64_t kFar = 1'000'000'000;

// 0 at the first point: every leaf at its least value; 1: at its greatest; then random.
class Sampler {
 public:
  explicit Sampler(int point) : point_(point), random_(static_cast<uint64_t>(point) * 7919 + 1) {}

  Int128 Between(Int128 lo, Int128 hi) {
    if (lo < -kFar && hi > kFar) {
      lo = -kFar;
      hi = kFar;
    }
    lo = std::max(lo, Int128{INT64_MIN});
    hi = std::min(hi, Int128{INT64_MAX});
    if (point_ == 0) return lo;
    if (point_ == 1) return hi;
    // Ends are where mistakes are.
    const uint64_t kind = random_() % 8;
    if (kind == 0) return lo;
    if (kind == 1) return hi;
    const UInt128 size = static_cast<UInt128>(hi - lo) + 1;
    return lo + static_cast<Int128>(UInt128{random_()} % size);
  }

  double Between(double lo, double hi) {
    static constexpr double kValues[] = {0.0, -0.0, 1.0, -1.0, 0.5, 3.0, -7.25, 1e-8, 1e10, -1e30};
    const double v = kValues[random_() % std::size(kValues)];
    if (lo <= v && v <= hi) return v;
    return random_() % 2 == 0 ? lo : hi;
  }

 private:
  int point_;
  std::mt19937_64 random_;
};

// The value of a leaf whose dependencies (the end of a range) are in `bindings`. Null if none.
std::optional<Scalar> SampleLeaf(Graph& g, Ref n, const symbolic::Bindings& bindings,
                                 Sampler& sampler) {
  if (n->Is(Op::kVariable)) {
    const uop::VariableInfo v = uop::VariableOf(n);
    if (dtype::IsFloat(n->dtype)) {
      const double x = sampler.Between(v.min.AsFloat(), v.max.AsFloat());
      return Scalar::Float(dtype::RoundToFloat(x, n->dtype));
    }
    return dtype::WrapInteger(sampler.Between(v.min.AsWide(n->dtype), v.max.AsWide(n->dtype)),
                              n->dtype);
  }
  const absl::StatusOr<Scalar> end = symbolic::Evaluate(g, n->src(0), bindings);
  if (!end.ok() || end->AsWide(n->dtype) <= 0) return std::nullopt;
  return dtype::WrapInteger(sampler.Between(Int128{0}, end->AsWide(n->dtype) - 1), n->dtype);
}

}  // namespace

absl::Status ForEachSample(Graph& g, Ref root, int points,
                           absl::FunctionRef<absl::Status(const symbolic::Bindings&)> visit) {
  std::vector<Ref> leaves = uop::Toposort(root);
  std::erase_if(leaves, [](Ref n) {
    return !n->Is(Op::kVariable) && !n->Is(Op::kRange) && !n->Is(Op::kSpecial);
  });
  if (leaves.empty()) points = std::min(points, 1);
  for (int point = 0; point < points; ++point) {
    Sampler sampler(point);
    symbolic::Bindings bindings;
    bool is_empty = false;
    for (Ref n : leaves) {
      const std::optional<Scalar> v = SampleLeaf(g, n, bindings, sampler);
      if (!v.has_value()) {
        is_empty = true;  // A range without elements: nothing there to compare.
      } else if (n->Is(Op::kRange)) {
        bindings.ranges[n->arg.range().axis_id] = v->AsInt();
      } else {
        bindings.variables[std::string(n->arg.payload().text)] = *v;
      }
    }
    if (is_empty) continue;
    if (absl::Status status = visit(bindings); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status CheckSameValue(Graph& g, Ref before, Ref after, int points) {
  const bool reads_memory = !uop::Visit(before, [](Ref n) { return !n->Is(Op::kParam); });
  if (reads_memory || before->dtype == DType::kVoid) return absl::OkStatus();
  if (before->dtype != after->dtype) {
    return absl::InternalError(
        absl::StrCat("dtype changes to ", std::string(dtype::Name(after->dtype))));
  }
  return ForEachSample(g, before, points, [&](const symbolic::Bindings& bindings) -> absl::Status {
    const absl::StatusOr<Scalar> want = symbolic::Evaluate(g, before, bindings);
    if (!want.ok()) return absl::OkStatus();  // A division by zero, an op without a value.
    const absl::StatusOr<Scalar> got = symbolic::Evaluate(g, after, bindings);
    if (got.ok() && *got == *want) return absl::OkStatus();
    return absl::InternalError(absl::StrCat(
        "value changes at ", ToText(bindings), " from ", ToText(*want, before->dtype), " to ",
        got.ok() ? ToText(*got, before->dtype) : std::string(got.status().message())));
  });
}

std::string ToText(const symbolic::Bindings& bindings) {
  std::vector<std::string> parts;
  for (const auto& [name, v] : bindings.variables)
    parts.push_back(absl::StrCat(name, "=", v.AsInt()));
  for (const auto& [id, v] : bindings.ranges) parts.push_back(absl::StrCat("ridx", id, "=", v));
  return absl::StrJoin(parts, ", ");
}

}  // namespace kiln::replay
