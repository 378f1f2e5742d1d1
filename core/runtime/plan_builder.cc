#include "core/runtime/plan_builder.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"

#include "core/dtype/status.h"
#include "core/runtime/bytes.h"
#include "core/runtime/compact.h"
#include "core/runtime/memory_planner.h"
#include "core/runtime/segments.h"
#include "core/schedule/schedule.h"
#include "core/symbolic/render.h"

namespace kiln::runtime {
namespace {

constexpr size_t kMaxCharsInErrors = 200;

std::string DeviceOf(const tensor::TensorInput& input, const PlanContext& context) {
  return input.device.empty() ? context.default_device : input.device;
}

// What the graph is, and where its inputs are.
Digest GraphDigest(const tensor::TensorGraph& graph) {
  std::string all;
  internal::AppendVarint(all, graph.inputs.size());
  for (const tensor::TensorInput& input : graph.inputs) {
    internal::AppendVarint(all, static_cast<uint64_t>(input.slot));
    internal::AppendText(all, input.device);
  }
  std::vector<Ref> roots = {graph.sink};
  roots.insert(roots.end(), graph.conditions.begin(), graph.conditions.end());
  AppendCompact(roots, all);
  return DigestOf(all);
}

class PlanBuilder {
 public:
  PlanBuilder(const tensor::TensorGraph& graph, const PlanContext& context)
      : graph_(graph), context_(context), scalars_(AddVariables()) {}

  absl::StatusOr<std::shared_ptr<const Plan>> Build() {
    schedule::ScheduleOptions options = {.default_device = context_.default_device};
    for (const tensor::TensorInput& input : graph_.inputs) {
      if (input.device.empty()) continue;
      const auto slot = static_cast<size_t>(input.slot);
      if (options.input_devices.size() <= slot) options.input_devices.resize(slot + 1);
      options.input_devices[slot] = input.device;
    }
    KILN_ASSIGN_OR_RETURN(schedule_, schedule::MakeSchedule(*graph_.graph, graph_.sink, options));
    for (const std::string& name : schedule_.devices) {
      KILN_ASSIGN_OR_RETURN(const int32_t device, AddDevice(name));
      device_.push_back(device);
    }
    KILN_RETURN_IF_ERROR(AddConditions());
    KILN_RETURN_IF_ERROR(AddInputs());
    KILN_RETURN_IF_ERROR(AddBuffers());
    KILN_RETURN_IF_ERROR(AddItems());
    KILN_RETURN_IF_ERROR(AddOutputs());
    PlaceTemporaries();
    plan_->scalars = std::move(scalars_).Finish();
    internal::AddSegments(*plan_);
    return plan_;
  }

 private:
  std::vector<std::string> AddVariables() {
    std::vector<std::string> names;
    for (Ref v : graph_.variables) {
      const uop::VariableInfo info = uop::VariableOf(v);
      plan_->variables.push_back({std::string(info.name), info.min.AsInt(), info.max.AsInt()});
      names.emplace_back(info.name);
    }
    return names;
  }

  absl::StatusOr<int32_t> AddDevice(const std::string& name) {
    KILN_ASSIGN_OR_RETURN(Device * device, context_.registry.Get(name));
    const auto found = std::find(plan_->devices.begin(), plan_->devices.end(), device);
    if (found != plan_->devices.end()) return static_cast<int32_t>(found - plan_->devices.begin());
    plan_->devices.push_back(device);
    return static_cast<int32_t>(plan_->devices.size() - 1);
  }

