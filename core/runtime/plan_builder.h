// From a tensor graph to a plan: schedules it, compiles its kernels, places its temporaries.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"

#include "core/runtime/kernel_cache.h"
#include "core/runtime/plan.h"
#include "core/runtime/registry.h"
#include "core/runtime/thread_pool.h"
#include "core/tensor/tensor_graph.h"

namespace kiln::runtime {

// What plans are made with. Borrowed.
struct PlanContext {
  Registry& registry;
  KernelCache& kernels;
  ThreadPool& threads;
  std::string default_device;
  Device* reference = nullptr;  // Results of kernels are compared with it. Null: they are not.
  symbolic::Math math = symbolic::Math::kExact;
};

// Adds nodes to the graph. Kernels are compiled in parallel. Errors: those of MakeSchedule and
// LowerKernel, of devices that are not there or don't compile a kernel (named).
absl::StatusOr<std::shared_ptr<const Plan>> BuildPlan(const tensor::TensorGraph& graph,
                                                      const PlanContext& context);

// What a plan depends on: the graph, where its inputs are, and the default device. Linear in the
// nodes of the graph, some 30 ns for each, the first time; then it is remembered in the graph.
Digest PlanIdOf(const tensor::TensorGraph& graph, const PlanContext& context);

}  // namespace kiln::runtime
