// The CPU of this machine as devices cpu:0, cpu:1...
//
//   Registry registry;
//   KILN_RETURN_IF_ERROR(cpu::RegisterCpuBackend(registry, {.num_devices = 2}));
#pragma once

#include "absl/status/status.h"

#include "core/runtime/registry.h"

namespace kiln::cpu {

struct CpuOptions {
  // They have disjoint sets of cores of the same size; or share cores, if there are fewer.
  int num_devices = 1;
  // Cores to use, of those this process may run on; 0: all.
  int max_cores = 0;
  int64_t memory_bytes = 0;  // Of each device; 0: the memory of the machine.
  // Each thread stays on a core of its own. Else it stays on the cores of its device, which is
  // better where other processes compute too.
  bool pin_threads = false;
};

// AlreadyExists if the registry has the kind "cpu"; InvalidArgument if num_devices < 1.
absl::Status RegisterCpuBackend(runtime::Registry& registry, CpuOptions options = {});

}  // namespace kiln::cpu