  absl::Status AddConditions() {
    for (Ref condition : graph_.conditions) {
      KILN_ASSIGN_OR_RETURN(const SymbolicInt holds, scalars_.Add(condition));
      plan_->conditions.push_back({holds, symbolic::Render(condition, kMaxCharsInErrors)});
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<SymbolicInt>> AddDims(absl::Span<const Ref> dims) {
    std::vector<SymbolicInt> result;
    for (Ref dim : dims) {
      KILN_ASSIGN_OR_RETURN(result.emplace_back(), scalars_.Add(dim));
    }
    return result;
  }

  absl::Status AddInputs() {
    for (const tensor::TensorInput& input : graph_.inputs) {
      KILN_ASSIGN_OR_RETURN(std::vector<SymbolicInt> dims, AddDims(input.dims));
      KILN_ASSIGN_OR_RETURN(const int32_t device, AddDevice(DeviceOf(input, context_)));
      input_[input.slot] = static_cast<int32_t>(plan_->inputs.size());
      plan_->inputs.push_back({.slot = input.slot,
                               .dtype = input.dtype,
                               .dims = std::move(dims),
                               .device = device,
                               .is_written = input.is_assigned,
                               .is_used = false});
    }
    return absl::OkStatus();
  }

  absl::Status AddBuffers() {
    for (const schedule::Buffer& b : schedule_.buffers) {
      PlanBuffer buffer = {.kind = static_cast<PlanBuffer::Kind>(b.kind),
                           .device = device_[b.device],
                           .dtype = b.dtype};
      const int64_t elem_bytes = dtype::SizeBytes(b.dtype);
      if (b.elems > std::numeric_limits<int64_t>::max() / 16) {
        return absl::ResourceExhaustedError(
            absl::StrCat("a tensor of up to ", b.elems, " elements does not fit any memory"));
      }
      buffer.bytes = b.elems * elem_bytes;
      if (b.kind == schedule::Buffer::Kind::kInput) {
        const auto found = input_.find(b.number);
        if (found == input_.end()) {
          return absl::InternalError(absl::StrCat("the schedule reads slot ", b.number));
        }
        buffer.input = found->second;
        plan_->inputs[found->second].is_used = true;
      }
      plan_->buffers.push_back(buffer);
    }
    return absl::OkStatus();
  }

  // ** items **

  absl::Status AddItems() {
    // Equal layers launch the same kernel: it is compiled once, and no thread waits for another that
    // is at it.
    std::vector<KernelSource> sources;
    std::vector<Device*> devices;                                    // By source.
    absl::flat_hash_map<std::pair<Ref, int32_t>, size_t> source_of;  // By kernel and device.
    for (const schedule::Item& item : schedule_.items) {
      const auto* launch = std::get_if<schedule::Launch>(&item);
      if (launch == nullptr) continue;
      const int32_t device = device_[launch->device];
      const bool is_new = source_of.try_emplace({launch->kernel, device}, sources.size()).second;
      if (!is_new) continue;
      sources.push_back({Compact(launch->kernel), launch->name, context_.math});
      devices.push_back(plan_->devices[device]);
    }
    KILN_ASSIGN_OR_RETURN(const std::vector<Compiled> compiled, Compile(sources, devices));
    for (const schedule::Item& item : schedule_.items) {
      if (const auto* launch = std::get_if<schedule::Launch>(&item)) {
        const size_t source = source_of.at({launch->kernel, device_[launch->device]});
        KILN_RETURN_IF_ERROR(AddLaunch(*launch, compiled[source]));
      } else {
        KILN_RETURN_IF_ERROR(AddCopy(std::get<schedule::Copy>(item)));
      }
    }
    return absl::OkStatus();
  }

  struct Compiled {
    std::shared_ptr<const Executable> executable, reference;
  };
  // Each source for the device beside it.
  absl::StatusOr<std::vector<Compiled>> Compile(absl::Span<const KernelSource> sources,
                                                absl::Span<Device* const> devices) {
    std::vector<Compiled> compiled(sources.size());
    std::vector<absl::Status> status(sources.size());
    context_.threads.ForEach(static_cast<int>(sources.size()), [&](int i) {
      status[i] = CompileOne(sources[i], *devices[i], compiled[i]);
    });
    for (const absl::Status& s : status) KILN_RETURN_IF_ERROR(s);
    return compiled;
  }

  absl::Status CompileOne(const KernelSource& source, Device& device, Compiled& to) const {
    KILN_ASSIGN_OR_RETURN(to.executable, context_.kernels.Get(source, device));
    if (context_.reference != nullptr) {
      KILN_ASSIGN_OR_RETURN(to.reference, context_.kernels.Get(source, *context_.reference));
    }
    return absl::OkStatus();
  }

  absl::Status AddLaunch(const schedule::Launch& launch, Compiled compiled) {
    const ProgramSignature& signature = compiled.executable->signature();
    // It may have fewer, if what was read last turned out not to matter.
    if (signature.buffers.size() > launch.buffers.size()) {
      return absl::InternalError(absl::StrCat("kernel \"", launch.name, "\" has ",
                                              signature.buffers.size(), " buffers, its launch ",
                                              launch.buffers.size()));
    }
    PlanLaunch item = {.executable = std::move(compiled.executable),
                       .reference = std::move(compiled.reference),
                       .reference_device = context_.reference,
                       .buffers = launch.buffers,
                       .num_written = launch.num_written,
                       .label = launch.label};
    item.buffers.resize(item.executable->signature().buffers.size());
    item.num_written = std::min(item.num_written, static_cast<int32_t>(item.buffers.size()));
    for (const codegen::ProgramVariable& v : item.executable->signature().variables) {
      const auto found =
          std::find_if(plan_->variables.begin(), plan_->variables.end(),
                       [&](const PlanVariable& known) { return known.name == v.name; });
      if (found == plan_->variables.end()) {
        return absl::InternalError(absl::StrCat("kernel \"", launch.name, "\" needs variable \"",
                                                v.name, "\", which the graph does not have"));
      }
      item.variables.push_back(static_cast<int32_t>(found - plan_->variables.begin()));
    }
    plan_->items.emplace_back(std::move(item));
    ++plan_->num_kernels;
    return absl::OkStatus();
  }

  absl::Status AddCopy(const schedule::Copy& copy) {
    const PlanBuffer &to = plan_->buffers[copy.to], &from = plan_->buffers[copy.from];
    Device &to_device = *plan_->devices[to.device], &from_device = *plan_->devices[from.device];
    if (!to_device.Reaches(from_device) && !from_device.Reaches(to_device)) {
      return absl::UnimplementedError(absl::StrCat("neither of ", to_device.name(), " and ",
                                                   from_device.name(),
                                                   " reaches the memory of the other"));
    }
    KILN_ASSIGN_OR_RETURN(const SymbolicInt elems, scalars_.Add(copy.elems));
    plan_->items.emplace_back(PlanCopy{.to = copy.to,
                                       .from = copy.from,
                                       .elems = elems,
                                       .elem_bytes = dtype::SizeBytes(to.dtype)});
    ++plan_->num_copies;
    return absl::OkStatus();
  }

  absl::Status AddOutputs() {
    for (const schedule::Output& output : schedule_.outputs) {
      KILN_ASSIGN_OR_RETURN(std::vector<SymbolicInt> dims, AddDims(output.dims));
      plan_->outputs.push_back({output.buffer, output.dtype, std::move(dims)});
    }
    return absl::OkStatus();
  }

  // ** memory **

  void PlaceTemporaries() {
    std::vector<LiveRange> ranges(plan_->buffers.size(), {0, -1, -1});
    for (int32_t i = 0; i < static_cast<int32_t>(plan_->items.size()); ++i) {
      const auto use = [&](int32_t b) {
        LiveRange& range = ranges[b];
        if (range.begin < 0) range = {plan_->buffers[b].bytes, i, i};
        range.end = i;
      };
      if (const auto* launch = std::get_if<PlanLaunch>(&plan_->items[i])) {
        for (int32_t b : launch->buffers) use(b);
      } else {
        use(std::get<PlanCopy>(plan_->items[i]).to);
        use(std::get<PlanCopy>(plan_->items[i]).from);
      }
    }
    for (size_t d = 0; d < plan_->devices.size(); ++d) {
      std::vector<LiveRange> here;
      std::vector<int32_t> buffers;
      for (size_t b = 0; b < ranges.size(); ++b) {
        const PlanBuffer& buffer = plan_->buffers[b];
        if (buffer.kind != PlanBuffer::Kind::kTemporary || ranges[b].begin < 0 ||
            buffer.device != static_cast<int32_t>(d)) {
          continue;
        }
        here.push_back(ranges[b]);
        buffers.push_back(static_cast<int32_t>(b));
        plan_->unshared_bytes += ranges[b].bytes;
      }
      const int64_t alignment = plan_->devices[d]->memory().Limits().alignment;
      const MemoryPlan placed = PlanMemory(here, alignment);
      for (size_t i = 0; i < buffers.size(); ++i) {
        plan_->buffers[buffers[i]].offset = placed.offsets[i];
      }
      plan_->arena_bytes.push_back(placed.bytes);
      plan_->lower_bound_bytes += LowerBoundBytes(here, alignment);
    }
  }

  const tensor::TensorGraph& graph_;
  const PlanContext& context_;
  const std::shared_ptr<Plan> plan_ = std::make_shared<Plan>();
  ScalarProgramBuilder scalars_;
  schedule::Schedule schedule_;
  std::vector<int32_t> device_;                  // By device of the schedule: index in the plan.
  absl::flat_hash_map<int64_t, int32_t> input_;  // By slot: index into plan_->inputs.
};

}  // namespace

absl::StatusOr<std::shared_ptr<const Plan>> BuildPlan(const tensor::TensorGraph& graph,
                                                      const PlanContext& context) {
  return PlanBuilder(graph, context).Build();
}

Digest PlanIdOf(const tensor::TensorGraph& graph, const PlanContext& context) {
  if (!graph.digest.has_value()) graph.digest = GraphDigest(graph).bytes;
  std::string all;
  all.append(Digest{*graph.digest}.view());
  internal::AppendText(all, context.default_device);
  internal::AppendVarint(all, static_cast<uint64_t>(context.math));
  internal::AppendText(all, context.reference == nullptr ? "" : context.reference->name());
  return DigestOf(all);
}

}  // namespace kiln::runtime
