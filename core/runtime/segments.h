// Splits the items of a plan into what is submitted at once.
#pragma once

#include "core/runtime/plan.h"

namespace kiln::runtime::internal {

// Fills plan.segments, from everything else. Items of one device run in their order, on its queue.
// A segment ends where another device needs what it has done, and begins where it needs what
// another has done; with one device there is one.
void AddSegments(Plan& plan);

}  // namespace kiln::runtime::internal
