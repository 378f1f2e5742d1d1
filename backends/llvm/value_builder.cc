#include "backends/llvm/value_builder.h"

#include "core/dtype/cast.h"

namespace kiln::backend_llvm {

using llvm::Value;

llvm::Type* ValueBuilder::RegisterType(DType d) {
  if (d == DType::kBool) return b_.getInt1Ty();
  if (d == DType::kFloat64) return b_.getDoubleTy();
  if (dtype::IsFloat(d)) return b_.getFloatTy();
  return b_.getIntNTy(static_cast<unsigned>(dtype::SizeBits(d)));
}

llvm::Type* ValueBuilder::MemoryType(DType d) {
  if (d == DType::kFloat32) return b_.getFloatTy();
  if (d == DType::kFloat64) return b_.getDoubleTy();
  if (HasHalf(d)) return b_.getHalfTy();
  return b_.getIntNTy(static_cast<unsigned>(dtype::SizeBits(d)));
}

llvm::Type* ValueBuilder::Like(Value* v, llvm::Type* scalar) {
  const auto* vector = llvm::dyn_cast<llvm::VectorType>(v->getType());
  return vector == nullptr ? scalar : llvm::VectorType::get(scalar, vector->getElementCount());
}

llvm::Constant* ValueBuilder::Constant(DType d, Scalar v, int lanes) {
  llvm::Type* type = RegisterType(d);
  llvm::Constant* c;
  if (!dtype::IsFloat(d)) {
    c = llvm::ConstantInt::get(type, dtype::ToBits(v, d), dtype::IsSigned(d));
  } else if (v.AsFloat() != v.AsFloat()) {
    c = llvm::ConstantFP::getQNaN(type);
  } else {
    c = llvm::ConstantFP::get(type, v.AsFloat());
  }
  if (lanes == 0) return c;
  return llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(static_cast<unsigned>(lanes)),
                                        c);
}

Value* ValueBuilder::Select(Value* condition, Value* x, Value* y) {
  if (const auto* known = llvm::dyn_cast<llvm::Constant>(condition)) {
    if (known->isAllOnesValue()) return x;
    if (known->isNullValue()) return y;
  }
  return x == y ? x : b_.CreateSelect(condition, x, y);
}

Value* ValueBuilder::Alu(Op op, DType d, absl::Span<Value* const> operands) {
  if (op == Op::kWhere) return Select(operands[0], operands[1], operands[2]);
  if (d == DType::kBool) return AluOnBool(op, operands);
  return dtype::IsFloat(d) ? AluOnFloat(op, d, operands) : AluOnInteger(op, d, operands);
}

// ** bool **: the integers 0 and 1, where a sum of 2 is true.

Value* ValueBuilder::AluOnBool(Op op, absl::Span<Value* const> operands) {
  Value* x = operands[0];
  Value* y = operands.size() > 1 ? operands[1] : nullptr;
  switch (op) {
    case Op::kAdd:
    case Op::kMax:
    case Op::kOr:
      return b_.CreateOr(x, y);
    case Op::kMul:
    case Op::kAnd:
      return b_.CreateAnd(x, y);
    case Op::kMulAcc:
      return b_.CreateOr(b_.CreateAnd(x, y), operands[2]);
    case Op::kCmpLt:
      return b_.CreateAnd(b_.CreateNot(x), y);
    case Op::kCmpNe:
    case Op::kXor:
      return b_.CreateXor(x, y);
    case Op::kCmpEq:
      return b_.CreateNot(b_.CreateXor(x, y));
    default:
      return nullptr;
  }
}

// ** integers **

Value* ValueBuilder::AluOnInteger(Op op, DType d, absl::Span<Value* const> operands) {
  const bool is_signed = dtype::IsSigned(d);
  Value* x = operands[0];
  Value* y = operands.size() > 1 ? operands[1] : nullptr;
  switch (op) {
    case Op::kNeg:
      return b_.CreateNeg(x);
    case Op::kTrunc:
      return x;
    case Op::kAdd:
      return b_.CreateAdd(x, y);
    case Op::kSub:
      return b_.CreateSub(x, y);
    case Op::kMul:
      return b_.CreateMul(x, y);
    case Op::kMulAcc:
      return b_.CreateAdd(b_.CreateMul(x, y), operands[2]);
    case Op::kIDiv:
    case Op::kMod:
      return Divide(op, is_signed, x, y);
    case Op::kMax:
      return b_.CreateBinaryIntrinsic(is_signed ? llvm::Intrinsic::smax : llvm::Intrinsic::umax, x,
                                      y);
    case Op::kCmpLt:
      return is_signed ? b_.CreateICmpSLT(x, y) : b_.CreateICmpULT(x, y);
    case Op::kCmpNe:
      return b_.CreateICmpNE(x, y);
    case Op::kCmpEq:
      return b_.CreateICmpEQ(x, y);
    case Op::kAnd:
      return b_.CreateAnd(x, y);
    case Op::kOr:
      return b_.CreateOr(x, y);
    case Op::kXor:
      return b_.CreateXor(x, y);
    case Op::kShl:
    case Op::kShr:
      return Shift(op, is_signed, x, y);
    default:
      return nullptr;
  }
}

