// The arena that interns nodes.
//
//   Graph g;
//   Ref i = g.Variable("i", 0, 63);
//   Ref e = g.Add(g.Mul(i, g.Index(4)), g.Index(3));
//   e == g.Add(g.Index(3), g.Mul(i, g.Index(4)));  // true: one node, constants on the right
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "absl/types/span.h"

#include "core/dtype/scalar.h"
#include "core/uop/arena.h"
#include "core/uop/node_map.h"
#include "core/uop/uop.h"

namespace kiln::uop {

// Confined to the compile job. Owns its nodes; they die with it. Never store a Ref beyond its
// graph.
class Graph {
 public:
  Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // The one node with these parts. Puts a constant source of a commutative op on the right.
  // Pre: every source belongs to this graph; their number is what Info(op) allows; IsValidArg; a
  // payload is interned in this graph. (core/uop/spec.h tells whether a node means anything.)
  Ref Make(Op op, DType dtype, absl::Span<const Ref> src, Arg arg = {}, uint8_t tag = 0);
  Ref Make(Op op, DType dtype, std::initializer_list<Ref> src, Arg arg = {}, uint8_t tag = 0) {
    return Make(op, dtype, absl::MakeConstSpan(src.begin(), src.size()), arg, tag);
  }
  // `n` with other sources (as many as it has, or any number its op allows). Keeps op, dtype, arg
  // and tag.
  Ref WithSources(Ref n, absl::Span<const Ref> src) {
    return Make(n->op, n->dtype, src, n->arg, n->tag);
  }

  // ** leaves **
  Ref Const(DType dtype, Scalar value) { return Make(Op::kConst, dtype, {}, Arg::Of(value)); }
  Ref Index(int64_t value) { return Const(DType::kIndex, Scalar::Int(value)); }
  Ref Bool(bool value) { return Const(DType::kBool, Scalar::Bool(value)); }
  // An index variable, min <= value <= max.
  Ref Variable(std::string_view name, int64_t min, int64_t max) {
    return Variable(DType::kIndex, name, Scalar::Int(min), Scalar::Int(max));
  }
  Ref Variable(DType dtype, std::string_view name, Scalar min, Scalar max);
  // Loop counter 0 <= r < end.
  Ref Range(Ref end, int32_t axis_id, AxisType type = AxisType::kLoop) {
    return Make(Op::kRange, end->dtype, {end}, Arg::Of(RangeArg{axis_id, type}));
  }
  Ref Range(int64_t end, int32_t axis_id, AxisType type = AxisType::kLoop) {
    return Range(Index(end), axis_id, type);
  }
  Ref Special(std::string_view name, Ref end) {
    return Make(Op::kSpecial, end->dtype, {end}, PayloadArg(name, {}));
  }
  // Memory of a kernel; `elems` of -1 means that the size is not known.
  Ref Param(DType dtype, std::string_view name, int64_t number, int64_t elems, AddressSpace space);

  // ** elementwise **: dtype of the first operand, bool for comparisons.
  Ref Unary(Op op, Ref x) { return Make(op, x->dtype, {x}); }
  Ref Binary(Op op, Ref x, Ref y) {
    return Make(op, IsComparison(op) ? DType::kBool : x->dtype, {x, y});
  }
  Ref Cast(Ref x, DType to) { return Make(Op::kCast, to, {x}); }
  Ref Add(Ref x, Ref y) { return Binary(Op::kAdd, x, y); }
  Ref Mul(Ref x, Ref y) { return Binary(Op::kMul, x, y); }
  Ref IDiv(Ref x, Ref y) { return Binary(Op::kIDiv, x, y); }
  Ref Mod(Ref x, Ref y) { return Binary(Op::kMod, x, y); }
  Ref Max(Ref x, Ref y) { return Binary(Op::kMax, x, y); }
  Ref Lt(Ref x, Ref y) { return Binary(Op::kCmpLt, x, y); }
  Ref Ne(Ref x, Ref y) { return Binary(Op::kCmpNe, x, y); }
  Ref And(Ref x, Ref y) { return Binary(Op::kAnd, x, y); }
  Ref Or(Ref x, Ref y) { return Binary(Op::kOr, x, y); }
  Ref Where(Ref condition, Ref x, Ref y) { return Make(Op::kWhere, x->dtype, {condition, x, y}); }
  Ref Neg(Ref x);  // x * -1: the canonical form.
  Ref Sub(Ref x, Ref y) { return Add(x, Neg(y)); }
  Ref Not(Ref x) { return Ne(x, Bool(true)); }
  // The value `v` of a bool, integer or index dtype; wraps. Pre for index: fits int64.
  Ref Int(DType dtype, int64_t v);

