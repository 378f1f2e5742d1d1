#include "core/uop/parse_leaf.h"

#include "absl/strings/str_cat.h"

#include "core/dtype/status.h"
#include "core/uop/syntax.h"

namespace kiln::uop::internal {
namespace {

absl::Status NotAValue(const Lexer& lexer, const Token& word, DType d) {
  return lexer.ErrorAt(word,
                       absl::StrCat(Shown(word), " is not a value of ", std::string(Name(d))));
}

bool IsBoolWord(const Token& word) {
  return word.kind == TokenKind::kIdentifier && (word.text == "true" || word.text == "false");
}

// A bound of a variable whose dtype comes later.
struct BoundWord {
  bool negative = false;
  Token word;
};

absl::StatusOr<BoundWord> ParseBound(Lexer& lexer) {
  const bool negative = lexer.Accept("-");
  const Token word = lexer.current();
  if (!IsLiteralWord(word) && (negative || !IsBoolWord(word))) return lexer.Expected("a literal");
  lexer.Advance();
  return BoundWord{negative, word};
}

// Bounds of float variables are doubles.
absl::StatusOr<Scalar> BoundValue(const Lexer& lexer, const BoundWord& bound, DType d) {
  const std::string_view text = bound.word.text;
  if (d == DType::kBool && IsBoolWord(bound.word)) return Scalar::Bool(text == "true");
  const DType as = dtype::IsFloat(d) ? DType::kFloat64 : d;
  const std::optional<Scalar> v = ParseLiteral(bound.negative, text, as);
  if (!v.has_value()) return NotAValue(lexer, bound.word, d);
  return *v;
}

}  // namespace

bool IsLiteralWord(const Token& word) {
  return word.kind == TokenKind::kNumber ||
         (word.kind == TokenKind::kIdentifier && (word.text == "inf" || word.text == "nan"));
}

absl::StatusOr<Operand> ParseLiteralOperand(Graph& g, Lexer& lexer, bool negative) {
  Operand operand = {.negative = negative, .literal = lexer.current()};
  lexer.Advance();
  if (!lexer.current().Is(":") && !lexer.current().Is("#")) return operand;
  KILN_ASSIGN_OR_RETURN(const Suffix suffix, ParseSuffix(lexer));
  KILN_RETURN_IF_ERROR(Resolve(g, lexer, operand, suffix.dtype.value_or(DType::kIndex)));
  Ref untagged = operand.node;
  operand.node = g.Make(Op::kConst, untagged->dtype, {}, untagged->arg, suffix.tag);
  return operand;
}

absl::Status Resolve(Graph& g, const Lexer& lexer, Operand& operand, DType d) {
  if (operand.node != nullptr) return absl::OkStatus();
  const std::optional<Scalar> v = ParseLiteral(operand.negative, operand.literal.text, d);
  if (!v.has_value()) return NotAValue(lexer, operand.literal, d);
  operand.node = g.Const(d, *v);
  return absl::OkStatus();
}

absl::Status ResolveAll(Graph& g, const Lexer& lexer, Op op, absl::Span<Operand> operands) {
  const auto first = static_cast<size_t>(FirstAlike(op));
  DType common = DType::kIndex;
  for (size_t i = operands.size(); IsAlu(op) && i-- > first;) {
    if (operands[i].node != nullptr) common = operands[i].node->dtype;
  }
  for (size_t i = 0; i < operands.size(); ++i) {
    KILN_RETURN_IF_ERROR(Resolve(g, lexer, operands[i], i < first ? DType::kIndex : common));
  }
  return absl::OkStatus();
}

absl::StatusOr<Ref> ParseVariable(Graph& g, Lexer& lexer, const Token& name) {
  BoundWord words[2];
  const bool bounded = lexer.Accept("[");
  if (bounded) {
    KILN_ASSIGN_OR_RETURN(words[0], ParseBound(lexer));
    if (!lexer.Accept(",")) return lexer.Expected("','");
    KILN_ASSIGN_OR_RETURN(words[1], ParseBound(lexer));
    if (!lexer.Accept("]")) return lexer.Expected("']'");
  }
  KILN_ASSIGN_OR_RETURN(const Suffix suffix, ParseSuffix(lexer));
  const DType d = suffix.dtype.value_or(DType::kIndex);
  if (d == DType::kVoid) return lexer.ErrorAt(name, "a variable of dtype void");
  int64_t bits[2] = {0, 0};
  for (int i = 0; bounded && i < 2; ++i) {
    KILN_ASSIGN_OR_RETURN(const Scalar v, BoundValue(lexer, words[i], d));
    bits[i] = v.AsInt();
  }
  const std::string_view text = name.text == "_" ? "" : name.text;
  return g.Make(Op::kVariable, d, {}, g.PayloadArg(text, bits), suffix.tag);
}

absl::StatusOr<Suffix> ParseSuffix(Lexer& lexer) {
  Suffix suffix;
  if (lexer.Accept(":")) {
    suffix.dtype = dtype::ParseDType(lexer.current().text);
    if (!suffix.dtype.has_value()) return lexer.Expected("a dtype");
    lexer.Advance();
  }
  KILN_ASSIGN_OR_RETURN(suffix.tag, ParseTag(lexer));
  return suffix;
}

absl::StatusOr<uint8_t> ParseTag(Lexer& lexer) {
  if (!lexer.Accept("#")) return 0;
  std::optional<Scalar> v;
  if (lexer.current().kind == TokenKind::kNumber) {
    v = ParseLiteral(/*negative=*/false, lexer.current().text, DType::kUInt8);
  }
  if (!v.has_value()) return lexer.Expected("a tag from 0 to 255");
  lexer.Advance();
  return static_cast<uint8_t>(v->AsInt());
}

std::string Shown(const Token& word) { return std::string(word.text.substr(0, 40)); }

}  // namespace kiln::uop::internal
