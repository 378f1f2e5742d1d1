#include "core/rewrite/scratch.h"

#include <utility>

namespace kiln::rewrite::internal {
namespace {

// Of frames, 56 bytes each, in a scratch that is kept.
constexpr size_t kMaxKeptFrames = size_t{1} << 17;

std::vector<std::unique_ptr<Scratch>>& FreeScratch() {
  thread_local std::vector<std::unique_ptr<Scratch>> free;
  return free;
}

}  // namespace

ScratchLease::ScratchLease() {
  auto& free = FreeScratch();
  if (free.empty()) {
    scratch_ = std::make_unique<Scratch>();
  } else {
    scratch_ = std::move(free.back());
    free.pop_back();
  }
}

ScratchLease::~ScratchLease() {
  if (scratch_->large || scratch_->frames.capacity() > kMaxKeptFrames) return;
  scratch_->memo.Clear();
  scratch_->frames.clear();
  scratch_->values.clear();
  scratch_->leaves.clear();
  FreeScratch().push_back(std::move(scratch_));
}

}  // namespace kiln::rewrite::internal