// What the machine cannot divide by is replaced by 1, and the result is chosen afterwards.
Value* ValueBuilder::Divide(Op op, bool is_signed, Value* x, Value* y) {
  Value* by_zero = b_.CreateICmpEQ(y, Int(y, 0));
  Value* minus_one = llvm::ConstantInt::getAllOnesValue(y->getType());
  Value* by_minus_one = is_signed ? b_.CreateICmpEQ(y, minus_one) : nullptr;
  Value* special = is_signed ? b_.CreateOr(by_zero, by_minus_one) : by_zero;
  Value* divisor = Select(special, Int(y, 1), y);
  if (op == Op::kMod) {
    Value* remainder = is_signed ? b_.CreateSRem(x, divisor) : b_.CreateURem(x, divisor);
    return Select(by_zero, x, remainder);
  }
  Value* quotient = is_signed ? b_.CreateSDiv(x, divisor) : b_.CreateUDiv(x, divisor);
  if (is_signed) quotient = Select(by_minus_one, b_.CreateNeg(x), quotient);
  return Select(by_zero, Int(x, 0), quotient);
}

Value* ValueBuilder::Shift(Op op, bool is_signed, Value* x, Value* count) {
  const unsigned width = x->getType()->getScalarSizeInBits();
  Value* in_range = b_.CreateICmpULT(count, Int(count, width));
  if (op == Op::kShr && is_signed) {
    return b_.CreateAShr(x, Select(in_range, count, Int(count, width - 1)));
  }
  Value* safe = Select(in_range, count, Int(count, 0));
  Value* shifted = op == Op::kShl ? b_.CreateShl(x, safe) : b_.CreateLShr(x, safe);
  return Select(in_range, shifted, Int(x, 0));
}

// ** floats **: in float32 or float64, and rounded if the dtype is narrower. For +, -, *, / and
// sqrt the second rounding is harmless: 24 >= 2 * 11 + 2. Source: Figueroa, "When is double rounding
// innocuous?", SIGNUM Newsletter 30(3), 1995.

Value* ValueBuilder::AluOnFloat(Op op, DType d, absl::Span<Value* const> operands) {
  Value* x = operands[0];
  Value* y = operands.size() > 1 ? operands[1] : nullptr;
  switch (op) {
    case Op::kNeg:
      return b_.CreateFNeg(x);
    case Op::kTrunc:
      return b_.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, x);
    case Op::kRecip:
      return Round(b_.CreateFDiv(Float(x, 1.0), x), d);
    case Op::kSqrt:
      return Round(b_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x), d);
    case Op::kAdd:
      return Round(b_.CreateFAdd(x, y), d);
    case Op::kSub:
      return Round(b_.CreateFSub(x, y), d);
    case Op::kMul:
      return Round(b_.CreateFMul(x, y), d);
    case Op::kFDiv:
      return Round(b_.CreateFDiv(x, y), d);
    case Op::kMulAcc:
      return MulAcc(d, x, y, operands[2]);
    case Op::kMax:
      return MaxOfFloats(x, y);
    case Op::kCmpLt:
      return b_.CreateFCmpOLT(x, y);
    case Op::kCmpNe:
      return b_.CreateFCmpUNE(x, y);
    case Op::kCmpEq:
      return b_.CreateFCmpOEQ(x, y);
    default:
      return nullptr;
  }
}

// A comparison with NaN is false, which gives x.
Value* ValueBuilder::MaxOfFloats(Value* x, Value* y) {
  Value* larger = Select(b_.CreateFCmpOGT(y, x), y, x);
  return Select(IsNan(y), y, larger);
}

Value* ValueBuilder::MulAcc(DType d, Value* x, Value* y, Value* z) {
  const bool wide = d == DType::kFloat32 || d == DType::kFloat64;
  if (wide && cpu_.has_fma) {
    return b_.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()}, {x, y, z});
  }
  return Round(b_.CreateFAdd(Round(b_.CreateFMul(x, y), d), z), d);
}

}  // namespace kiln::backend_llvm
