#include "core/uop/text_names.h"

#include <algorithm>

#include "core/uop/graph.h"
#include "core/uop/walk.h"

namespace kiln::uop::internal {
namespace {

// A longer name is written once, as the arg of a named node.
constexpr size_t kMaxOwnName = 32;

std::optional<std::string> OwnName(Ref n) {
  if (n->tag != 0) return std::nullopt;
  if (n->op == Op::kRange && n->dtype == n->src(0)->dtype) return RangeName(n->arg.range().axis_id);
  const bool special =
      n->op == Op::kSpecial && n->dtype == n->src(0)->dtype && n->arg.payload().ints.empty();
  if (n->op != Op::kVariable && !special) return std::nullopt;
  const std::string_view name = n->arg.payload().text;
  if (name.size() > kMaxOwnName || !IsIdentifier(name) || IsReserved(name)) return std::nullopt;
  if (special && ParseRangeName(name).has_value()) return std::nullopt;
  return std::string(name);
}

bool IsBitwise(Op op) {
  return op == Op::kOr || op == Op::kXor || op == Op::kAnd || op == Op::kShl || op == Op::kShr;
}

}  // namespace

std::optional<int> PrecedenceOf(Ref n) {
  if (!IsAlu(n->op) || n->tag != 0 || n->dtype != ImpliedDType(n->op, n->src())) {
    return std::nullopt;
  }
  // -(3) would read as a literal.
  if (n->op == Op::kNeg) {
    return n->src(0)->IsConst() ? std::nullopt : std::optional(kUnaryPrecedence);
  }
  const std::optional<Infix> infix = InfixOf(n->op, n->dtype);
  return infix.has_value() ? std::optional(infix->precedence) : std::nullopt;
}

bool NeedsParentheses(Ref n, int i) {
  Ref s = n->src(i);
  const int outer = *PrecedenceOf(n), inner = *PrecedenceOf(s);
  if (inner < outer || (i == 1 && inner == outer)) return true;
  if (inner == kUnaryPrecedence) return false;
  // More than precedence asks for where people would have to look it up.
  return (IsBitwise(n->op) && s->op != n->op) || (IsComparison(n->op) && IsComparison(s->op));
}

bool Names::IsAnonymous(Ref n) { return n->op == Op::kVariable && VariableOf(n).name.empty(); }

bool Names::HasOwnName(Ref n) {
  Info& info = info_[n];
  if (!info.asked) {
    info.asked = true;
    if (std::optional<std::string> name = OwnName(n)) {
      info.owns_name = owners_.emplace(*std::move(name), n).second;
    }
  }
  return info.owns_name;
}

uint8_t Names::DepthBelow(Ref n) {
  int depth = 0;
  const bool infix = PrecedenceOf(n).has_value();
  for (int i = 0; i < n->num_src; ++i) {
    Ref s = n->src(i);
    if (NumberOf(s).has_value() || s->IsConst()) continue;
    // a + b + c + ... is long, not deep.
    const bool flat = infix && i == 0 && PrecedenceOf(s).has_value() && !NeedsParentheses(n, i);
    depth = std::max(depth, info_.Get(s).depth + (flat ? 0 : 1));
  }
  return static_cast<uint8_t>(std::min<int>(depth, kMaxDepth));
}

Names::Names(absl::Span<const Ref> roots) {
  const std::vector<Ref> nodes = Toposort(roots);
  const auto count = [this](Ref n) {
    uint8_t& uses = info_[n].uses;
    uses = std::min<uint8_t>(uses + 1, 2);
  };
  for (Ref n : nodes) {
    for (Ref s : n->src()) {
      count(s);
      info_[s].is_source = true;
    }
  }
  for (Ref r : roots) count(r);
  for (Ref n : nodes) {
    const uint8_t depth = DepthBelow(n);
    Info& info = info_[n];
    info.depth = depth;
    const bool too_deep = depth == kMaxDepth && info.is_source;
    if (!CanBeNamed(n) || (info.uses < 2 && !too_deep)) continue;
    named_.push_back(n);
    info.number_plus_1 = static_cast<uint32_t>(named_.size());
  }
}

}  // namespace kiln::uop::internal
