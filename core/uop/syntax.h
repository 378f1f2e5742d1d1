// The words of the text form, for the printer and the parser. See text.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/types/span.h"

#include "core/uop/uop.h"

namespace kiln::uop::internal {

// Operators bind as in C; a larger precedence binds tighter. All associate to the left.
struct Infix {
  std::string_view text;
  int precedence;
};
inline constexpr int kUnaryPrecedence = 9;

// How `op` is written between its operands; null if it is written as a function. `/` is IDIV, or
// FDIV between floats.
constexpr std::optional<Infix> InfixOf(Op op, DType dtype) {
  switch (op) {
    case Op::kOr:
      return Infix{"|", 1};
    case Op::kXor:
      return Infix{"^", 2};
    case Op::kAnd:
      return Infix{"&", 3};
    case Op::kCmpEq:
      return Infix{"==", 4};
    case Op::kCmpNe:
      return Infix{"!=", 4};
    case Op::kCmpLt:
      return Infix{"<", 5};
    case Op::kShl:
      return Infix{"<<", 6};
    case Op::kShr:
      return Infix{">>", 6};
    case Op::kAdd:
      return Infix{"+", 7};
    case Op::kSub:
      return Infix{"-", 7};
    case Op::kMul:
      return Infix{"*", 8};
    case Op::kMod:
      return Infix{"%", 8};
    case Op::kIDiv:
      if (!dtype::IsFloat(dtype)) return Infix{"/", 8};
      return std::nullopt;
    case Op::kFDiv:
      if (dtype::IsFloat(dtype)) return Infix{"/", 8};
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

// The dtype that a node with these sources has where the text does not say; null if it must.
inline std::optional<DType> ImpliedDType(Op op, absl::Span<const Ref> src) {
  if (IsEffect(op)) return DType::kVoid;
  if (IsComparison(op)) return DType::kBool;
  if (op == Op::kVariable) return DType::kIndex;
  if (op == Op::kWhere) return src[1]->dtype;
  const bool own = op == Op::kCast || op == Op::kBitcast || op == Op::kCall || op == Op::kInput ||
                   op == Op::kBuffer || op == Op::kIota || op == Op::kParam || op == Op::kConst;
  if (own || src.empty()) return std::nullopt;
  return src[0]->dtype;
}

// A constant without a dtype, which it takes from the operands beside it: those from `FirstAlike`
// on. Bools have a spelling of their own.
inline bool IsLiteral(Ref n) { return n->IsConst() && n->tag == 0 && n->dtype != DType::kBool; }
// The first of the operands of `op` that share a dtype; all of them, but for the condition of
// WHERE. No op but the elementwise ones gives a dtype to literals.
constexpr int FirstAlike(Op op) { return op == Op::kWhere ? 1 : 0; }

constexpr bool IsLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }
constexpr bool IsIdentifier(std::string_view s) {
  if (s.empty() || !IsLetter(s[0])) return false;
  for (char c : s) {
    if (!IsLetter(c) && !IsDigit(c)) return false;
  }
  return true;
}
// Words that stand for a value, so never for a variable. `_` is the anonymous one.
constexpr bool IsReserved(std::string_view s) {
  return s == "_" || s == "true" || s == "false" || s == "inf" || s == "nan";
}

// Axis 3 is r3, axis -1 is rm1.
std::string RangeName(int32_t axis_id);
std::optional<int32_t> ParseRangeName(std::string_view s);

// The shortest decimal that reads back as `v`; an integer, or a number with a point or an exponent,
// inf, nan. Pre: `d` is neither void nor bool.
std::string LiteralText(Scalar v, DType d);
// The value of what LiteralText writes, without its sign; rounded to a float dtype. Null if `d` has
// no such value.
std::optional<Scalar> ParseLiteral(bool negative, std::string_view text, DType d);

// "like this", with escapes for what is not printable ASCII.
std::string Quote(std::string_view s);

}  // namespace kiln::uop::internal
