// On which cores threads run.
#pragma once

#include <string>
#include <vector>

#include "absl/types/span.h"

namespace kiln::cpu {

// Numbers of the cores on which this process may run, ascending; at least one.
std::vector<int> AvailableCores();

// Names the calling thread (15 characters are kept) and keeps it on these cores, if that is
// possible.
void SetUpThread(const std::string& name, absl::Span<const int> cores);

}  // namespace kiln::cpu
