// Simplification of integer, boolean and float expressions.
//
//   KILN_ASSIGN_OR_RETURN(e, Simplify(g, e));  // (i*4 + 3) / 4  ->  i
#pragma once

#include "absl/status/statusor.h"

#include "core/uop/graph.h"

namespace kiln::symbolic {

// Each level does what the one before does, and more. A result of one level is a fixed point of
// that level.
enum class Effort {
  kFold,  // Constants and identities: x + 0, x * 1, (x / c) * c + x % c, casts of constants, pow by
          // a constant.
  kSymbolic,  // And: like terms, operand order, quotients and remainders, comparisons by bounds,
              // boolean algebra, where.
  kFull,  // And: constant factors distributed over sums, conditions simplified given each other,
          // accesses simplified given their gates, alternatives merged.
};

enum class Math {
  // The same value, bit for bit but for NaN payloads, wherever the variables are within their
  // bounds and no index value leaves
  // int64.
  kExact,
  // As if floats were real numbers and no integer were divided by zero: reassociates, x * 0 is 0, x
  // / x is 1.
  kFast,
};

// An equal expression that is no larger and usually smaller. Linear in the nodes that were not
// simplified before: results are kept in the graph, so asking again is one load. InvalidArgument if
// it divides an index by the constant 0; Internal if the rules do not end (our bug).
absl::StatusOr<Ref> Simplify(Graph& g, Ref n, Effort effort = Effort::kFull,
                             Math math = Math::kExact);

}  // namespace kiln::symbolic
