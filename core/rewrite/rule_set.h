// Tables that are applied together.
//
//   constexpr RuleSet kSymbolic = kFold + kCollectRules + kSelectRules;
#pragma once

#include <array>
#include <vector>

#include "core/rewrite/rule.h"

namespace kiln::rewrite {

// How an associative operation is visited as one operation on many operands, so that a sum of n
// terms costs n log n and not n^2: the driver asks for the leaves of a whole tree, rewrites those,
// and has the tree rebuilt once.
struct NaryHook {
  // Appends the operands of the maximal tree of one op under `n` and returns true; false if `n` is
  // already in normal form or no such tree (it is then visited like any other node). A tree may
  // share its subtrees: to name each operand once is what keeps this linear.
  bool (*leaves)(Ref n, std::vector<Ref>& out);
  // The normal form of the tree under `n`, given its operands' replacements in the same order. In
  // normal form means: `leaves` says false for the result and for every tree in it.
  Ref (*rebuild)(Graph& g, Ref n, absl::Span<const Ref> leaves);
};

// Immutable; borrows its tables. Tables are tried in order.
struct RuleSet {
  static constexpr size_t kMaxTables = 24;
  static constexpr int kNotMemoised = -1;
  std::array<const RuleTable*, kMaxTables> tables{};
  size_t num_tables = 0;
  OpSet roots;  // Ops that some table has rules for.
  // See TablesFor.
  std::array<std::array<TryFn, kMaxTables + 1>, uop::kNumOps> try_op{};
  int memo_slot = kNotMemoised;
  const NaryHook* nary = nullptr;

  constexpr RuleSet() = default;
  constexpr RuleSet(const RuleTable& table) {  // NOLINT(google-explicit-constructor): a set of one.
    Add(table);
  }

  // Pure sets only (no context, no state): results of sources-first runs are kept with the graph
  // under this slot, 0 <= slot < kNumMemoSlots, so that asking again is one load. No two sets may
  // share a slot.
  constexpr RuleSet Memoised(int slot) const {
    KILN_CHECK(slot >= 0 && slot < Graph::kNumMemoSlots);
    RuleSet s = *this;
    s.memo_slot = slot;
    return s;
  }
  constexpr RuleSet WithNary(const NaryHook& hook) const {
    RuleSet s = *this;
    s.nary = &hook;
    return s;
  }
  // The tables that have rules for `op`, in order, and a null at the end.
  constexpr const TryFn* TablesFor(Op op) const { return try_op[static_cast<size_t>(op)].data(); }
  constexpr bool HasRulesFor(Op op) const { return roots.Has(op); }
  constexpr absl::Span<const RuleTable* const> all() const {
    return absl::MakeConstSpan(tables.data(), num_tables);
  }

  friend constexpr RuleSet operator+(RuleSet a, const RuleSet& b) {
    for (size_t i = 0; i < b.num_tables; ++i) a.Add(*b.tables[i]);
    if (a.nary == nullptr) a.nary = b.nary;
    a.memo_slot = kNotMemoised;
    return a;
  }

 private:
  constexpr void Add(const RuleTable& table) {
    KILN_CHECK(num_tables < kMaxTables);
    tables[num_tables++] = &table;
    for (size_t op = 0; op < uop::kNumOps; ++op) {
      if (table.try_op[op] == nullptr) continue;
      roots = roots | OpSet::Of(static_cast<Op>(op));
      size_t i = 0;
      while (try_op[op][i] != nullptr) ++i;
      try_op[op][i] = table.try_op[op];
    }
  }
};
constexpr RuleSet operator+(const RuleTable& a, const RuleTable& b) {
  return RuleSet(a) + RuleSet(b);
}

}  // namespace kiln::rewrite
