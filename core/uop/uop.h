// The node.
#pragma once

#include <cstdint>
#include <type_traits>

#include "absl/types/span.h"

#include "core/dtype/dtype.h"
#include "core/uop/arg.h"
#include "core/uop/op.h"

namespace kiln::uop {

struct Facts;
struct UOp;
using Ref = const UOp*;  // Borrowed until its Graph dies.
using UOpId = uint32_t;

// One operation. Immutable; within a Graph, equal nodes are the same node, so equality is pointer
// equality. Made by Graph::Make only.
struct alignas(64) UOp {
  UOpId id;  // Dense, in creation order: sources have smaller ids than users.
  Op op;
  uint8_t tag;  // Marker that some passes need; part of the identity. Zero outside them.
  uint16_t num_src;
  DType dtype;
  // Marks of the rewrite engine and of normal forms (see core/rewrite/driver.h,
  // core/symbolic/sum.h): derived, never part of the identity. They only go from 0 to 1.
  mutable uint8_t normal_marks;
  mutable uint16_t final_marks;
  uint32_t hash;        // Of the identity within the graph; not stable across graphs (Key is).
  uint64_t src_filter;  // FilterBit of each source's op: a rule table refuses with one AND.
  union {
    Ref inline_src[3];
    const Ref* far_src;
  };
  Arg arg;
  mutable Facts* facts;  // Bounds, shape, ranges, key. Null until first asked for.

  absl::Span<const Ref> src() const { return {num_src <= 3 ? inline_src : far_src, num_src}; }
  Ref src(int i) const { return num_src <= 3 ? inline_src[i] : far_src[i]; }
  bool Is(Op o) const { return op == o; }
  bool IsConst() const { return op == Op::kConst; }
  // Pre: IsConst() on a dtype that is not a float.
  int64_t IntValue() const { return arg.integer(); }
};
static_assert(sizeof(UOp) == 64 && std::is_trivially_destructible_v<UOp>);

}  // namespace kiln::uop

namespace kiln {
using uop::Ref;
using uop::UOp;
}  // namespace kiln
