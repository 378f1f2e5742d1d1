// Which build of Kiln this is: what it compiles may differ from what another build does.
#pragma once

#include <string>

namespace kiln::runtime {

// Differs between builds whose code differs. Constant within a process. Thread-safe.
const std::string& BuildId();

}  // namespace kiln::runtime
