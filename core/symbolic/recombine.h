// Terms of a sum that are one term together. For sum.cc.
#pragma once

#include "core/symbolic/nary.h"

namespace kiln::symbolic {

// Replaces groups of terms by what they add up to; the result may have like terms again. False if
// there are none.
// - (x % c)*k + (x // c)*(c*k)           ->  x*k, also where the quotient's numerator differs by a
//                                            multiple of c
// - (x // a % b)*(a*k) + (x % a)*k       ->  (x % (a*b))*k
// - x//c + (x+1)//c + ... + (x+c-1)//c   ->  x (an unrolled loop), also where bounds make some of
//                                            them constants
// - (p ? a : c0)*k + (p ? b : c1)*k      ->  (p ? a+b : c0+c1)*k
// Exact for truncating division, and on fixed widths.
bool Recombine(Graph& g, DType d, SumParts& sum);

// The parts of Recombine.
bool RecombineRemainders(Graph& g, DType d, SumParts& sum);
bool RecombineUnrolled(Graph& g, DType d, SumParts& sum);
bool RecombineSelects(Graph& g, DType d, SumParts& sum);

}  // namespace kiln::symbolic
