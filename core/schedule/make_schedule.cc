#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"

#include "core/dtype/status.h"
#include "core/schedule/kernels.h"
#include "core/schedule/merge_kernels.h"
#include "core/schedule/multi.h"
#include "core/schedule/order.h"
#include "core/schedule/place.h"
#include "core/schedule/prepare.h"
#include "core/schedule/schedule.h"
#include "core/schedule/storage.h"
#include "core/schedule/value.h"
#include "core/tensor/movement.h"
#include "core/uop/facts.h"
#include "core/uop/walk.h"

namespace kiln::schedule {
namespace {

using internal::Kernel;
using internal::Order;
using internal::Prepared;
using internal::States;
using internal::Storage;
using internal::Task;

class Scheduler {
 public:
  Scheduler(Graph& g, Prepared prepared)
      : g_(g), prepared_(std::move(prepared)), states_(prepared_.sink) {}

  absl::StatusOr<Schedule> Run() {
    KILN_RETURN_IF_ERROR(MakeKernels());
    AddCopies();
    KILN_RETURN_IF_ERROR(AddOutputs());
    KILN_ASSIGN_OR_RETURN(const Order order, internal::OrderTasks(g_, states_, tasks_));
    out_.devices = prepared_.devices;
    for (Ref saved : order.saved) {
      prepared_.device[saved] = prepared_.device.Get(saved->src(0));
      saved_input_[saved] = states_.InputOf(saved->src(0));
    }
    std::vector<int32_t> kernel_devices;
    for (const Kernel& k : kernels_) kernel_devices.push_back(DeviceOf(k.root));
    for (const std::vector<int32_t>& group :
         internal::MergeTasks(states_, {.tasks = tasks_,
                                        .kernels = kernels_,
                                        .devices = kernel_devices,
                                        .order = order.tasks})) {
      KILN_RETURN_IF_ERROR(AddItem(group));
    }
    return std::move(out_);
  }

 private:
  // ** tasks **: kernels first, then copies; the kernel of a task has its index.

  absl::Status MakeKernels() {
    std::vector<Ref> must_store;
    while (true) {
      KILN_ASSIGN_OR_RETURN(Storage storage,
                            internal::ChooseStorage(g_, prepared_.sink, must_store));
      storage_.emplace(std::move(storage));
      KILN_ASSIGN_OR_RETURN(Ref missing, TryKernels());
      if (missing == nullptr) break;
      must_store.push_back(missing);
    }
    for (const Kernel& k : kernels_) {
      tasks_.push_back({.writes = k.root, .reads = {k.states.begin() + 1, k.states.end()}});
    }
    return absl::OkStatus();
  }

  // A node without which some kernel can't be made, and that has to be stored; null if there is none.
  absl::StatusOr<Ref> TryKernels() {
    kernels_.clear();
    for (Ref n : uop::Toposort(prepared_.sink)) {
      const bool is_kernel =
          n->op == Op::kAssign || (storage_->is_stored.Get(n) && n->op != Op::kCopy);
      if (!is_kernel) continue;
      KILN_ASSIGN_OR_RETURN(const absl::Span<const Ref> shape, uop::ShapeOf(g_, n));
      if (internal::IsEmpty(shape)) continue;
      KILN_ASSIGN_OR_RETURN(Kernel kernel, internal::MakeKernel(g_, *storage_, states_, n));
      if (kernel.crowded != nullptr) return kernel.crowded;
      if (n->op == Op::kAssign && internal::ReadsElsewhere(kernel)) return n->src(1);
      kernels_.push_back(std::move(kernel));
    }
    return nullptr;
  }

  void AddCopies() {
    for (Ref n : storage_->stored) {
      if (n->op == Op::kCopy)
        tasks_.push_back({.writes = n, .reads = {internal::SkipReshapes(n->src(0))}});
    }
  }

  // An output that some other output or the caller has already as memory is a copy of that.
  absl::Status AddOutputs() {
    for (int i = 0; i < prepared_.sink->num_src; ++i) {
      Ref n = prepared_.sink->src(i);
      Ref source = internal::SkipReshapes(n);
      KILN_ASSIGN_OR_RETURN(const absl::Span<const Ref> shape, uop::ShapeOf(g_, n));
      const bool is_first = !internal::IsState(source) && !output_number_.contains(source);
      if (is_first) {
        output_number_[source] = i;
      } else {
        // Named by its number, so that each copy is one of its own.
        Ref copy = g_.Make(Op::kCopy, source->dtype, {source}, g_.PayloadArg("", {i}));
        prepared_.device[copy] = prepared_.device.Get(source);
        output_number_[copy] = i;
        tasks_.push_back({.writes = copy, .reads = {source}});
        source = copy;
      }
      KILN_ASSIGN_OR_RETURN(const int32_t buffer, BufferOf(source));
      out_.outputs.push_back({buffer, n->dtype, {shape.begin(), shape.end()}});
    }
    return absl::OkStatus();
  }

  // ** buffers **

