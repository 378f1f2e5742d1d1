#include "core/codegen/opt/heuristics.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/codegen/kernel_ranges.h"
#include "core/codegen/opt/analysis.h"
#include "core/codegen/opt/apply.h"
#include "core/uop/walk.h"

namespace kiln::codegen {
namespace {

using internal::AxisId;
using internal::ConstEnd;
using internal::DependsOn;

// Less work than this is done before a second core has woken up.
constexpr double kThreadWork = 1 << 16;

// Fewer than the ways of a first-level cache.
constexpr int64_t kScatteredLanes = 8;

// Chooses opts one by one, each applied before the next is chosen. Confined to the compile job.
class Chooser {
 public:
  Chooser(Graph& g, Ref kernel, const Target& target)
      : g_(g), target_(target), a_(Analyse(g, kernel)), result_{{}, kernel} {}

  Optimised Run() {
    if (target_.has_lanes) {
      for (const Reduction& r : a_.reductions) Reduce(r);
      Store();
    }
    Split();
    return std::move(result_);
  }

 private:
  bool Try(OptKind kind, int32_t axis, int64_t amount) {
    const Opt opt = {kind, axis, amount};
    const absl::StatusOr<Ref> next = ApplyOpt(g_, result_.kernel, opt, target_);
    if (!next.ok()) return false;
    result_.kernel = *next;
    result_.opts.push_back(opt);
    return true;
  }

  // What is left of the loop of an axis; 0 if nothing, or not a constant.
  int64_t Left(int32_t axis) const {
    for (Ref r : internal::RangesBelow(result_.kernel)) {
      if (AxisId(r) == axis) return IsLoop(r) ? std::max<int64_t>(ConstEnd(r), 0) : 0;
    }
    return 0;
  }
  int64_t Lanes() const {
    int64_t lanes = 1;
    for (Ref r : internal::RangesBelow(result_.kernel)) lanes *= IsLane(r) ? ConstEnd(r) : 1;
    return lanes;
  }

  // ** the machine vector **

  // The lanes that a range of `n` is cut into: the fewest that need as few vectors as any.
  int64_t VectorLanes(int64_t n) const {
    int64_t lanes = std::max<int64_t>(target_.vector_bytes / a_.lane_bytes, 1);
    const int64_t vectors = (n + lanes - 1) / lanes;
    while (lanes > 2 && (n + lanes / 2 - 1) / (lanes / 2) == vectors) lanes /= 2;
    return lanes;
  }

  // What one vector's worth of values costs in accesses of `accesses` if the vector is along `range`.
  double CostAlong(absl::Span<const Access* const> accesses, Ref range) const {
    const int64_t n = ConstEnd(range);
    if (n < 4) return HUGE_VAL;
    const auto lanes = static_cast<double>(VectorLanes(n));
    double cost = 0;
    for (const Access* access : accesses) {
      const Stride stride = StrideOf(g_, *access, range);
      // A place that is not written for each lane is written once for all.
      const bool once = access->IsStore() && stride == Stride::kNone;
      const double each = stride == Stride::kScattered || once ? lanes : 1;
      cost += access->times * each;
    }
    const double wasted =
        std::ceil(static_cast<double>(n) / lanes) * lanes / static_cast<double>(n);
    return cost * wasted / lanes;
  }

  Ref BestOf(absl::Span<const Ref> ranges, absl::Span<const Access* const> accesses,
             double worst) const {
    Ref best = nullptr;
    for (Ref r : ranges) {
      const double cost = CostAlong(accesses, r);
      if (cost < worst) {
        best = r;
        worst = cost;
      }
    }
    return best;
  }

  // Makes a vector of at most `most` lanes along `range`. Pads it if that is needed.
  bool Vectorise(Ref range, int64_t most = kMaxLanes) {
    const int64_t lanes = std::min(VectorLanes(ConstEnd(range)), most);
    const bool is_reduced = internal::TypeOf(range) == AxisType::kReduce;
    if (ConstEnd(range) % lanes != 0 && !Try(OptKind::kPadTo, AxisId(range), lanes)) return false;
    if (!Try(is_reduced ? OptKind::kUnroll : OptKind::kUpcast, AxisId(range), lanes)) return false;
    vectors_.push_back(range);
    return true;
  }

