#include "core/schedule/bytes.h"

namespace kiln::schedule::internal {
namespace {

DType UnsignedOf(int bytes) {
  switch (bytes) {
    case 1:
      return DType::kUInt8;
    case 2:
      return DType::kUInt16;
    case 4:
      return DType::kUInt32;
    default:
      return DType::kUInt64;
  }
}

// A bool's byte is its value: a cast does what a bitcast would.
Ref Bitcast(Graph& g, Ref x, DType to) {
  if (x->dtype == to) return x;
  if (x->dtype == DType::kBool) return Bitcast(g, g.Cast(x, DType::kUInt8), to);
  if (to == DType::kBool) return g.Cast(Bitcast(g, x, DType::kUInt8), to);
  return g.Make(Op::kBitcast, to, {x});
}

}  // namespace

Ref JoinBytes(Graph& g, absl::Span<const Ref> parts, DType to) {
  const int from = dtype::SizeBytes(parts[0]->dtype);
  const DType wide = UnsignedOf(dtype::SizeBytes(to));
  Ref joined = nullptr;
  for (size_t i = 0; i < parts.size(); ++i) {
    Ref part = g.Cast(Bitcast(g, parts[i], UnsignedOf(from)), wide);
    if (i == 0) {
      joined = part;
      continue;
    }
    Ref shift = g.Int(wide, static_cast<int64_t>(i) * from * 8);
    joined = g.Or(joined, g.Binary(Op::kShl, part, shift));
  }
  return Bitcast(g, joined, to);
}

Ref PartOfBytes(Graph& g, Ref whole, DType to, Ref index) {
  const int from = dtype::SizeBytes(whole->dtype), bytes = dtype::SizeBytes(to);
  if (from == bytes) return Bitcast(g, whole, to);
  const DType wide = UnsignedOf(from);
  Ref bits = g.Mul(g.Mod(index, g.Index(from / bytes)), g.Index(bytes * 8));
  Ref part = g.Binary(Op::kShr, Bitcast(g, whole, wide), g.Cast(bits, wide));
  return Bitcast(g, g.Cast(part, UnsignedOf(bytes)), to);
}

}  // namespace kiln::schedule::internal
