// Which nodes of a text get a name, and which. For text.cc.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"

#include "core/uop/node_map.h"
#include "core/uop/syntax.h"

namespace kiln::uop::internal {

// The infix or prefix precedence with which `n` itself is written; null if it is written as
// something closed.
std::optional<int> PrecedenceOf(Ref n);

// Whether the `i`-th source of `n`, written out, needs parentheses. Pre: PrecedenceOf(n) and
// PrecedenceOf(source) have values.
bool NeedsParentheses(Ref n, int i);

// Thread-compatible. Decides as it is asked (excerpts), or for a whole graph in advance.
class Names {
 public:
  Names() = default;
  explicit Names(absl::Span<const Ref> roots);

  // The nodes that get a name of the form %0, by id; and the number of such a name, null for other
  // nodes.
  const std::vector<Ref>& named() const { return named_; }
  std::optional<uint32_t> NumberOf(Ref n) const {
    const uint32_t k = info_.Get(n).number_plus_1;
    return k == 0 ? std::nullopt : std::optional(k - 1);
  }
  // Whether `n` is a variable or counter that goes by its own name. The first node to claim a name
  // has it.
  bool HasOwnName(Ref n);

 private:
  struct Info {
    uint32_t number_plus_1;
    uint8_t uses;   // 2 stands for more.
    uint8_t depth;  // Of nesting, if written out; up to kMaxDepth.
    bool owns_name, asked, is_source;
  };
  // Deeper expressions are taken apart: people lose count of parentheses.
  static constexpr uint8_t kMaxDepth = 12;

  bool CanBeNamed(Ref n) { return !n->IsConst() && !HasOwnName(n) && !IsAnonymous(n); }
  static bool IsAnonymous(Ref n);
  uint8_t DepthBelow(Ref n);

  NodeMap<Info> info_;
  absl::flat_hash_map<std::string, Ref> owners_;
  std::vector<Ref> named_;
};

}  // namespace kiln::uop::internal