  bool IsVectorised(Ref n) const {
    return std::any_of(vectors_.begin(), vectors_.end(),
                       [&](Ref r) { return DependsOn(g_, n, r); });
  }

  // The largest factor of what is left of `axis`, at most `most`.
  int64_t FactorOf(int32_t axis, int64_t most) const {
    const int64_t left = Left(axis);
    for (int64_t f = std::min(most, left); f > 1; --f) {
      if (left % f == 0) return f;
    }
    return 1;
  }

  // ** reductions **

  void Reduce(const Reduction& r) {
    Ref operand = r.node->src(0);
    if (IsVectorised(operand)) return;
    uop::NodeMap<bool> below;
    uop::Visit(operand, [&below](Ref n) { return below[n] = true; });
    std::vector<const Access*> accesses;
    for (const Access& access : a_.accesses) {
      if (below.Get(access.node) || (access.IsStore() && r.node == a_.reductions[0].node)) {
        accesses.push_back(&access);
      }
    }
    std::vector<Ref> candidates = r.ended;
    for (Ref loop : a_.loops) {
      if (DependsOn(g_, operand, loop)) candidates.push_back(loop);
    }
    double scalar = 0;
    for (const Access* access : accesses) scalar += access->times;
    Ref best = BestOf(candidates, accesses, scalar);
    if (best == nullptr || !Vectorise(best)) return;
    Tile(r, best, accesses);
    HoistGates(r, accesses);
  }

  // Moves the longest range of the reduction that no gate depends on to the inside, if one depends
  // on the innermost: of a padded convolution, masks are then computed for each tap, not each value.
  void HoistGates(const Reduction& r, absl::Span<const Access* const> accesses) {
    const auto gates = [&](Ref range) {
      return std::any_of(accesses.begin(), accesses.end(), [&](const Access* a) {
        return a->place->num_src > 2 && DependsOn(g_, a->place->src(2), range);
      });
    };
    Ref last = r.ended.back(), best = nullptr;
    if (!gates(last)) return;
    for (Ref e : r.ended) {
      if (!gates(e) && (best == nullptr || ConstEnd(e) > ConstEnd(best))) best = e;
    }
    if (best != nullptr && ConstEnd(best) >= 4) Try(OptKind::kSwap, AxisId(best), AxisId(last));
  }

  // Several vectors at once: rows that use loaded values again, then enough accumulators that an
  // addition need not wait for the one before.
  void Tile(const Reduction& r, Ref vector, absl::Span<const Access* const> accesses) {
    const int64_t most = std::min<int64_t>(target_.registers / 2, kMaxLanes / Lanes());
    int64_t tile = 1;
    std::vector<Ref> rows;  // Loops that some load does not depend on.
    for (Ref loop : a_.loops) {
      if (loop == vector || !DependsOn(g_, r.node->src(0), loop)) continue;
      if (Saved(loop, accesses) > 0) rows.push_back(loop);
    }
    std::stable_sort(rows.begin(), rows.end(),
                     [&](Ref x, Ref y) { return Saved(x, accesses) > Saved(y, accesses); });
    const bool vector_is_loop = internal::TypeOf(vector) == AxisType::kLoop;
    const bool may_widen = vector_is_loop && Saved(vector, accesses) > 0;
    if (!rows.empty()) {
      // Twice the columns for each row.
      const int64_t f = FactorOf(AxisId(rows[0]), std::min<int64_t>(8, most));
      if (f > 1 && Try(OptKind::kUpcast, AxisId(rows[0]), f)) tile *= f;
    }
    if (may_widen && tile * 2 <= most && Left(AxisId(vector)) % 2 == 0) {
      if (Try(OptKind::kUpcast, AxisId(vector), 2)) tile *= 2;
    }
    if (rows.size() > 1 && tile * 2 <= most) {
      const int64_t f = FactorOf(AxisId(rows[1]), std::min<int64_t>(4, most / tile));
      if (f > 1 && Try(OptKind::kUpcast, AxisId(rows[1]), f)) tile *= f;
    }
    const int64_t more = std::min(ManyFor(r.node->src(0)), most) / tile;
    if (more < 2) return;
    const OptKind kind = vector_is_loop ? OptKind::kUpcast : OptKind::kUnroll;
    const int64_t f = FactorOf(AxisId(vector), more);
    if (f > 1 && Try(kind, AxisId(vector), f)) tile *= f;
    if (tile > 1 || !vector_is_loop) return;
    for (auto e = r.ended.rbegin(); e != r.ended.rend(); ++e) {
      const int64_t g = FactorOf(AxisId(*e), more);
      if (g > 1 && Try(OptKind::kUnroll, AxisId(*e), g)) return;
    }
  }

