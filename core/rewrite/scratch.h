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
    kOffer,    // Users first: to be offered before its sources are visited.
    kSources,  // Waiting for the sources of `cur`, which is `key`.
    kLeaves,   // Waiting for the operands of the n-ary tree under `cur`, which is `key`.
    kResult,   // Waiting for what `cur`, a replacement of `key`, becomes.
  };
  Ref key, cur;
  Ref* memo;  // Where the result of `key` goes.
  Stage stage = kSources;
  bool has_values = false;  // For sources, not until one of them changed.
  uint32_t next = 0;        // Source or leaf to look at next.
  uint32_t values = 0;      // Where the results begin in Scratch::values, if there are any.
  uint32_t leaves = 0;      // Where its leaves begin in Scratch::leaves.
  uint32_t num_leaves = 0;
  const RuleInfo* rule = nullptr;  // That made `cur` from `key`; null if its sources changed.
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
