// What distinguishes two nodes of one op besides dtype and sources: a value, a number, or an
// interned payload.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

#include "absl/types/span.h"

#include "core/dtype/scalar.h"
#include "core/uop/op.h"

namespace kiln::uop {

// Immutable. Text and integers of a node, interned by its Graph: equal payloads are the same
// pointer.
struct Payload {
  std::string_view text;
  absl::Span<const int64_t> ints;
  uint64_t hash;  // Of the contents; the same in every process.
};

// What a loop over a RANGE is for.
enum class AxisType : uint8_t {
  kGlobal,
  kWarp,
  kLocal,
  kLoop,
  kGroupReduce,
  kReduce,
  kUpcast,
  kUnroll,
  kThread
};
inline constexpr std::string_view kAxisTypeNames[] = {
    "global", "warp", "local", "loop", "group_reduce", "reduce", "upcast", "unroll", "thread"};
inline constexpr int kNumAxisTypes = 9;

enum class AddressSpace : uint8_t { kGlobal, kLocal, kRegister };
inline constexpr std::string_view kAddressSpaceNames[] = {"global", "local", "reg"};
inline constexpr int kNumAddressSpaces = 3;

struct RangeArg {
  int32_t axis_id;  // Unique within a kernel; negative for ranges that a pass made.
  AxisType type;
  friend constexpr bool operator==(RangeArg, RangeArg) = default;
};

struct ReduceArg {
  Op op;              // kAdd, kMul or kMax.
  uint32_t axes = 0;  // Bit i: axis i.
  friend constexpr bool operator==(ReduceArg, ReduceArg) = default;
};

// Immutable. 8 bytes; the op (Info(op).arg) says which accessor applies. Equal arguments have equal
// bits.
class Arg {
 public:
  constexpr Arg() = default;
  static constexpr Arg FromBits(uint64_t bits) { return Arg(bits); }
  static constexpr Arg Of(Scalar v) { return Arg(v.bits()); }
  static constexpr Arg Int(int64_t v) { return Arg(static_cast<uint64_t>(v)); }
  static constexpr Arg Of(RangeArg r) {
    return Arg(uint64_t{std::bit_cast<uint32_t>(r.axis_id)} << 8 | static_cast<uint64_t>(r.type));
  }
  static constexpr Arg Of(ReduceArg r) {
    return Arg(uint64_t{r.axes} << 8 | static_cast<uint64_t>(r.op));
  }
  static Arg Of(const Payload* p) { return Arg(reinterpret_cast<uintptr_t>(p)); }

  constexpr uint64_t bits() const { return bits_; }
  constexpr Scalar scalar() const { return Scalar::FromBits(bits_); }
  constexpr int64_t integer() const { return static_cast<int64_t>(bits_); }
  constexpr RangeArg range() const {
    return {std::bit_cast<int32_t>(static_cast<uint32_t>(bits_ >> 8)),
            static_cast<AxisType>(bits_ & 0xff)};
  }
  constexpr ReduceArg reduce() const {
    return {static_cast<Op>(bits_ & 0xff), static_cast<uint32_t>(bits_ >> 8)};
  }
  const Payload& payload() const {
    return *reinterpret_cast<const Payload*>(static_cast<uintptr_t>(bits_));
  }

  friend constexpr bool operator==(Arg, Arg) = default;

 private:
  explicit constexpr Arg(uint64_t bits) : bits_(bits) {}
  uint64_t bits_ = 0;
};

// Whether `arg` is what accessors of `op` rely on: of its kind, a constant in canonical form for
// `dtype`, two bounds for a variable, three integers for a parameter. (Whether the node means
// anything is for its spec to say.)
bool IsValidArg(Op op, DType dtype, Arg arg);

}  // namespace kiln::uop

namespace kiln {
using uop::AddressSpace;
using uop::Arg;
using uop::AxisType;
using uop::RangeArg;
using uop::ReduceArg;
}  // namespace kiln