  // Loads that are the same for all counters of the range, counted as vectors.
  double Saved(Ref range, absl::Span<const Access* const> accesses) const {
    double saved = 0;
    for (const Access* access : accesses) {
      if (access->IsStore() || StrideOf(g_, *access, range) != Stride::kNone) continue;
      saved += IsVectorised(access->place) ? 2 : 1;
    }
    return saved;
  }

  // ** stores **

  void Store() {
    std::vector<const Access*> accesses;
    for (const Access& access : a_.accesses) {
      if (access.IsStore() && IsVectorised(access.place)) return;
      if (access.times == 1) accesses.push_back(&access);
    }
    std::vector<Ref> candidates;
    for (Ref loop : a_.loops) {
      const bool is_reduced = std::any_of(
          a_.reductions.begin(), a_.reductions.end(),
          [&](const Reduction& r) { return DependsOn(g_, r.node, loop) && IsTiled(r); });
      if (!is_reduced) candidates.push_back(loop);
    }
    double scalar = 0;
    for (const Access* access : accesses) scalar += access->times;
    Ref best = BestOf(candidates, accesses, scalar);
    if (best == nullptr) return;
    const bool scatters = std::any_of(accesses.begin(), accesses.end(), [&](const Access* a) {
      return a->IsStore() && StrideOf(g_, *a, best) == Stride::kScattered;
    });
    // Of a transposition, the inner loop fills a cache line for each lane. Where rows are a power of
    // two apart, they all compete for one set of the cache.
    if (scatters) {
      Vectorise(best, kScatteredLanes);
      return;
    }
    // One range, one loop: room for more vectors a turn and for all cores.
    if (!Vectorise(best)) return;
    int64_t more = 4;
    for (const Access* a : accesses) {
      if (a->IsStore()) more = std::min(more, ManyFor(a->node->src(1)));
    }
    const int64_t f = FactorOf(AxisId(best), more);
    if (f > 1 && Left(AxisId(best)) / f >= target_.cores) Try(OptKind::kUpcast, AxisId(best), f);
  }

  // How many vectors of a value are computed at once to hide latencies and the cost of a loop. Long
  // computations fill the machine by themselves, and cost time to compile.
  int64_t ManyFor(Ref value) const {
    const int64_t operations = OperationsOf(value, target_.ops);
    return operations <= 8 ? 4 : operations <= 128 ? 2 : 1;
  }

  bool IsTiled(const Reduction& r) const { return IsVectorised(r.node->src(0)); }

  // ** cores **

  void Split() {
    if (target_.cores < 2 || a_.work < kThreadWork) return;
    for (Ref loop : a_.loops) {
      const int64_t left = Left(AxisId(loop));
      if (left >= target_.cores && left % target_.cores == 0 &&
          Try(OptKind::kThread, AxisId(loop), target_.cores)) {
        return;
      }
    }
    // Unevenly is better than not at all.
    for (Ref loop : a_.loops) {
      if (Left(AxisId(loop)) >= 4 * target_.cores &&
          Try(OptKind::kPadTo, AxisId(loop), target_.cores) &&
          Try(OptKind::kThread, AxisId(loop), target_.cores)) {
        return;
      }
    }
  }

  Graph& g_;
  const Target& target_;
  const Analysis a_;
  Optimised result_;
  std::vector<Ref> vectors_;  // Ranges of the kernel at the start that have lanes of a vector.
};

}  // namespace

Optimised ChooseOpts(Graph& g, Ref kernel, const Target& target) {
  return Chooser(g, kernel, target).Run();
}

}  // namespace kiln::codegen
