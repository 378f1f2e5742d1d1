// Working memory of one run of the driver. For driver.cc.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/rewrite/rule.h"
#include "core/uop/node_map.h"

namespace kiln::rewrite::internal {

// A node whose result is being worked out.
struct Frame {
  enum Stage : uint8_t {
    kSources,  // Waiting for the sources of `cur`.
    kLeaves,   // Waiting for the operands of the n-ary tree under `cur`.
    kResult,   // Waiting for what `cur`, a replacement of `key`, becomes.
  };
  Ref key, cur;
  const RuleInfo* rule;  // That made `cur` from `key`; null if its sources changed.
  uint32_t next;         // Source or leaf to look at next.
  uint32_t values;       // Where its sources' results begin in Scratch::values.
  uint32_t leaves;       // Where its leaves begin in Scratch::leaves.
  uint32_t num_leaves;
  Stage stage;
};

// Confined to one run.
struct Scratch {
  uop::NodeMap<Ref> memo;
  std::vector<Frame> frames;
  std::vector<Ref> values;
  std::vector<Ref> leaves;
  std::vector<Ref> one_tree;
  bool large = false;  // Not to be kept.
};

// Memory of this thread, kept warm between runs: emptied, and given back at the end of its scope
// unless the run was so large that keeping its memory would be hoarding.
class ScratchLease {
 public:
  ScratchLease();
  ScratchLease(const ScratchLease&) = delete;
  ScratchLease& operator=(const ScratchLease&) = delete;
  ~ScratchLease();
  Scratch& operator*() { return *scratch_; }

 private:
  std::unique_ptr<Scratch> scratch_;
};

}  // namespace kiln::rewrite::internal
