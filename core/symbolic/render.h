// One-line text of an expression for people and fixtures: (a+(b*2)), max(a, 11), (x if c else y).
#pragma once

#include <string>

#include "core/uop/graph.h"

namespace kiln::symbolic {

// Fully parenthesised; shared nodes are written out each time, so the text can be exponentially
// longer than the graph: it is cut at `max_chars`, and "..." follows. Ops that have no notation
// read name(src, ...), and name(src, ..., arg) if they have an integer. (core/uop/text.h prints any
// graph in linear space and parses back.)
std::string Render(Ref n, size_t max_chars = 1 << 16);

// A constant: 5, -3, True, 0.5, 1.0, 1e-05, inf, nan. Floats are the shortest decimal that reads
// back as the same double, with an exponent below 1e-4 and from 1e16.
std::string RenderScalar(Scalar v, DType d);

}  // namespace kiln::symbolic
