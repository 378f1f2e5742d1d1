#include "backends/null/null.h"
#include "tests/conformance/conformance.h"

namespace kiln::conformance {

const Subject& TheSubject() {
  static const std::string reason = "it runs no kernels";
  static const Subject subject = {.device = "null:0",
                                  .register_backend = null::RegisterNullBackend,
                                  .exceptions = {{"AluConformance.*", reason},
                                                 {"MemoryConformance.*", reason},
                                                 {"ControlConformance.*", reason},
                                                 {"QueueConformance.*", reason},
                                                 {"RandomConformance.*", reason}}};
  return subject;
}

}  // namespace kiln::conformance
