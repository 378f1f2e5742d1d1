// Devices by name.
//
//   Registry registry;
//   RegisterCpuBackend(registry);                 // backends/cpu/cpu.h
//   KILN_ASSIGN_OR_RETURN(Device* device, registry.Get("cpu:0"));
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

#include "core/runtime/device.h"

namespace kiln::runtime {

// What a backend offers.
struct Backend {
  std::string kind;     // "cpu": names of devices are kind:index.
  int num_devices = 1;  // What there is, for listing.
  // Makes device `index`, whose name is `name`. 0 <= index < num_devices. Called once for each.
  std::function<absl::StatusOr<std::unique_ptr<Device>>(int index, std::string name)> create;
};

// Owns the devices, which are made when they are first asked for. Thread-safe.
class Registry {
 public:
  Registry() = default;
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  // AlreadyExists if the kind is there.
  absl::Status Register(Backend backend);
  // Makes `alias` another name of the device `name`: both as in Get. A device of that name is
  // hidden.
  void Alias(std::string_view alias, std::string_view name);
  // "cpu:1"; "cpu" is "cpu:0"; upper case is the same. NotFound names what there is; errors of the
  // backend, which is asked again the next time.
  absl::StatusOr<Device*> Get(std::string_view name);
  // Names of all devices, made or not, in order of registration.
  std::vector<std::string> Names() const;

 private:
  mutable absl::Mutex mu_;
  std::vector<Backend> backends_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, std::string, std::less<>> aliases_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, std::unique_ptr<Device>, std::less<>> devices_ ABSL_GUARDED_BY(mu_);
};

}  // namespace kiln::runtime
