#include "core/runtime/device.h"

namespace kiln::runtime {

ProgramSignature SignatureOf(const codegen::Program& program) {
  return {.name = program.name,
          .buffers = program.buffers,
          .variables = program.variables,
          .num_cores = program.num_cores};
}

}  // namespace kiln::runtime