  // ** payloads **: interned, so that equal contents are the same pointer.
  const Payload* InternPayload(std::string_view text, absl::Span<const int64_t> ints);
  Arg PayloadArg(std::string_view text, absl::Span<const int64_t> ints) {
    return Arg::Of(InternPayload(text, ints));
  }

  // Number of nodes; ids are 0 .. size()-1.
  uint32_t size() const { return nodes_.size(); }
  // Pre: id < size().
  Ref At(UOpId id) const { return nodes_.At(id); }
  // Room for `n` more nodes in the large part of the intern table, so that it does not grow meanwhile.
  void Reserve(uint32_t n);
  // For what lives as long as the nodes: facts.
  BumpAllocator& side_memory() { return side_; }
  Facts* MutableFacts(Ref n);
  // Results of the memoised rule set with this slot (core/rewrite/rule_set.h), kept because nodes
  // are immutable. Pre: 0 <= slot < kNumMemoSlots.
  static constexpr int kNumMemoSlots = 16;
  NodeMap<Ref>& memo(int slot) { return memos_[static_cast<size_t>(slot)]; }
  // Everything mapped for this graph, but for its memos.
  int64_t capacity_bytes() const;

 private:
  struct Slot {
    uint32_t hash;       // Here so that a miss never touches a node.
    uint32_t id_plus_1;  // 0: empty.
  };
  struct PayloadSlot {
    const Payload* payload;
  };
  // Where a node is, or else the empty slot where it belongs. `home` is its home line; null if it
  // has no sources.
  template <typename IsSame>
  Slot& FindSlot(uint32_t hash, Slot* home, IsSame is_same);
  bool IsOther(const Slot& s) const { return &s >= others_.begin() && &s < others_.end(); }
  void GrowHome(size_t slots);
  void GrowOthers();
  void GrowPayloads();

  NodeStore nodes_;
  BumpAllocator side_;
  // The intern table has two parts. A node is in the home line of its newest source: a cache line
  // that source shares with the nodes made just before and after it, so that a pass, which makes
  // users of nodes that it just made, stays in a small part of a large table. What has no sources,
  // or found its home line full, is in a table addressed by the hash. A home line that is full
  // stays full, so a node never has to move from one to the other.
  ZeroedArray<Slot> home_;    // More than ids; size is a power of two.
  ZeroedArray<Slot> others_;  // Size is a power of two; at most half full.
  size_t num_others_ = 0;
  ZeroedArray<PayloadSlot> payloads_;  // The same.
  size_t num_payloads_ = 0;
  std::array<NodeMap<Ref>, kNumMemoSlots> memos_;
};

// ** accessors by meaning ** (pre: the op says so)
struct VariableInfo {
  std::string_view name;
  Scalar min, max;
};
VariableInfo VariableOf(Ref n);
struct ParamInfo {
  std::string_view name;
  int64_t number, elems;
  AddressSpace space;
};
ParamInfo ParamOf(Ref n);
inline bool IsIntConst(Ref n) { return n->op == Op::kConst && !dtype::IsFloat(n->dtype); }
inline bool IsIntConst(Ref n, int64_t v) { return IsIntConst(n) && n->IntValue() == v; }
// Whether `n` is what Graph::Not makes: of n->src(0).
inline bool IsNegation(Ref n) {
  return n->op == Op::kCmpNe && n->src(1)->dtype == DType::kBool && IsIntConst(n->src(1), 1);
}

}  // namespace kiln::uop

namespace kiln {
using uop::Graph;
using uop::IsIntConst;
using uop::IsNegation;
}  // namespace kiln
