#include "core/uop/graph.h"

#include <algorithm>
#include <cstring>

#include "absl/numeric/bits.h"

#include "core/dtype/cast.h"
#include "core/dtype/check.h"
#include "core/uop/facts.h"
#include "core/uop/hash.h"

namespace kiln::uop {
namespace {

constexpr uint32_t kInitialNodes = 256;
constexpr size_t kInitialSlots = 128;
constexpr size_t kSlotsPerLine = 8;  // 64 bytes.
constexpr size_t kSlotsPerNode = 2;  // Of `home_`.

struct Identity {
  uint32_t hash;
  UOpId newest;  // Of the sources.
};
// A multiplication for each part, and one more so that high bits count as well: this is on the way
// to every node.
Identity IdentityOf(Op op, DType dtype, uint8_t tag, Arg arg, absl::Span<const Ref> src) {
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;
  uint64_t h = (uint64_t{static_cast<uint8_t>(op)} << 56 |
                uint64_t{static_cast<uint8_t>(dtype)} << 48 | uint64_t{tag} << 40 | src.size());
  h = (h ^ arg.bits()) * kOdd;
  UOpId newest = 0;
  for (Ref s : src) {
    h = (absl::rotl(h, 23) ^ s->id) * kOdd;
    newest = std::max(newest, s->id);
  }
  return {static_cast<uint32_t>(((h ^ (h >> 32)) * kOdd) >> 32), newest};
}

bool SameSources(Ref n, absl::Span<const Ref> src) {
  if (n->num_src != src.size()) return false;
  const Ref* have = n->src().data();
  for (size_t i = 0; i < src.size(); ++i) {
    if (have[i] != src[i]) return false;
  }
  return true;
}

// A payload argument hashes by contents: a pointer would make ids, and so every order, depend on
// the allocator.
Arg HashedArg(Op op, Arg arg) {
  if (Info(op).arg != ArgKind::kPayload) return arg;
  return Arg::FromBits(arg.payload().hash);
}

// The first slot of the home line of nodes whose newest source is this.
constexpr size_t HomeLine(UOpId newest) {
  return newest * kSlotsPerNode / kSlotsPerLine * kSlotsPerLine;
}

}  // namespace

template <typename IsSame>
Graph::Slot& Graph::FindSlot(uint32_t hash, Slot* home, IsSame is_same) {
  const auto fits = [&](const Slot& s) {
    return s.id_plus_1 == 0 || (s.hash == hash && is_same(nodes_.At(s.id_plus_1 - 1)));
  };
  if (home != nullptr) {
    for (size_t k = 0; k < kSlotsPerLine; ++k) {
      Slot& s = home[(hash + k) % kSlotsPerLine];
      if (fits(s)) return s;
    }
  }
  const size_t mask = others_.size() - 1;
  size_t i = hash & mask;
  while (!fits(others_[i])) i = (i + 1) & mask;
  return others_[i];
}

Graph::Graph() : home_(kInitialNodes * kSlotsPerNode), others_(kInitialSlots), payloads_(64) {}

Ref Graph::Make(Op op, DType dtype, absl::Span<const Ref> src, Arg arg, uint8_t tag) {
  KILN_DCHECK(src.size() >= Info(op).min_src && src.size() <= static_cast<size_t>(MaxSources(op)));
  KILN_DCHECK(IsValidArg(op, dtype, arg));
  Ref swapped[2];
  if (IsCommutative(op) && src[0]->IsConst() && !src[1]->IsConst()) {
    swapped[0] = src[1];
    swapped[1] = src[0];
    src = swapped;
  }
  const auto [hash, newest] = IdentityOf(op, dtype, tag, HashedArg(op, arg), src);
  Slot* home = src.empty() ? nullptr : &home_[HomeLine(newest)];
  Slot& slot = FindSlot(hash, home, [&](Ref n) {
    return n->op == op && n->dtype == dtype && n->tag == tag && n->arg == arg &&
           SameSources(n, src);
  });
  if (slot.id_plus_1 != 0) return nodes_.At(slot.id_plus_1 - 1);

  UOp* n = nodes_.Append();
  n->id = nodes_.size() - 1;
  n->op = op;
  n->tag = tag;
  n->num_src = static_cast<uint16_t>(src.size());
  n->dtype = dtype;
  n->normal_marks = 0;
  n->final_marks = 0;
  n->hash = hash;
  n->src_filter = 0;
  for (Ref s : src) n->src_filter |= FilterBit(s->op);
  if (src.size() <= 3) {
    for (size_t k = 0; k < src.size(); ++k) n->inline_src[k] = src[k];
  } else {
    Ref* far = side_.AllocateArray<Ref>(src.size());
    std::copy(src.begin(), src.end(), far);
    n->far_src = far;
  }
  n->arg = arg;
  n->facts = nullptr;
  slot = {hash, n->id + 1};
  if (IsOther(slot) && ++num_others_ * 2 > others_.size()) GrowOthers();
  if (size() * kSlotsPerNode >= home_.size()) GrowHome(home_.size() * 2);
  return n;
}

// Lines keep their owners: nothing moves to another slot.
void Graph::GrowHome(size_t slots) {
  ZeroedArray<Slot> home(slots);
  std::copy(home_.begin(), home_.end(), home.data());
  home_.Swap(home);
}

void Graph::GrowOthers() {
  ZeroedArray<Slot> others(others_.size() * 2);
  const size_t mask = others.size() - 1;
  for (const Slot& s : others_) {
    if (s.id_plus_1 == 0) continue;
    size_t i = s.hash & mask;
    while (others[i].id_plus_1 != 0) i = (i + 1) & mask;
    others[i] = s;
  }
  others_.Swap(others);
}

void Graph::Reserve(uint32_t n) {
  size_t slots = home_.size();
  while (slots <= (size_t{size()} + n) * kSlotsPerNode) slots *= 2;
  if (slots != home_.size()) GrowHome(slots);
}

const Payload* Graph::InternPayload(std::string_view text, absl::Span<const int64_t> ints) {
  const uint64_t hash = HashPayload(text, ints);
  const size_t mask = payloads_.size() - 1;
  size_t i = hash & mask;
  for (; payloads_[i].payload != nullptr; i = (i + 1) & mask) {
    const Payload& p = *payloads_[i].payload;
    if (p.hash == hash && p.text == text && p.ints == ints) return &p;
  }
  char* chars = side_.AllocateArray<char>(text.size());
  if (!text.empty()) std::memcpy(chars, text.data(), text.size());
  int64_t* values = side_.AllocateArray<int64_t>(ints.size());
  if (!ints.empty()) std::memcpy(values, ints.data(), ints.size() * sizeof(int64_t));
  auto* p = new (side_.Allocate(sizeof(Payload)))
      Payload{{chars, text.size()}, {values, ints.size()}, hash};
  payloads_[i].payload = p;
  if (++num_payloads_ * 2 > payloads_.size()) GrowPayloads();
  return p;
}

void Graph::GrowPayloads() {
  ZeroedArray<PayloadSlot> table(payloads_.size() * 2);
  const size_t mask = table.size() - 1;
  for (const PayloadSlot& s : payloads_) {
    if (s.payload == nullptr) continue;
    size_t i = s.payload->hash & mask;
    while (table[i].payload != nullptr) i = (i + 1) & mask;
    table[i] = s;
  }
  payloads_.Swap(table);
}

Ref Graph::Variable(DType dtype, std::string_view name, Scalar min, Scalar max) {
  const int64_t ints[] = {min.AsInt(), max.AsInt()};
  return Make(Op::kVariable, dtype, {}, PayloadArg(name, ints));
}

Ref Graph::Param(DType dtype, std::string_view name, int64_t number, int64_t elems,
                 AddressSpace space) {
  const int64_t ints[] = {number, elems, static_cast<int64_t>(space)};
  return Make(Op::kParam, dtype, {}, PayloadArg(name, ints));
}

Ref Graph::Int(DType dtype, int64_t v) { return Const(dtype, *dtype::WrapInteger(v, dtype)); }

Ref Graph::Neg(Ref x) {
  return Mul(x, dtype::IsFloat(x->dtype) ? Const(x->dtype, Scalar::Float(-1)) : Int(x->dtype, -1));
}

Facts* Graph::MutableFacts(Ref n) {
  if (n->facts == nullptr) n->facts = new (side_.Allocate(sizeof(Facts))) Facts();
  return n->facts;
}

int64_t Graph::capacity_bytes() const {
  return nodes_.capacity_bytes() + side_.capacity_bytes() +
         static_cast<int64_t>((home_.size() + others_.size()) * sizeof(Slot)) +
         static_cast<int64_t>(payloads_.size() * sizeof(PayloadSlot));
}

VariableInfo VariableOf(Ref n) {
  KILN_DCHECK(n->op == Op::kVariable);
  const Payload& p = n->arg.payload();
  return {p.text, Scalar::Int(p.ints[0]), Scalar::Int(p.ints[1])};
}

ParamInfo ParamOf(Ref n) {
  KILN_DCHECK(n->op == Op::kParam);
  const Payload& p = n->arg.payload();
  return {p.text, p.ints[0], p.ints[1], static_cast<AddressSpace>(p.ints[2])};
}

}  // namespace kiln::uop
