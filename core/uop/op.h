// The operations of the one IR, from tensor graph to machine loop, and their traits.
//
// Adding an op: a row here; its dtype, shape and bounds rules (facts); a row in each spec that
// allows it; a test.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/dtype/alu_op.h"

namespace kiln::uop {

// What Arg holds for an op.
enum class ArgKind : uint8_t {
  kNone,
  kScalar,   // A value of the node's dtype.
  kInt,      // An integer; its meaning is in the op's comment.
  kRange,    // RangeArg: axis id and type.
  kReduce,   // ReduceArg: operation and axes.
  kPayload,  // An interned text and list of integers.
};

enum OpTrait : uint8_t {
  kNoTraits = 0,
  kCommutative = 1,  // Two sources, in either order; a constant one stays on the right.
  kAssociative = 2,  // On exact dtypes: bool, integers, index.
  kEffect = 4,       // Does something besides having a value, or stands for it: dtype void.
};

// X(enumerator, text, least sources, most sources (255: any number), kind of arg, traits)
//
// d... are dims: index-dtype sources, so that a symbolic size is an ordinary expression.
#define KILN_OPS(X)                                                                               \
  /* ** elementwise: the same numbers as dtype::AluOp ** */                                       \
  X(kCast, "cast", 1, 1, kNone, kNoTraits)       /* To the node's dtype. */                       \
  X(kBitcast, "bitcast", 1, 1, kNone, kNoTraits) /* To the node's dtype. */                       \
  X(kNeg, "neg", 1, 1, kNone, kNoTraits)                                                          \
  X(kRecip, "recip", 1, 1, kNone, kNoTraits)                                                      \
  X(kSqrt, "sqrt", 1, 1, kNone, kNoTraits)                                                        \
  X(kExp2, "exp2", 1, 1, kNone, kNoTraits)                                                        \
  X(kLog2, "log2", 1, 1, kNone, kNoTraits)                                                        \
  X(kSin, "sin", 1, 1, kNone, kNoTraits)                                                          \
  X(kTrunc, "trunc", 1, 1, kNone, kNoTraits)                                                      \
  X(kAdd, "add", 2, 2, kNone, kCommutative | kAssociative)                                        \
  X(kSub, "sub", 2, 2, kNone, kNoTraits)                                                          \
  X(kMul, "mul", 2, 2, kNone, kCommutative | kAssociative)                                        \
  X(kFDiv, "fdiv", 2, 2, kNone, kNoTraits)                                                        \
  X(kIDiv, "idiv", 2, 2, kNone, kNoTraits)                                                        \
  X(kMod, "mod", 2, 2, kNone, kNoTraits)                                                          \
  X(kMax, "max", 2, 2, kNone, kCommutative | kAssociative)                                        \
  X(kPow, "pow", 2, 2, kNone, kNoTraits)                                                          \
  X(kCmpLt, "cmplt", 2, 2, kNone, kNoTraits)                                                      \
  X(kCmpNe, "cmpne", 2, 2, kNone, kCommutative)                                                   \
  X(kCmpEq, "cmpeq", 2, 2, kNone, kCommutative)                                                   \
  X(kAnd, "and", 2, 2, kNone, kCommutative | kAssociative)                                        \
  X(kOr, "or", 2, 2, kNone, kCommutative | kAssociative)                                          \
  X(kXor, "xor", 2, 2, kNone, kCommutative | kAssociative)                                        \
  X(kShl, "shl", 2, 2, kNone, kNoTraits)                                                          \
  X(kShr, "shr", 2, 2, kNone, kNoTraits)                                                          \
  X(kThreefry, "threefry", 2, 2, kNone, kNoTraits)                                                \
  X(kWhere, "where", 3, 3, kNone, kNoTraits)                                                      \
  X(kMulAcc, "mulacc", 3, 3, kNone, kNoTraits)                                                    \
  /* ** leaves ** */                                                                              \
  X(kConst, "const", 0, 0, kScalar, kNoTraits)                                                    \
  X(kVariable, "var", 0, 0, kPayload,                                                             \
    kNoTraits) /* text: name, empty if anonymous; ints: min, max as Scalar bits. */               \
  X(kBind, "bind", 2, 2, kNone,                                                                   \
    kNoTraits) /* variable, constant: the variable with its value for one run. */                 \
  X(kRange, "range", 1, 1, kRange, kNoTraits) /* end: loop counter 0 <= r < end. */               \
  X(kSpecial, "special", 1, 1, kPayload,                                                          \
    kNoTraits) /* end; text: name. Launch index 0 <= s < end. */                                  \
  X(kInput, "input", 0, 255, kInt,                                                                \
    kNoTraits) /* d...; slot. A tensor bound to the slot at run time. */                          \
  X(kBuffer, "buffer", 0, 255, kPayload,                                                          \
    kNoTraits) /* d...; text: device; ints: number. Memory that the scheduler made. */            \
  X(kParam, "param", 0, 0, kPayload,                                                              \
    kNoTraits) /* A kernel's memory. text: name; ints: number,   \
                                                   elements (-1: unknown), AddressSpace. */                                \
  /* ** movement ** */                                                                            \
  X(kReshape, "reshape", 1, 255, kNone, kNoTraits) /* x, d...: row-major. */                      \
  X(kExpand, "expand", 1, 255, kNone, kNoTraits)   /* x, d...: size-1 axes repeat. */             \
  X(kPermute, "permute", 1, 1, kPayload,                                                          \
    kNoTraits)                                   /* ints: output axis i is input axis ints[i]. */ \
  X(kFlip, "flip", 1, 1, kInt, kNoTraits)        /* Bit i set: axis i is reversed. */             \
  X(kPad, "pad", 1, 255, kNone, kNoTraits)       /* x, (before, after)...: zeros around. */       \
  X(kShrink, "shrink", 1, 255, kNone, kNoTraits) /* x, (begin, end)... */                         \
  /* ** tensors ** */                                                                             \
  X(kReduce, "reduce", 1, 255, kReduce,                                                           \
    kNoTraits) /* x, ranges...: over the axes of arg, which keep size 1, and the ranges. */       \
  X(kIota, "iota", 0, 255, kInt, kNoTraits) /* d...; the index along this axis. */                \
  X(kContiguous, "contiguous", 1, 1, kNone, kNoTraits)                                            \
  X(kDetach, "detach", 1, 1, kNone, kNoTraits)                                                    \
  X(kAssign, "assign", 2, 2, kNone, kNoTraits) /* target, value */                                \
  X(kCopy, "copy", 1, 1, kPayload, kNoTraits)  /* text: device. */                                \
  X(kShard, "shard", 1, 1, kPayload,                                                              \
    kNoTraits) /* text: devices, comma-separated; ints: axis, or none for a replica on each. */   \
  X(kUnshard, "unshard", 1, 1, kNone, kNoTraits)                                                  \
  X(kAllReduce, "allreduce", 1, 1, kReduce, kNoTraits) /* Combines the shards; axes unused. */    \
  X(kCall, "call", 0, 255, kPayload,                                                              \
    kNoTraits) /* Library function: inputs; text: name and attributes. */                         \
  X(kGradient, "gradient", 2, 255, kInt,                                                          \
    kNoTraits) /* y, seed, x...: with respect to the arg-th x. */                                 \
  /* ** values with a shape inside a kernel ** */                                                 \
  X(kStack, "stack", 1, 255, kNone, kNoTraits) /* n values of shape s -> [n, s...]. */            \
  X(kUnstack, "unstack", 1, 1, kInt,                                                              \
    kNoTraits) /* Element arg of the first axis: [n, s...] -> s. */                               \
  /* ** memory and control ** */                                                                  \
  X(kIndex, "index", 2, 3, kNone, kNoTraits)   /* param, element index [, gate]: a place. */      \
  X(kLoad, "load", 1, 3, kNone, kNoTraits)     /* place [, value if gated off [, order]] */       \
  X(kStore, "store", 2, 255, kNone, kEffect)   /* place, value [, gate or ranges ended...] */     \
  X(kAfter, "after", 2, 255, kNone, kNoTraits) /* x, effects, ranges...: x, after them. */        \
  X(kBarrier, "barrier", 0, 255, kNone, kEffect)                                                  \
  X(kIf, "if", 1, 2, kNone, kEffect)              /* condition [, order] */                       \
  X(kEndIf, "endif", 1, 255, kNone, kEffect)      /* if, effects... */                            \
  X(kEnd, "end", 1, 255, kNone, kEffect)          /* effects..., range that ends here. */         \
  X(kSink, "sink", 0, 255, kNone, kEffect)        /* Everything that must happen. */              \
  X(kKernel, "kernel", 1, 255, kPayload, kEffect) /* body, buffers...; text: name. */             \
  X(kLinear, "linear", 0, 255, kNone, kEffect)    /* Instructions or launches in order. */

enum class Op : uint8_t {
#define KILN_OP_ENUM(e, text, lo, hi, arg, traits) e,
  KILN_OPS(KILN_OP_ENUM)
#undef KILN_OP_ENUM
};

struct OpInfo {
  std::string_view name;
  uint8_t min_src, max_src;
  ArgKind arg;
  uint8_t traits;
};
inline constexpr OpInfo kOpInfo[] = {
#define KILN_OP_INFO(e, text, lo, hi, arg, traits) {text, lo, hi, ArgKind::arg, traits},
    KILN_OPS(KILN_OP_INFO)
#undef KILN_OP_INFO
};
inline constexpr int kNumOps = static_cast<int>(sizeof(kOpInfo) / sizeof(kOpInfo[0]));
// The most sources that "any number" allows: what UOp::num_src holds.
inline constexpr int kMaxSources = 65535;

constexpr const OpInfo& Info(Op op) { return kOpInfo[static_cast<int>(op)]; }
constexpr std::string_view Name(Op op) { return Info(op).name; }
constexpr int MaxSources(Op op) { return Info(op).max_src == 255 ? kMaxSources : Info(op).max_src; }
constexpr bool IsCommutative(Op op) { return (Info(op).traits & kCommutative) != 0; }
constexpr bool IsAssociative(Op op) { return (Info(op).traits & kAssociative) != 0; }
constexpr bool IsEffect(Op op) { return (Info(op).traits & kEffect) != 0; }

constexpr bool IsAlu(Op op) { return static_cast<int>(op) < dtype::kNumAluOps; }
constexpr bool IsUnary(Op op) { return op <= Op::kTrunc; }
constexpr bool IsBinary(Op op) { return op >= Op::kAdd && op <= Op::kThreefry; }
constexpr bool IsTernary(Op op) { return op == Op::kWhere || op == Op::kMulAcc; }
constexpr bool IsComparison(Op op) { return op >= Op::kCmpLt && op <= Op::kCmpEq; }
constexpr bool IsMovement(Op op) { return op >= Op::kReshape && op <= Op::kShrink; }

// Pre: IsAlu(op).
constexpr dtype::AluOp ToAlu(Op op) { return static_cast<dtype::AluOp>(op); }
constexpr Op FromAlu(dtype::AluOp op) { return static_cast<Op>(op); }
static_assert(ToAlu(Op::kCast) == dtype::AluOp::kCast && ToAlu(Op::kAdd) == dtype::AluOp::kAdd &&
              ToAlu(Op::kThreefry) == dtype::AluOp::kThreefry &&
              ToAlu(Op::kMulAcc) == dtype::AluOp::kMulAcc);

constexpr std::optional<Op> ParseOp(std::string_view name) {
  for (int i = 0; i < kNumOps; ++i) {
    if (kOpInfo[i].name == name) return static_cast<Op>(i);
  }
  return std::nullopt;
}

// One bit per op, op mod 64. Two ops may share a bit: good for refusing, not for proving.
constexpr uint64_t FilterBit(Op op) { return uint64_t{1} << (static_cast<int>(op) & 63); }

}  // namespace kiln::uop

namespace kiln {
using uop::Op;
}  // namespace kiln
