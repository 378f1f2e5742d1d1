#include "core/uop/parse_arg.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/dtype/status.h"
#include "core/uop/syntax.h"

namespace kiln::uop::internal {
namespace {

absl::StatusOr<int64_t> AddressSpaceWord(Lexer& lexer) {
  for (int space = 0; space < kNumAddressSpaces; ++space) {
    if (lexer.current().text != kAddressSpaceNames[space]) continue;
    lexer.Advance();
    return space;
  }
  return lexer.Expected("global, local or reg");
}

// The `i`-th integer, or the word that stands for it.
absl::StatusOr<int64_t> Entry(Lexer& lexer, Op op, size_t i) {
  if (op == Op::kRange && i == 1) {
    KILN_ASSIGN_OR_RETURN(const AxisType type, ParseAxisType(lexer));
    return static_cast<int64_t>(type);
  }
  if (op == Op::kParam && i == 2) return AddressSpaceWord(lexer);
  const bool negative = lexer.Accept("-");
  std::optional<Scalar> v;
  if (lexer.current().kind == TokenKind::kNumber) {
    v = ParseLiteral(negative, lexer.current().text, DType::kIndex);
  }
  if (!v.has_value()) return lexer.Expected("an int64");
  lexer.Advance();
  return v->AsInt();
}

absl::StatusOr<Arg> ReduceArgument(const Lexer& lexer, const Token& brace, Op by,
                                   absl::Span<const int64_t> ints) {
  uint32_t axes = 0;
  for (int64_t axis : ints) {
    if (axis < 0 || axis > 31) {
      return lexer.ErrorAt(brace, absl::StrCat("axis ", axis, " is not one of 0 to 31"));
    }
    axes |= uint32_t{1} << axis;
  }
  return Arg::Of(ReduceArg{by, axes});
}

absl::StatusOr<Arg> IntegerArgument(const Lexer& lexer, const Token& brace, Op op,
                                    absl::Span<const int64_t> ints) {
  if (Info(op).arg == ArgKind::kInt) {
    if (ints.size() == 1) return Arg::Int(ints[0]);
    return lexer.ErrorAt(brace,
                         absl::StrCat("the arg of ", std::string(Name(op)), " is one integer"));
  }
  if (ints.size() == 2 && ints[0] >= INT32_MIN && ints[0] <= INT32_MAX) {
    return Arg::Of(RangeArg{static_cast<int32_t>(ints[0]), static_cast<AxisType>(ints[1])});
  }
  return lexer.ErrorAt(brace,
                       "the arg of range is an axis id, which is an int32, and an axis type");
}

}  // namespace

absl::StatusOr<AxisType> ParseAxisType(Lexer& lexer) {
  for (int type = 0; type < kNumAxisTypes; ++type) {
    if (lexer.current().text != kAxisTypeNames[type]) continue;
    lexer.Advance();
    return static_cast<AxisType>(type);
  }
  return lexer.Expected("an axis type");
}

absl::StatusOr<Arg> ParseArgument(Graph& g, Lexer& lexer, Op op) {
  const ArgKind kind = Info(op).arg;
  const Token brace = lexer.current();
  if (!lexer.Accept("{")) {
    if (kind == ArgKind::kNone) return Arg();
    if (kind == ArgKind::kPayload) return g.PayloadArg("", {});
    return lexer.Expected("'{' and the arg");
  }
  if (kind == ArgKind::kNone) {
    return lexer.ErrorAt(brace, absl::StrCat(std::string(Name(op)), " takes no arg"));
  }

  // The first entry may be a word or a text, the others are integers.
  std::optional<Op> by;
  std::string text;
  bool first = false;
  if (kind == ArgKind::kReduce) {
    by = ParseOp(lexer.current().text);
    if (by != Op::kAdd && by != Op::kMul && by != Op::kMax) {
      return lexer.Expected("add, mul or max");
    }
    lexer.Advance();
  } else if (kind == ArgKind::kPayload && lexer.current().kind == TokenKind::kString) {
    const std::optional<std::string> s = Unquote(lexer.current().text);
    if (!s.has_value()) return lexer.Expected("a text whose escapes are \\\", \\\\ and \\x0a");
    text = *s;
    lexer.Advance();
  } else {
    first = true;
  }
  std::vector<int64_t> ints;
  while (!lexer.Accept("}")) {
    if (!first && !lexer.Accept(",")) return lexer.Expected("',' or '}'");
    first = false;
    KILN_ASSIGN_OR_RETURN(const int64_t entry, Entry(lexer, op, ints.size()));
    ints.push_back(entry);
  }
  switch (kind) {
    case ArgKind::kPayload:
      return g.PayloadArg(text, ints);
    case ArgKind::kReduce:
      return ReduceArgument(lexer, brace, *by, ints);
    default:
      return IntegerArgument(lexer, brace, op, ints);
  }
}

}  // namespace kiln::uop::internal
