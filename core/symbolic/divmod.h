// Quotients and remainders of integers.
#pragma once

#include "core/uop/graph.h"

namespace kiln::symbolic {

// A simpler node that equals `n`, or null: IDIV and MOD of index and fixed-width integers, on the
// view of the numerator as a sum of terms. Everything holds for truncating division; where a rule
// needs rounding down instead, bounds prove that the numerator is not negative. On fixed widths
// nothing that is divided can wrap. Does not touch a division by the constant 0. Pre: n is IDIV or
// MOD; its sources are simplified.
//
//   by bounds:   (i+8)//16 -> 0,  (a+3)%4 -> a*-3+3 for a in {0,1}
//   by sign:     x//-c -> (x//c)*-1;  x//c -> ((x*-1)//c)*-1 where x <= 0
//   congruence:  (a*19 + b*18 + 9)//10 -> a*2 + b*2;  (a*10)%9 -> a%9
//   by gcd:      (a*30 + 20)//20 -> (a*3)//2 + 1;  (a*4 + 2)%8 -> (a%2)*4 + 2
//   split:       (a*8 + b)//4 -> a*2 + b//4;  (a*-1 + 256)//2 -> ((a+1)//2)*-1 + 128
//   small terms: (a*4 + b)//12 -> a//3 for b in 0..3
//   nested:      (x//a + c)//b -> (x + c*a)//(a*b);  (x%12 + y)%4 -> (x+y)%4
//   by factor:   (a*2 + b*3)//6 -> (a + b)//3 for b in {0,1}
//   variable:    (i*n + r)//n -> i for a loop r of n turns
Ref FoldDivMod(Graph& g, Ref n);

}  // namespace kiln::symbolic
