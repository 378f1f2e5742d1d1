// LLVM instructions for the elementwise operations of the IR, with its values. Includes LLVM
// headers: for the .cc files of this folder.
//
// In registers a bool is an i1; float16, bfloat16 and fp8 are the float32 of the same value; the
// rest is what it is in memory. Everything works on scalars and on vectors of them alike.
#pragma once

#include "absl/types/span.h"

#include "llvm/IR/IRBuilder.h"

#include "backends/llvm/host_cpu.h"
#include "core/dtype/scalar.h"
#include "core/uop/op.h"

namespace kiln::backend_llvm {

// Folds constants, but looks at no instruction: phis of open loops are not complete.
using Builder = llvm::IRBuilder<>;

// Confined to the compile job. No instruction that it makes can trap or has undefined results.
class ValueBuilder {
 public:
  // All borrowed.
  ValueBuilder(Builder& b, const HostCpu& cpu) : b_(b), cpu_(cpu) {}

  llvm::Type* RegisterType(DType d);
  llvm::Type* MemoryType(DType d);
  // A vector of `lanes` equal ones, or a scalar if that is 0.
  llvm::Constant* Constant(DType d, Scalar v, int lanes);

  // An elementwise operation on operands of dtype `d` (WHERE: its branches), all scalars or all
  // vectors. Null if it has none here: see OpsOf.
  llvm::Value* Alu(Op op, DType d, absl::Span<llvm::Value* const> operands);
  llvm::Value* Cast(llvm::Value* v, DType from, DType to);
  llvm::Value* Bitcast(llvm::Value* v, DType from, DType to);

  // Without an instruction if the condition is known.
  llvm::Value* Select(llvm::Value* condition, llvm::Value* x, llvm::Value* y);

  // Between what is in memory and what is in registers.
  llvm::Value* FromMemory(llvm::Value* v, DType d);
  llvm::Value* ToMemory(llvm::Value* v, DType d);

 private:
  llvm::Value* AluOnBool(Op op, absl::Span<llvm::Value* const> operands);
  llvm::Value* AluOnInteger(Op op, DType d, absl::Span<llvm::Value* const> operands);
  llvm::Value* AluOnFloat(Op op, DType d, absl::Span<llvm::Value* const> operands);
  llvm::Value* Divide(Op op, bool is_signed, llvm::Value* x, llvm::Value* y);
  llvm::Value* Shift(Op op, bool is_signed, llvm::Value* x, llvm::Value* count);
  llvm::Value* MaxOfFloats(llvm::Value* x, llvm::Value* y);
  llvm::Value* MulAcc(DType d, llvm::Value* x, llvm::Value* y, llvm::Value* z);

  llvm::Value* IntegerToFloat(llvm::Value* v, DType from, DType to);
  llvm::Value* FloatToInteger(llvm::Value* v, DType to);
  // A float32 from which narrower types round as they would from the operand.
  llvm::Value* RoundToOdd(llvm::Value* v);
  // The float32 (or float64) in registers, rounded to `d`.
  llvm::Value* Round(llvm::Value* v, DType d);
  llvm::Value* RoundToBFloat16(llvm::Value* v);
  llvm::Value* RoundToSmall(llvm::Value* v, DType d);
  // Bits in memory of the small types, from and to the float32 with the same value.
  llvm::Value* DecodeSmall(llvm::Value* bits, DType d);
  llvm::Value* EncodeSmall(llvm::Value* v, DType d);

  bool HasHalf(DType d) const { return d == DType::kFloat16 && cpu_.has_f16c; }
  // `scalar`, or a vector of as many as `v` has.
  llvm::Type* Like(llvm::Value* v, llvm::Type* scalar);
  llvm::Value* Int(llvm::Value* like, uint64_t bits) {
    return llvm::ConstantInt::get(like->getType(), bits);
  }
  llvm::Value* Float(llvm::Value* like, double v) {
    return llvm::ConstantFP::get(like->getType(), v);
  }
  llvm::Value* Nan(llvm::Value* like) { return llvm::ConstantFP::getQNaN(like->getType()); }
  llvm::Value* IsNan(llvm::Value* v) { return b_.CreateFCmpUNO(v, v); }
  // Of float32: its bits, and back.
  llvm::Value* Bits(llvm::Value* v) { return b_.CreateBitCast(v, Like(v, b_.getInt32Ty())); }
  llvm::Value* FromBits(llvm::Value* v) { return b_.CreateBitCast(v, Like(v, b_.getFloatTy())); }
  llvm::Value* Magnitude(llvm::Value* v) {
    return b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, v);
  }

  Builder& b_;
  const HostCpu& cpu_;
};

}  // namespace kiln::backend_llvm
