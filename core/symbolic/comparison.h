// Comparisons of integers.
#pragma once

#include "core/uop/graph.h"

namespace kiln::symbolic {

// A simpler node that equals `n`, or null: CMPLT and CMPNE of index and fixed-width integers, on
// the view of both sides as sums of terms. Pre: n is CMPLT or CMPNE; its sources are simplified.
//
//   by bounds:     a < 9 -> true for a <= 8;  x < x+1 -> true on index
//   constants:     a+2 < 3 -> a < 1;  3 < a+2 -> 1 < a
//   factors:       a*6 + b*4 < 4 -> a*3 + b*2 < 2;  a*2 != 3 -> true
//   quotients:     x//4 < 3 -> x < 12
//   small terms:   a*12 + u < 268 -> a < 23 for u in 0..3
//   all are zero:  a*3 + b*4 < 1 -> a+b < 1 for a, b >= 0
//   both sides:    a+c < b+c -> a < b;  a*-1 < b*-1 -> b < a
Ref FoldComparison(Graph& g, Ref n);

}  // namespace kiln::symbolic
