// What a target computes with operations of its own.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>

#include "core/dtype/dtype.h"
#include "core/uop/op.h"

namespace kiln::codegen {

// Immutable once built. A set of (elementwise op, dtype) pairs; the dtype is that of the operands
// (of the branches for WHERE).
//
// Every target is taken to have ADD, MUL, AND, OR, XOR, CMPLT, CMPNE, WHERE, CAST, BITCAST and
// division (IDIV, MOD; FDIV or RECIP), listed or not: that is what everything else is built from.
// They are replaced only where a listed op does better (IDIV by a constant if SHR is listed, a*b +
// c if MULACC is).
class OpSupport {
 public:
  constexpr OpSupport() = default;
  // These ops, on every dtype on which they are defined.
  constexpr OpSupport(std::initializer_list<Op> ops) {
    for (Op op : ops) Add(op);
  }

  constexpr OpSupport& Add(Op op) {
    for (uint32_t& mask : masks_) mask |= Bit(op);
    return *this;
  }
  constexpr OpSupport& Add(Op op, DType d) {
    masks_[static_cast<size_t>(d)] |= Bit(op);
    return *this;
  }
  constexpr OpSupport& RemoveAll(Op op) {
    for (uint32_t& mask : masks_) mask &= ~Bit(op);
    return *this;
  }
  constexpr OpSupport& Remove(Op op, DType d) {
    masks_[static_cast<size_t>(d)] &= ~Bit(op);
    return *this;
  }
  // Pre: IsAlu(op).
  constexpr bool Has(Op op, DType d) const {
    return (masks_[static_cast<size_t>(d)] & Bit(op)) != 0;
  }

 private:
  static_assert(dtype::kNumAluOps <= 32);
  static constexpr uint32_t Bit(Op op) { return uint32_t{1} << static_cast<int>(op); }

  std::array<uint32_t, dtype::kNumDTypes> masks_ = {};
};

}  // namespace kiln::codegen
