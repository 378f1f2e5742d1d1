#include "core/runtime/transfers.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/dtype/status.h"

namespace kiln::runtime {
namespace {

// One copy command. Buffers whose hazards don't matter, since nobody else knows of them, are not
// ordered.
struct Job {
  Device& device;  // Whose queue does it.
  std::shared_ptr<Buffer> to, from;
  int64_t to_offset, from_offset, bytes;
  bool to_is_ordered, from_is_ordered;
  std::vector<Dependency> wait = {};
  std::shared_ptr<const void> owner = nullptr;
};

// Whether a write of these bytes overwrites all of the buffer.
Extent ExtentOf(const Buffer& buffer, int64_t bytes) {
  return bytes >= buffer.bytes() ? Extent::kWhole : Extent::kPart;
}

// Queues it. The second is for RunHere.
std::pair<Dependency, Queue*> Submit(Stream& stream, Job job, SubmitMode mode)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(stream.mu()) {
  auto list = std::make_shared<CommandList>();
  list->Copy({job.to.get(), job.to_offset, job.bytes},
             {job.from.get(), job.from_offset, job.bytes});
  list->Retain(job.to);
  list->Retain(job.from);
  if (job.owner != nullptr) list->Retain(std::move(job.owner));
  const Extent extent = ExtentOf(*job.to, job.bytes);
  if (job.from_is_ordered) job.from->hazards().AppendBeforeRead(job.wait);
  if (job.to_is_ordered) job.to->hazards().AppendBeforeWrite(job.wait, extent);
  auto outcome = std::make_shared<Outcome>();
  Queue& queue = stream.QueueOn(job.device);
  const Point point = queue.Submit(job.wait, std::move(list), outcome, mode);
  const Dependency done = {point, std::move(outcome)};
  if (job.to_is_ordered) job.to->hazards().SetWrite(done, extent);
  if (job.from_is_ordered) job.from->hazards().AddRead(point);
  return {done, &queue};
}

Dependency SubmitOne(SubmitState& state, Stream& stream, Job job, CopyOptions options) {
  const SubmitMode mode = options.run_here_if_idle ? SubmitMode::kHeld : SubmitMode::kQueued;
  std::pair<Dependency, Queue*> submitted;
  {
    absl::MutexLock lock(&stream.mu());
    absl::MutexLock submit_lock(&state.mu());
    submitted = Submit(stream, std::move(job), mode);
  }
  if (options.run_here_if_idle) submitted.second->RunHere(submitted.first.point);
  return submitted.first;
}

// Between devices that don't reach each other: through memory of the host that both see.
absl::StatusOr<Dependency> CopyByHost(SubmitState& state, Stream& stream, CopyEnd to, CopyEnd from,
                                      int64_t bytes) {
  Device& source = from.buffer->device();
  Device& target = to.buffer->device();
  const int64_t staged = std::max<int64_t>(bytes, 1);
  KILN_ASSIGN_OR_RETURN(std::shared_ptr<Buffer> staging,
                        source.memory().Allocate(staged, BufferUse::kStaging));
  KILN_ASSIGN_OR_RETURN(std::shared_ptr<Buffer> imported,
                        target.memory().Import({staging->host(), static_cast<size_t>(staged)},
                                               HostLifetime::kUntilDestroyed),
                        _ << "while copying from " << source.name() << " to " << target.name());
  absl::MutexLock lock(&stream.mu());
  absl::MutexLock submit_lock(&state.mu());
  Job out = {source, staging, from.buffer, 0, from.offset, bytes, false, true};
  const Dependency there = Submit(stream, std::move(out), SubmitMode::kQueued).first;
  Job in = {target, to.buffer, imported, to.offset, 0, bytes, true, false, {there}, staging};
  return Submit(stream, std::move(in), SubmitMode::kQueued).first;
}

}  // namespace

absl::Status CheckRange(const Buffer& buffer, int64_t offset, int64_t bytes) {
  if (offset >= 0 && bytes >= 0 && offset <= buffer.bytes() && bytes <= buffer.bytes() - offset) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(bytes, " bytes from offset ", offset, " of a buffer that has ", buffer.bytes()));
}

absl::StatusOr<Dependency> CopyIn(SubmitState& state, Stream& stream,
                                  const std::shared_ptr<Buffer>& to, int64_t offset, HostBytes from,
                                  CopyOptions options) {
  const auto bytes = static_cast<int64_t>(from.bytes.size());
  KILN_RETURN_IF_ERROR(CheckRange(*to, offset, bytes));
  Device& device = to->device();
  std::shared_ptr<Buffer> source;
  if (to->host() != nullptr) {
    source = std::make_shared<Buffer>(device, bytes, const_cast<std::byte*>(from.bytes.data()));
  } else {
    KILN_ASSIGN_OR_RETURN(
        source, device.memory().Allocate(std::max<int64_t>(bytes, 1), BufferUse::kStaging));
    if (bytes > 0) std::memcpy(source->host(), from.bytes.data(), from.bytes.size());
    from.owner = nullptr;
  }
  Job job = {device, to, std::move(source), offset, 0, bytes, true, false, {}, from.owner};
  return SubmitOne(state, stream, std::move(job), options);
}

absl::StatusOr<CopyOutResult> CopyOut(SubmitState& state, Stream& stream,
                                      const std::shared_ptr<Buffer>& from, int64_t offset,
                                      int64_t bytes, CopyOptions options) {
  KILN_RETURN_IF_ERROR(CheckRange(*from, offset, bytes));
  Device& device = from->device();
  CopyOutResult result = {.staging = nullptr, .bytes = bytes};
  KILN_ASSIGN_OR_RETURN(result.staging,
                        device.memory().Allocate(std::max<int64_t>(bytes, 1), BufferUse::kStaging));
  Job job = {device, result.staging, from, 0, offset, bytes, false, true};
  result.done = SubmitOne(state, stream, std::move(job), options);
  return result;
}

absl::StatusOr<Dependency> Copy(SubmitState& state, Stream& stream, CopyEnd to, CopyEnd from,
                                int64_t bytes, CopyOptions options) {
  KILN_RETURN_IF_ERROR(CheckRange(*to.buffer, to.offset, bytes));
  KILN_RETURN_IF_ERROR(CheckRange(*from.buffer, from.offset, bytes));
  if (to.buffer == from.buffer &&
      std::max(to.offset, from.offset) < std::min(to.offset, from.offset) + bytes) {
    return absl::InvalidArgumentError(absl::StrCat("a copy of ", bytes, " bytes from offset ",
                                                   from.offset, " to ", to.offset,
                                                   " of the same buffer overlaps"));
  }
  Device& target = to.buffer->device();
  Device& source = from.buffer->device();
  const bool is_pushed = !target.Reaches(source);
  if (&target != &source && is_pushed && !source.Reaches(target)) {
    return CopyByHost(state, stream, to, from, bytes);
  }
  Job job = {is_pushed && &target != &source ? source : target,
             to.buffer,
             from.buffer,
             to.offset,
             from.offset,
             bytes,
             true,
             true};
  return SubmitOne(state, stream, std::move(job), options);
}

}  // namespace kiln::runtime
