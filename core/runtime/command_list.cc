#include "core/runtime/command_list.h"

namespace kiln::runtime {

ExecCommand CommandList::Exec(const Executable& executable, absl::Span<const BufferSlice> buffers,
                              absl::Span<const int64_t> variables) {
  const ExecCommand exec = {
      .executable = &executable,
      .first_buffer = static_cast<uint32_t>(buffers_.size()),
      .num_buffers = static_cast<uint32_t>(buffers.size()),
      .first_variable = static_cast<uint32_t>(variables_.size()),
      .num_variables = static_cast<uint32_t>(variables.size()),
  };
  buffers_.insert(buffers_.end(), buffers.begin(), buffers.end());
  variables_.insert(variables_.end(), variables.begin(), variables.end());
  commands_.emplace_back(exec);
  return exec;
}

CopyCommand CommandList::Copy(BufferSlice to, BufferSlice from) {
  const auto first = static_cast<uint32_t>(buffers_.size());
  buffers_.push_back(to);
  buffers_.push_back(from);
  const CopyCommand copy = {first, first + 1};
  commands_.emplace_back(copy);
  return copy;
}

uint32_t CommandList::Timestamp() {
  const auto slot = static_cast<uint32_t>(timestamps_ns_.size());
  timestamps_ns_.push_back(0);
  commands_.emplace_back(TimestampCommand{slot});
  return slot;
}

}  // namespace kiln::runtime