  int32_t DeviceOf(Ref n) {
    const int32_t device = prepared_.device.Get(n);
    return device == 0 ? prepared_.default_device : device - 1;
  }

  // The shape of the memory that `n` is in. A saved state is all of its input: the ASSIGN that made it
  // may have written to a part.
  absl::StatusOr<absl::Span<const Ref>> MemoryShape(Ref n) {
    const auto saved = saved_input_.find(n);
    return uop::ShapeOf(g_, saved == saved_input_.end() ? n : saved->second);
  }

  absl::StatusOr<int32_t> BufferOf(Ref state) {
    if (internal::IsState(state)) state = states_.InputOf(state);
    if (const auto it = buffer_.find(state); it != buffer_.end()) return it->second;
    Buffer b{.dtype = state->dtype, .device = DeviceOf(state)};
    KILN_ASSIGN_OR_RETURN(const absl::Span<const Ref> shape, MemoryShape(state));
    KILN_ASSIGN_OR_RETURN(b.elems, internal::ElemsOf(g_, shape));
    if (state->op == Op::kInput) {
      b.kind = Buffer::Kind::kInput;
      b.number = static_cast<int32_t>(state->arg.integer());
    } else if (const auto it = output_number_.find(state); it != output_number_.end()) {
      b.kind = Buffer::Kind::kOutput;
      b.number = it->second;
    } else {
      b.kind = Buffer::Kind::kTemporary;
      b.number = num_temporaries_++;
    }
    const auto index = static_cast<int32_t>(out_.buffers.size());
    buffer_[state] = index;
    out_.buffers.push_back(b);
    return index;
  }

  // ** items **

  absl::Status AddItem(absl::Span<const int32_t> group) {
    const auto first = static_cast<size_t>(group[0]);
    if (first < kernels_.size()) return AddLaunch(group);
    const Task& t = tasks_[first];
    KILN_ASSIGN_OR_RETURN(const absl::Span<const Ref> shape, MemoryShape(t.writes));
    if (internal::IsEmpty(shape)) return absl::OkStatus();
    KILN_ASSIGN_OR_RETURN(const int32_t from, BufferOf(t.reads[0]));
    KILN_ASSIGN_OR_RETURN(const int32_t to, BufferOf(t.writes));
    out_.items.emplace_back(Copy{from, to, tensor::ElementCount(g_, shape)});
    return absl::OkStatus();
  }

  // One kernel of all those of the group.
  absl::Status AddLaunch(absl::Span<const int32_t> group) {
    const Kernel& first = kernels_[static_cast<size_t>(group[0])];
    Launch launch{.kernel = first.sink,
                  .buffers = {},
                  .num_written = static_cast<int32_t>(group.size()),
                  .device = DeviceOf(first.root),
                  .name = first.name,
                  .label = std::string(uop::Name(first.root->op))};
    for (int32_t task : group) {
      KILN_ASSIGN_OR_RETURN(const int32_t written, BufferOf(TaskOf(task).writes));
      launch.buffers.push_back(written);
    }
    std::vector<std::vector<int32_t>> numbers;  // In launch.buffers, of the PARAMs of each kernel.
    for (size_t i = 0; i < group.size(); ++i) {
      numbers.push_back({static_cast<int32_t>(i)});
      for (Ref read : TaskOf(group[i]).reads) {
        KILN_ASSIGN_OR_RETURN(const int32_t buffer, BufferOf(read));
        const auto at = std::find(launch.buffers.begin(), launch.buffers.end(), buffer);
        numbers[i].push_back(static_cast<int32_t>(at - launch.buffers.begin()));
        if (at == launch.buffers.end()) launch.buffers.push_back(buffer);
      }
    }
    if (group.size() > 1) {
      std::vector<Ref> sinks;
      for (int32_t task : group) sinks.push_back(kernels_[static_cast<size_t>(task)].sink);
      launch.kernel = internal::MergeSinks(g_, sinks, numbers);
      launch.name = internal::NameOf(launch.kernel);
    }
    out_.items.emplace_back(std::move(launch));
    return absl::OkStatus();
  }

  const Task& TaskOf(int32_t task) const { return tasks_[static_cast<size_t>(task)]; }

  Graph& g_;
  Prepared prepared_;
  States states_;
  std::optional<Storage> storage_;
  std::vector<Kernel> kernels_;
  std::vector<Task> tasks_;
  absl::flat_hash_map<Ref, int32_t> output_number_, buffer_;
  absl::flat_hash_map<Ref, Ref> saved_input_;  // The INPUT that a saved state is the contents of.
  int32_t num_temporaries_ = 0;
  Schedule out_;
};

}  // namespace

absl::StatusOr<Schedule> MakeSchedule(Graph& g, Ref sink, const ScheduleOptions& options) {
  KILN_ASSIGN_OR_RETURN(sink, internal::LowerShards(g, sink));
  KILN_ASSIGN_OR_RETURN(Prepared prepared, internal::Prepare(g, sink, options));
  return Scheduler(g, std::move(prepared)).Run();
}

}  // namespace kiln::schedule
