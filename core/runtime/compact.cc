#include "core/runtime/compact.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/runtime/bytes.h"
#include "core/uop/node_map.h"

namespace kiln::runtime {
namespace {

using internal::AppendVarint;
using internal::ByteReader;

// Bytes that grow, written through a pointer: push_back would be most of the work.
class FastBytes {
 public:
  // Room for `bytes` more.
  char* Reserve(size_t bytes) {
    if (size_ + bytes > buffer_.size()) buffer_.resize(2 * (size_ + bytes) + 4096);
    return buffer_.data() + size_;
  }
  void SetEnd(const char* end) { size_ = static_cast<size_t>(end - buffer_.data()); }
  std::string_view view() const { return {buffer_.data(), size_}; }

 private:
  std::string buffer_;
  size_t size_ = 0;
};

constexpr size_t kMaxVarintBytes = 10;

char* PutVarint(char* to, uint64_t v) {
  for (; v >= 0x80; v >>= 7) *to++ = static_cast<char>(v | 0x80);
  *to++ = static_cast<char>(v);
  return to;
}

// One node; sources are written as the distance back to them, so that repeated parts look alike.
void AppendNode(Ref n, uint32_t number, const uop::NodeMap<uint32_t>& numbers, FastBytes& to) {
  const uop::ArgKind kind = uop::Info(n->op).arg;
  size_t most = 3 + kMaxVarintBytes * (size_t{n->num_src} + 3);
  const uop::Payload* payload = kind == uop::ArgKind::kPayload ? &n->arg.payload() : nullptr;
  if (payload != nullptr) most += payload->text.size() + kMaxVarintBytes * payload->ints.size();
  char* p = to.Reserve(most);
  *p++ = static_cast<char>(n->op);
  *p++ = static_cast<char>(n->dtype);
  *p++ = static_cast<char>(n->tag);
  p = PutVarint(p, n->num_src);
  for (Ref s : n->src()) p = PutVarint(p, number - numbers.Get(s));
  if (payload != nullptr) {
    p = PutVarint(p, payload->text.size());
    p = std::copy(payload->text.begin(), payload->text.end(), p);
    p = PutVarint(p, payload->ints.size());
    for (int64_t i : payload->ints) p = PutVarint(p, static_cast<uint64_t>(i));
  } else if (kind != uop::ArgKind::kNone) {
    p = PutVarint(p, n->arg.bits());
  }
  to.SetEnd(p);
}

// Numbers the nodes below `roots` from 1 on, sources first, in an order that depends on nothing but
// the structure, and appends each.
class Writer {
 public:
  explicit Writer(FastBytes& to) : to_(to) {}

  uint32_t Write(Ref root) {
    if (const uint32_t number = numbers_.Get(root); number != 0) return number;
    stack_.push_back({root, 0});
    while (!stack_.empty()) {
      auto& [n, next] = stack_.back();
      while (next < n->num_src && numbers_.Get(n->src(next)) != 0) ++next;
      if (next < n->num_src) {
        const Ref source = n->src(next);
        stack_.push_back({source, 0});
        continue;
      }
      AppendNode(n, num_nodes_ + 1, numbers_, to_);
      numbers_[n] = ++num_nodes_;
      stack_.pop_back();
    }
    return num_nodes_;
  }
  uint32_t num_nodes() const { return num_nodes_; }

 private:
  FastBytes& to_;
  uop::NodeMap<uint32_t> numbers_;
  std::vector<std::pair<Ref, int>> stack_;
  uint32_t num_nodes_ = 0;
};

absl::Status Malformed() { return absl::DataLossError("not the compact form of a graph"); }

uint8_t ReadByte(ByteReader& in) {
  const std::string_view byte = in.Bytes(1);
  return byte.empty() ? 0xff : static_cast<uint8_t>(byte[0]);
}

std::optional<Arg> ReadArg(Graph& g, ByteReader& in, uop::ArgKind kind) {
  if (kind == uop::ArgKind::kNone) return Arg();
  if (kind != uop::ArgKind::kPayload) return Arg::FromBits(in.Varint());
  const std::string_view text = in.Text();
  const uint64_t num_ints = in.Varint();
  if (num_ints > in.remaining()) return std::nullopt;
  std::vector<int64_t> ints(num_ints);
  for (int64_t& i : ints) i = static_cast<int64_t>(in.Varint());
  return g.PayloadArg(text, ints);
}

// The next node; null if there is none.
Ref ReadNode(Graph& g, ByteReader& in, absl::Span<const Ref> nodes) {
  const uint8_t op_number = ReadByte(in), dtype_number = ReadByte(in), tag = ReadByte(in);
  if (op_number >= uop::kNumOps || dtype_number >= dtype::kNumDTypes) return nullptr;
  const auto op = static_cast<Op>(op_number);
  const auto dtype = static_cast<DType>(dtype_number);
  const uint64_t num_src = in.Varint();
  const uop::OpInfo& info = uop::Info(op);
  if (num_src < info.min_src || (info.max_src != 255 && num_src > info.max_src) ||
      num_src > in.remaining()) {
    return nullptr;
  }
  std::vector<Ref> sources(num_src);
  for (Ref& s : sources) {
    const uint64_t back = in.Varint();
    if (back == 0 || back > nodes.size()) return nullptr;
    s = nodes[nodes.size() - back];
  }
  const std::optional<Arg> arg = ReadArg(g, in, info.arg);
  if (!in.ok() || !arg.has_value() || !uop::IsValidArg(op, dtype, *arg)) return nullptr;
  return g.Make(op, dtype, sources, *arg, tag);
}

}  // namespace

void AppendCompact(absl::Span<const Ref> roots, std::string& to) {
  FastBytes nodes;
  Writer writer(nodes);
  std::vector<uint32_t> numbers;
  for (Ref root : roots) numbers.push_back(writer.Write(root));
  AppendVarint(to, writer.num_nodes());
  to += nodes.view();
  AppendVarint(to, numbers.size());
  for (uint32_t number : numbers) AppendVarint(to, number);
}

absl::StatusOr<std::vector<Ref>> FromCompact(Graph& g, std::string_view bytes) {
  ByteReader in(bytes);
  const uint64_t num_nodes = in.Varint();
  if (num_nodes > in.remaining()) return Malformed();
  std::vector<Ref> nodes;
  nodes.reserve(num_nodes);
  for (uint64_t i = 0; i < num_nodes; ++i) {
    Ref n = ReadNode(g, in, nodes);
    if (n == nullptr) return Malformed();
    nodes.push_back(n);
  }
  const uint64_t num_roots = in.Varint();
  if (num_roots > in.remaining()) return Malformed();
  std::vector<Ref> roots;
  for (uint64_t i = 0; i < num_roots; ++i) {
    const uint64_t number = in.Varint();
    if (number == 0 || number > nodes.size()) return Malformed();
    roots.push_back(nodes[number - 1]);
  }
  if (!in.ok() || !in.at_end()) return Malformed();
  return roots;
}

}  // namespace kiln::runtime
