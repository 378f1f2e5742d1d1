#include "backends/interp/interp.h"
#include "tests/conformance/conformance.h"

namespace kiln::conformance {

const Subject& TheSubject() {
  static const Subject subject = {
      .device = "interp:0",
      .register_backend = interp::RegisterInterpBackend,
      .exceptions = {{"ControlConformance.ConditionsGuardEffects",
                      "it has no conditions: no kernel is made with them"}}};
  return subject;
}

}  // namespace kiln::conformance
