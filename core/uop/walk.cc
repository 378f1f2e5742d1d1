#include "core/uop/walk.h"

#include <algorithm>

namespace kiln::uop {
namespace {

bool ById(Ref a, Ref b) { return a->id < b->id; }

// Sorts distinct nodes by id. Where they are a good part of all the ids there are, by placing them:
// sorting would take longer than the walk that found them.
void SortById(std::vector<Ref>& nodes) {
  if (std::is_sorted(nodes.begin(), nodes.end(), ById)) return;
  const auto [min, max] = std::minmax_element(nodes.begin(), nodes.end(), ById);
  const UOpId first = (*min)->id;
  const size_t ids = (*max)->id - first + size_t{1};
  if (ids / 4 > nodes.size()) {
    std::sort(nodes.begin(), nodes.end(), ById);
    return;
  }
  std::vector<Ref> place(ids);
  for (Ref n : nodes) place[n->id - first] = n;
  std::copy_if(place.begin(), place.end(), nodes.begin(), [](Ref n) { return n != nullptr; });
}

}  // namespace

std::vector<Ref> Toposort(absl::Span<const Ref> roots) {
  std::vector<Ref> nodes;
  Visit(roots, [&nodes](Ref n) {
    nodes.push_back(n);
    return true;
  });
  SortById(nodes);
  return nodes;
}

Users::Users(absl::Span<const Ref> roots) {
  const std::vector<Ref> nodes = Toposort(roots);
  // Twice over the edges: count, then place. A node that has a source several times is its user
  // once: `last` is the user that was seen last.
  NodeMap<Ref> last;
  const auto for_each_edge = [&nodes, &last](auto fn) {
    for (Ref n : nodes) {
      for (Ref s : n->src()) {
        if (Ref& seen = last[s]; seen != n) {
          seen = n;
          fn(s, n);
        }
      }
    }
  };
  for_each_edge([this](Ref s, Ref) { ++slices_[s].size; });
  uint32_t begin = 0;
  for (Ref n : nodes) {
    Slice& slice = slices_[n];
    slice.begin = begin;
    begin += slice.size;
    slice.size = 0;
  }
  users_.resize(begin);
  last.Clear();
  for_each_edge([this](Ref s, Ref user) {
    Slice& slice = slices_[s];
    users_[slice.begin + slice.size++] = user;
  });
}

absl::Span<const Ref> Users::Of(Ref n) const {
  const Slice slice = slices_.Get(n);
  return {users_.data() + slice.begin, slice.size};
}

int64_t CountNodes(Ref root) {
  int64_t count = 0;
  Visit(root, [&count](Ref) {
    ++count;
    return true;
  });
  return count;
}

}  // namespace kiln::uop
