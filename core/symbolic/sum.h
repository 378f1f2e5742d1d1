// Sums, products and other trees of one associative operation, as operations on any number of
// operands.
//
// Normal forms (of integers and index; sums and products of floats are left alone):
// - a sum is ((t1 + t2) + t3) + c: terms sorted by symbolic::Compare, no two of them multiples of
// one node, the
//   constant last. A quotient and the remainder that belongs to it are one term, and so are the
//   quotients of a loop over (x + k) / c that was unrolled;
// - a product is ((f1 * f2) * f3) * c, sorted, the constant last. Constants are not distributed
// over sums;
// - a maximum is sorted, without operands that never win, the constant last;
// - a conjunction or disjunction has each operand once; of conditions, in the order in which they
// were written. All of it costs O(n log n) for n operands: the driver visits the operands and has
// the tree rebuilt once, by the hook at the end.
#pragma once

#include <vector>

#include "absl/types/span.h"

#include "core/symbolic/affine.h"

namespace kiln::symbolic {

// Bit of UOp::normal_marks: the tree of one operation under this node is in normal form. A function
// of structure.
inline constexpr uint8_t kNormalTree = 1;

// sum(terms) + constant in normal form; the value is modulo 2^bits on fixed widths. Null if a
// number does not fit index.
Ref MakeSum(Graph& g, DType d, absl::Span<const Term> terms, Int128 constant);

// The normal form of the tree under `n`, or null if it has it (or none is defined for its op and
// dtype, or a constant of it would not fit index).
Ref Normalize(Graph& g, Ref n);

// ** for rewrite::NaryHook **

// Appends the distinct operands of the tree under `n` and returns true, unless `n` is in normal
// form or no such tree.
bool NaryOperands(Ref n, std::vector<Ref>& out);
// The normal form of the tree under `n`, its operands being replaced by `operands`, in the order
// that NaryOperands gives. Marked, so that NaryOperands refuses it.
Ref RebuildNary(Graph& g, Ref n, absl::Span<const Ref> operands);

}  // namespace kiln::symbolic
