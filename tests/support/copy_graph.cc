#include "tests/support/copy_graph.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/uop/walk.h"

namespace kiln::support {
namespace {

Arg ArgIn(Graph& to, Ref n) {
  if (uop::Info(n->op).arg != uop::ArgKind::kPayload) return n->arg;
  const uop::Payload& payload = n->arg.payload();
  return to.PayloadArg(payload.text, payload.ints);
}

}  // namespace

Ref CopyShuffled(Graph& to, Ref root, Random& random) {
  const std::vector<Ref> nodes = uop::Toposort(root);
  const uop::Users users(absl::MakeConstSpan(&root, 1));
  std::unordered_map<Ref, size_t> missing;  // Sources that are not copied yet, each occurrence.
  std::vector<Ref> ready;
  for (Ref n : nodes) {
    missing[n] = n->num_src;
    if (n->num_src == 0) ready.push_back(n);
  }
  std::unordered_map<Ref, Ref> copies;
  while (!ready.empty()) {
    std::swap(ready[static_cast<size_t>(random.Uniform(0, static_cast<int64_t>(ready.size()) - 1))],
              ready.back());
    Ref n = ready.back();
    ready.pop_back();
    if (random.Chance(1, 3)) to.Index(random.Uniform(-20, 20));
    std::vector<Ref> src;
    for (Ref s : n->src()) src.push_back(copies.at(s));
    copies[n] = to.Make(n->op, n->dtype, src, ArgIn(to, n), n->tag);
    for (Ref user : users.Of(n)) {
      missing[user] -= static_cast<size_t>(std::count(user->src().begin(), user->src().end(), n));
      if (missing[user] == 0) ready.push_back(user);
    }
  }
  return copies.at(root);
}

Ref Replace(Graph& g, Ref root, Ref from, Ref to) {
  std::unordered_map<Ref, Ref> replaced;
  for (Ref n : uop::Toposort(root)) {
    if (n == from) {
      replaced[n] = to;
      continue;
    }
    std::vector<Ref> src;
    for (Ref s : n->src()) src.push_back(replaced.at(s));
    replaced[n] = src.empty() ? n : g.WithSources(n, src);
  }
  return replaced.at(root);
}

}  // namespace kiln::support
