// Makes a failing expression small enough to read.
#pragma once

#include <functional>

#include "core/uop/graph.h"

namespace kiln::support {

// An expression for which `fails` still returns true, and for no single simplification of which it
// does: parts replaced by one of their sources or by a constant, constants made smaller, variables
// given tighter bounds. Pre: fails(root). `fails` returns false for what has no value, a division
// by 0 say.
Ref Minimise(Graph& g, Ref root, const std::function<bool(Ref)>& fails);

}  // namespace kiln::support
