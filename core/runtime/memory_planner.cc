#include "core/runtime/memory_planner.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

namespace kiln::runtime {
namespace {

constexpr size_t kMaxQuadratic = 3000;  // Ranges: some 10 ms.

bool Overlap(const LiveRange& a, const LiveRange& b) {
  return a.begin <= b.end && b.begin <= a.end;
}

// The ranges one after the other, each in the smallest gap between those that live with it.
// Source: Pisarchyk & Lee, "Efficient Memory Management for Deep Neural Net Inference", MLSys 2020,
// section 5.
MemoryPlan PlaceInOrder(absl::Span<const LiveRange> ranges, absl::Span<const int32_t> order) {
  MemoryPlan plan;
  plan.offsets.assign(ranges.size(), 0);
  std::vector<int32_t> placed;  // By offset.
  for (int32_t i : order) {
    const LiveRange& range = ranges[i];
    if (range.bytes == 0) continue;
    int64_t best = -1, best_gap = 0, gap_begin = 0;
    for (int32_t p : placed) {
      if (!Overlap(ranges[p], range)) continue;
      const int64_t gap = plan.offsets[p] - gap_begin;
      if (gap >= range.bytes && (best < 0 || gap < best_gap)) {
        best = gap_begin;
        best_gap = gap;
      }
      gap_begin = std::max(gap_begin, plan.offsets[p] + ranges[p].bytes);
    }
    const int64_t offset = best >= 0 ? best : gap_begin;
    plan.offsets[i] = offset;
    plan.bytes = std::max(plan.bytes, offset + range.bytes);
    const auto at = std::upper_bound(placed.begin(), placed.end(), offset,
                                     [&](int64_t o, int32_t p) { return o < plan.offsets[p]; });
    placed.insert(at, i);
  }
  return plan;
}

// Free memory below an end that moves up, as gaps by offset and by size.
class Gaps {
 public:
  int64_t Take(int64_t bytes) {
    const auto found = by_size_.lower_bound({bytes, 0});
    if (found != by_size_.end()) {
      const auto [size, offset] = *found;
      Remove(offset, size);
      if (size > bytes) Add(offset + bytes, size - bytes);
      return offset;
    }
    int64_t offset = end_;
    if (!by_offset_.empty()) {  // A gap at the end is grown.
      const auto [last, size] = *by_offset_.rbegin();
      if (last + size == end_) {
        Remove(last, size);
        offset = last;
      }
    }
    end_ = offset + bytes;
    return offset;
  }
  void Give(int64_t offset, int64_t bytes) {
    auto after = by_offset_.lower_bound(offset);
    if (after != by_offset_.end() && offset + bytes == after->first) {
      bytes += after->second;
      Remove(after->first, after->second);
      after = by_offset_.lower_bound(offset);
    }
    if (after != by_offset_.begin()) {
      const auto [before, size] = *std::prev(after);
      if (before + size == offset) {
        Remove(before, size);
        offset = before;
        bytes += size;
      }
    }
    Add(offset, bytes);
  }
  int64_t end() const { return end_; }

 private:
  void Add(int64_t offset, int64_t bytes) {
    by_offset_.emplace(offset, bytes);
    by_size_.emplace(bytes, offset);
  }
  void Remove(int64_t offset, int64_t bytes) {
    by_offset_.erase(offset);
    by_size_.erase({bytes, offset});
  }

  std::map<int64_t, int64_t> by_offset_;           // Offset -> bytes.
  std::set<std::pair<int64_t, int64_t>> by_size_;  // Bytes, offset.
  int64_t end_ = 0;
};

// As an allocator would, step by step: best fit.
MemoryPlan PlaceByTime(absl::Span<const LiveRange> ranges) {
  MemoryPlan plan;
  plan.offsets.assign(ranges.size(), 0);
  // Time, whether something ends there (after all that begins there), the largest first, index.
  std::vector<std::tuple<int32_t, bool, int64_t, int32_t>> events;
  for (int32_t i = 0; i < static_cast<int32_t>(ranges.size()); ++i) {
    if (ranges[i].bytes == 0) continue;
    events.emplace_back(ranges[i].begin, false, -ranges[i].bytes, i);
    events.emplace_back(ranges[i].end, true, -ranges[i].bytes, i);
  }
  std::sort(events.begin(), events.end());
  Gaps gaps;
  for (const auto& [time, ends, negative_bytes, i] : events) {
    if (ends) {
      gaps.Give(plan.offsets[i], ranges[i].bytes);
    } else {
      plan.offsets[i] = gaps.Take(ranges[i].bytes);
    }
  }
  plan.bytes = gaps.end();
  return plan;
}

std::vector<LiveRange> Aligned(absl::Span<const LiveRange> ranges, int64_t alignment) {
  std::vector<LiveRange> aligned(ranges.begin(), ranges.end());
  for (LiveRange& r : aligned) r.bytes = (r.bytes + alignment - 1) & ~(alignment - 1);
  return aligned;
}

}  // namespace

int64_t LowerBoundBytes(absl::Span<const LiveRange> ranges, int64_t alignment) {
  std::map<int32_t, int64_t> change;  // At the beginning of a step.
  for (const LiveRange& r : Aligned(ranges, alignment)) {
    change[r.begin] += r.bytes;
    change[r.end + 1] -= r.bytes;
  }
  int64_t alive = 0, most = 0;
  for (const auto& [step, bytes] : change) most = std::max(most, alive += bytes);
  return most;
}

MemoryPlan PlanMemory(absl::Span<const LiveRange> unaligned, int64_t alignment) {
  const std::vector<LiveRange> ranges = Aligned(unaligned, alignment);
  MemoryPlan best = PlaceByTime(ranges);
  if (ranges.size() > kMaxQuadratic || best.bytes == LowerBoundBytes(ranges, alignment))
    return best;
  std::vector<int32_t> order(ranges.size());
  const auto improve = [&](auto key) {
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int32_t a, int32_t b) { return key(ranges[a]) < key(ranges[b]); });
    if (MemoryPlan plan = PlaceInOrder(ranges, order); plan.bytes < best.bytes) {
      best = std::move(plan);
    }
  };
  improve([](const LiveRange& r) { return std::pair(-r.bytes, r.begin); });
  improve([](const LiveRange& r) { return std::pair(r.begin - r.end, -r.bytes); });
  return best;
}

}  // namespace kiln::runtime
