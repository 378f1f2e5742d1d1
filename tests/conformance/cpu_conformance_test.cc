#include "backends/cpu/cpu.h"
#include "tests/conformance/conformance.h"

namespace kiln::conformance {

const Subject& TheSubject() {
  static const Subject subject = {.device = "cpu:0",
                                  .register_backend = [](runtime::Registry& registry) {
                                    return cpu::RegisterCpuBackend(registry, {.num_devices = 2});
                                  }};
  return subject;
}

}  // namespace kiln::conformance
