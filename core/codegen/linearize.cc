#include "core/codegen/linearize.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"

#include "core/codegen/program.h"
#include "core/dtype/status.h"
#include "core/uop/facts.h"
#include "core/uop/text.h"
#include "core/uop/walk.h"

namespace kiln::codegen::internal {
namespace {

bool IsInstruction(Ref n) {
  return !n->IsConst() && !n->Is(Op::kParam) && !n->Is(Op::kSink) && !IsLane(n);
}

// The PARAM of an access that no AFTER orders; null for others.
Ref MemoryOf(Ref access) {
  Ref place = access->src(0);
  return place->Is(Op::kIndex) && place->src(0)->Is(Op::kParam) ? place->src(0) : nullptr;
}

class Linearizer {
 public:
  Linearizer(Graph& g, Ref root) : g_(g), root_(root), nodes_(uop::Toposort(root)) {}

  absl::StatusOr<Ref> Run() {
    KILN_RETURN_IF_ERROR(FindDepths());
    FindLoadsBeforeStores();
    FindHomes();
    Sort();
    Emit(kOutside);
    return g_.Make(Op::kLinear, DType::kVoid, out_);
  }

 private:
  static constexpr int kOutside = 0;  // The block outside of all loops.

  // A loop body, or what is outside.
  struct Block {
    Ref range = nullptr;
    int depth = 0;
    std::vector<Ref> nodes;  // In order; an END stands for the whole loop.
  };

  // The innermost of the loops that `n` is in.
  int BlockOf(Ref n) const {
    int innermost = kOutside;
    for (Ref r : uop::RangesOf(g_, n)) {
      const int b = block_.Get(r);
      if (b != 0 &&
          blocks_[static_cast<size_t>(b)].depth > blocks_[static_cast<size_t>(innermost)].depth) {
        innermost = b;
      }
    }
    return innermost;
  }

  // Outer loops end after inner ones, so their ENDs have the higher ids.
  absl::Status FindDepths() {
    blocks_.emplace_back();
    int loops = 0;
    for (Ref n : nodes_) loops += IsLoop(n) ? 1 : 0;
    for (auto it = nodes_.rbegin(); it != nodes_.rend(); ++it) {
      Ref n = *it;
      if (!n->Is(Op::kEnd)) continue;
      Ref range = n->src().back();
      if (block_.Get(range) != 0) {
        return absl::InternalError(absl::StrCat("loop ", uop::Excerpt(range), " ends twice"));
      }
      const int depth = blocks_[static_cast<size_t>(BlockOf(n))].depth + 1;
      block_[range] = static_cast<int>(blocks_.size());
      blocks_.push_back({range, depth, {}});
    }
    if (loops + 1 != static_cast<int>(blocks_.size())) {
      return absl::InternalError("a loop does not end");
    }
    return absl::OkStatus();
  }

  void FindLoadsBeforeStores() {
    uop::NodeMap<bool> stored;
    bool any = false;
    for (Ref n : nodes_) {
      if (!n->Is(Op::kStore)) continue;
      if (Ref memory = MemoryOf(n); memory != nullptr) stored[memory] = true;
    }
    for (Ref n : nodes_) {
      if (!n->Is(Op::kLoad) || MemoryOf(n) == nullptr || !stored.Get(MemoryOf(n))) continue;
      loads_.push_back(n);
      any = true;
    }
    if (!any) loads_.clear();
  }

  // The blocks of instructions. Where all users are in an inner block and wait there for a loop to
  // end, as what comes after a reduction does, a value that costs little is computed there as well:
  // outside, it would take a register all through the loop.
  void FindHomes() {
    uop::NodeMap<int> used_in;  // The block of all users; kSeveral.
    std::vector<bool> has_loops(blocks_.size());
    for (Ref n : nodes_) {
      if (n->Is(Op::kEnd)) has_loops[static_cast<size_t>(BlockOf(n))] = true;
      waits_[n] = n->Is(Op::kEnd) || std::any_of(n->src().begin(), n->src().end(),
                                                 [this](Ref s) { return waits_.Get(s); });
    }
    for (auto it = nodes_.rbegin(); it != nodes_.rend(); ++it) {
      Ref n = *it;
      if (IsLoop(n)) used_in[n->src(0)] = kSeveral;
      if (!IsInstruction(n) || IsLoop(n)) continue;
      int home = BlockOf(n);
      const int users = used_in.Get(n);
      if (users > kOutside && users != home && has_loops[static_cast<size_t>(users)] &&
          MayMove(n)) {
        home = users;
      }
      home_[n] = home;
      for (Ref s : n->src()) {
        int& used = used_in[s];
        used = used == 0 || used == home ? home : kSeveral;
        if (home == kOutside) used = kSeveral;
      }
    }
  }
  static constexpr int kSeveral = -1;

