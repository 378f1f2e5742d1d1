// The command lists of a plan, made once and patched for each run.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"

#include "core/runtime/bind.h"
#include "core/runtime/command_list.h"
#include "core/runtime/plan.h"

namespace kiln::runtime {

// By segment of a plan: how long it keeps the device.
using PlanMeters = std::vector<std::shared_ptr<DeviceTimeMeter>>;

// Thread-compatible. One run at a time.
class Recording {
 public:
  // `arenas`: one for each device of the plan, null where it needs none.
  Recording(const Plan& plan, const PlanMeters& meters,
            std::vector<std::shared_ptr<Buffer>> arenas);

  // Whether the run that it was last used for is over.
  bool is_free() const;
  absl::Span<const std::shared_ptr<Buffer>> arenas() const { return arenas_; }
  // Puts in memory and values that differ from those of the last run. Pre: is_free().
  void Patch(const Plan& plan, const Bound& bound);
  const std::shared_ptr<CommandList>& list(size_t segment) const { return lists_[segment]; }
  void SetPoints(std::vector<Point> points) { points_ = std::move(points); }

 private:
  // A place in the list of a segment.
  struct Place {
    int32_t segment;
    uint32_t index;
  };
  struct CopyPlace {
    int32_t segment, item;
    CopyCommand command;
  };
  void AddLaunch(const Plan& plan, int32_t segment, const PlanLaunch& launch);
  void AddCopy(const Plan& plan, int32_t segment, int32_t item);
  BufferSlice SliceOf(const Plan& plan, int32_t buffer) const;

  const std::vector<std::shared_ptr<Buffer>> arenas_;
  std::vector<std::shared_ptr<CommandList>> lists_;  // By segment.
  std::vector<std::vector<Place>> buffer_places_;    // By buffer of the plan; not temporaries.
  std::vector<std::vector<Place>> variable_places_;  // By variable of the plan.
  std::vector<CopyPlace> copies_;
  std::vector<BufferSlice> slices_;  // As patched: by buffer of the plan.
  std::vector<int64_t> variables_;   // As patched.
  std::vector<Point> points_;        // Of the last run.
};

}  // namespace kiln::runtime
