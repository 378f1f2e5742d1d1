#include "backends/cpu/cpu.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "backends/cpu/affinity.h"
#include "backends/cpu/cpu_device.h"

namespace kiln::cpu {
namespace {

// The cores of device `index`.
std::vector<int> CoresOf(int index, const CpuOptions& options) {
  std::vector<int> all = AvailableCores();
  if (options.max_cores > 0 && static_cast<size_t>(options.max_cores) < all.size()) {
    all.resize(static_cast<size_t>(options.max_cores));
  }
  const size_t each = std::max<size_t>(1, all.size() / static_cast<size_t>(options.num_devices));
  std::vector<int> cores;
  for (size_t i = 0; i < each; ++i) {
    cores.push_back(all[(static_cast<size_t>(index) * each + i) % all.size()]);
  }
  return cores;
}

}  // namespace

absl::Status RegisterCpuBackend(runtime::Registry& registry, CpuOptions options) {
  if (options.num_devices < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("there must be a device, not ", options.num_devices));
  }
  return registry.Register(
      {.kind = "cpu",
       .num_devices = options.num_devices,
       .create = [options](int index,
                           std::string name) -> absl::StatusOr<std::unique_ptr<runtime::Device>> {
         return std::make_unique<CpuDevice>(CpuDevice::Options{.name = std::move(name),
                                                               .cores = CoresOf(index, options),
                                                               .memory_bytes = options.memory_bytes,
                                                               .pin_threads = options.pin_threads});
       }});
}

}  // namespace kiln::cpu