  // Whether `n` may be computed later, and rather again than kept.
  bool MayMove(Ref n) const {
    switch (n->op) {
      case Op::kLoad:
        return MemoryOf(n) != nullptr && std::find(loads_.begin(), loads_.end(), n) == loads_.end();
      case Op::kIndex:
        return n->src(0)->Is(Op::kParam);
      case Op::kAdd:
      case Op::kMul:
      case Op::kSub:
      case Op::kNeg:
      case Op::kMulAcc:
      case Op::kCast:
        return true;
      default:
        return false;
    }
  }

  // Appends what must come before `n`.
  void Needs(Ref n, std::vector<Ref>& out) const {
    if (n->Is(Op::kStore) && !loads_.empty()) {
      Ref memory = MemoryOf(n);
      for (Ref load : loads_) {
        if (MemoryOf(load) == memory) out.push_back(load);
      }
    }
    // Loops first: what is used with their results is then computed after them.
    for (Ref s : n->src()) {
      if (waits_.Get(s)) out.push_back(s);
    }
    for (Ref s : n->src()) {
      if (!waits_.Get(s)) out.push_back(s);
    }
  }

  // Depth first, and each node to its block.
  void Sort() {
    struct Frame {
      Ref node;
      uint32_t begin, next;  // Of what it still needs, in `needs`.
    };
    std::vector<Frame> stack;
    std::vector<Ref> needs;
    uop::NodeMap<bool> seen;
    const auto push = [&](Ref n) {
      seen[n] = true;
      const auto begin = static_cast<uint32_t>(needs.size());
      Needs(n, needs);
      stack.push_back({n, begin, begin});
    };
    push(root_);
    while (!stack.empty()) {
      Frame& top = stack.back();
      if (top.next < needs.size()) {
        Ref s = needs[top.next++];
        if (!seen.Get(s)) push(s);
        continue;
      }
      needs.resize(top.begin);
      if (IsInstruction(top.node) && !IsLoop(top.node)) {
        blocks_[static_cast<size_t>(home_.Get(top.node))].nodes.push_back(top.node);
      }
      stack.pop_back();
    }
  }

  // Loops are nested as deep as a kernel has ranges: an explicit stack all the same.
  void Emit(int outside) {
    struct Frame {
      int block;
      size_t next;
    };
    std::vector<Frame> stack = {{outside, 0}};
    while (!stack.empty()) {
      Frame& top = stack.back();
      const Block& block = blocks_[static_cast<size_t>(top.block)];
      if (top.next == block.nodes.size()) {
        stack.pop_back();
        if (!stack.empty()) {
          // The END that the block below stopped at.
          const Frame& below = stack.back();
          out_.push_back(blocks_[static_cast<size_t>(below.block)].nodes[below.next - 1]);
        }
        continue;
      }
      Ref n = block.nodes[top.next++];
      if (!n->Is(Op::kEnd)) {
        out_.push_back(n);
        continue;
      }
      out_.push_back(n->src().back());
      stack.push_back({block_.Get(n->src().back()), 0});
    }
  }

  Graph& g_;
  Ref root_;
  std::vector<Ref> nodes_;
  std::vector<Block> blocks_;
  uop::NodeMap<int> block_;   // Of a loop, in blocks_.
  uop::NodeMap<int> home_;    // The block of an instruction.
  uop::NodeMap<bool> waits_;  // Whether a loop ends before a node.
  std::vector<Ref> loads_;    // Of buffers that are stored to.
  std::vector<Ref> out_;
};

}  // namespace

absl::StatusOr<Ref> Linearize(Graph& g, Ref root) { return Linearizer(g, root).Run(); }

}  // namespace kiln::codegen::internal
