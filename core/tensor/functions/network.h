// Sorting networks: order without a data-dependent step, in work of n log(n)^2.
#pragma once

#include "core/tensor/functions/algebra.h"

namespace kiln::tensor::functions {

// int64 words in the order of `x` (of a dtype of at most 32 bits), or in its reverse. NaN comes last
// in both. What is equal is in the order of its position on the last axis, which is the lower half of
// its word. Each word is less than INT64_MAX.
Tensor OrderedWords(const Tensor& x, bool descending);
// The position in a word, int32.
Tensor PositionIn(const Tensor& word);
// As OrderedWords makes them, without a position, int32. `x` may have 64 bits: `part` 0 are the lower
// 32, 1 the upper ones, to be sorted by one after the other.
Tensor OrderedKeys(const Tensor& x, bool descending, int part = 1);
Tensor WordsOf(const Tensor& keys);

// The `count` smallest of each line of int64 words along the last axis, in order. The size of the axis
// is known, or has a bound; it is `count` at least.
Tensor Smallest(const Tensor& words, const Size& count);

}  // namespace kiln::tensor::functions
