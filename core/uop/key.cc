#include "core/uop/key.h"

#include <array>

#include "absl/strings/str_format.h"

#include "core/uop/bottom_up.h"
#include "core/uop/facts.h"
#include "core/uop/hash.h"

namespace kiln::uop {
namespace {

// Ops and dtypes go into keys by name: a new op changes no key.
constexpr auto kOpHash = [] {
  std::array<uint64_t, kNumOps> h{};
  for (size_t i = 0; i < h.size(); ++i) h[i] = HashPayload(kOpInfo[i].name, {});
  return h;
}();
constexpr auto kDTypeHash = [] {
  std::array<uint64_t, dtype::kNumDTypes> h{};
  for (size_t i = 0; i < h.size(); ++i) h[i] = HashPayload(dtype::Name(static_cast<DType>(i)), {});
  return h;
}();
constexpr uint64_t OpHash(Op op) { return kOpHash[static_cast<size_t>(op)]; }

void HashArg(Ref n, Hasher128& h) {
  switch (Info(n->op).arg) {
    case ArgKind::kNone:
    case ArgKind::kScalar:
    case ArgKind::kInt:
    case ArgKind::kRange:
      h.Add(n->arg.bits(), 0);
      break;
    case ArgKind::kReduce:
      h.Add(n->arg.reduce().axes, OpHash(n->arg.reduce().op));
      break;
    case ArgKind::kPayload: {
      const Payload& p = n->arg.payload();
      h.Add(p.text.size(), p.ints.size());
      h.AddText(p.text);
      for (int64_t v : p.ints) h.Add(static_cast<uint64_t>(v), 0);
      break;
    }
  }
}

Key Compute(Ref n) {
  Hasher128 h;
  h.Add(OpHash(n->op) + n->tag, kDTypeHash[static_cast<size_t>(n->dtype)] + n->num_src);
  HashArg(n, h);
  for (Ref s : n->src()) h.Add(s->facts->key.hi, s->facts->key.lo);
  const auto [hi, lo] = h.Finish();
  return {hi, lo};
}

}  // namespace

std::string ToString(Key key) { return absl::StrFormat("%016x%016x", key.hi, key.lo); }

const Key& KeyOf(Graph& g, Ref root) {
  if (!internal::Has(root, Facts::kHaveKey)) {
    const auto compute = [&g](Ref n) {
      Facts* f = g.MutableFacts(n);
      f->key = Compute(n);
      f->have |= Facts::kHaveKey;
      return true;
    };
    internal::ComputeBottomUp(root, Facts::kHaveKey, [](Ref n) { return n->src(); }, compute);
  }
  return root->facts->key;
}

}  // namespace kiln::uop
