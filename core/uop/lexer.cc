#include "core/uop/lexer.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

#include "core/uop/syntax.h"

namespace kiln::uop::internal {
namespace {

constexpr bool IsSpace(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

// The length of the longest prefix of `s`, from `begin`, whose characters satisfy `is`.
template <typename Is>
size_t Span(std::string_view s, size_t begin, Is is) {
  size_t end = begin;
  while (end < s.size() && is(s[end])) ++end;
  return end;
}

size_t NumberLength(std::string_view s) {
  size_t end = Span(s, 0, IsDigit);
  if (end + 1 < s.size() && s[end] == '.' && IsDigit(s[end + 1])) end = Span(s, end + 1, IsDigit);
  if (end < s.size() && (s[end] == 'e' || s[end] == 'E')) {
    size_t digits = end + 1;
    if (digits < s.size() && (s[digits] == '+' || s[digits] == '-')) ++digits;
    if (digits < s.size() && IsDigit(s[digits])) end = Span(s, digits, IsDigit);
  }
  return end;
}

// Null if the quote is not closed on its line.
std::optional<size_t> StringLength(std::string_view s) {
  for (size_t i = 1; i < s.size() && s[i] != '\n'; ++i) {
    if (s[i] == '"') return i + 1;
    if (s[i] == '\\') ++i;
  }
  return std::nullopt;
}

std::optional<char> HexDigit(char c) {
  if (IsDigit(c)) return static_cast<char>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<char>(c - 'a' + 10);
  return std::nullopt;
}

}  // namespace

Token Lexer::Scan() {
  offset_ = Span(text_, offset_, IsSpace);
  const std::string_view rest = text_.substr(offset_);
  const auto take = [this, rest](TokenKind kind, size_t length) {
    const Token token = {kind, rest.substr(0, length), offset_};
    offset_ += length;
    return token;
  };
  const auto is_word = [](char c) { return IsLetter(c) || IsDigit(c); };
  if (rest.empty()) return take(TokenKind::kEnd, 0);
  if (IsLetter(rest[0])) return take(TokenKind::kIdentifier, Span(rest, 0, is_word));
  if (IsDigit(rest[0])) return take(TokenKind::kNumber, NumberLength(rest));
  if (rest[0] == '"') {
    const std::optional<size_t> length = StringLength(rest);
    return take(length.has_value() ? TokenKind::kString : TokenKind::kBad, length.value_or(1));
  }
  if (rest[0] == '%' && rest.size() > 1 && is_word(rest[1])) {
    return take(TokenKind::kName, Span(rest, 1, is_word));
  }
  for (std::string_view two : {"<<", ">>", "==", "!="}) {
    if (rest.starts_with(two)) return take(TokenKind::kSymbol, 2);
  }
  const bool symbol =
      std::string_view("+-*/%&|^<=(){}[],;:#.").find(rest[0]) != std::string_view::npos;
  return take(symbol ? TokenKind::kSymbol : TokenKind::kBad, 1);
}

void Lexer::Advance() {
  current_ = next_;
  next_ = Scan();
}

bool Lexer::Accept(std::string_view symbol) {
  if (!current_.Is(symbol)) return false;
  Advance();
  return true;
}

void Lexer::SplitName() {
  if (current_.kind != TokenKind::kName) return;
  offset_ = current_.offset + 1;
  current_ = {TokenKind::kSymbol, current_.text.substr(0, 1), current_.offset};
  next_ = Scan();
}

absl::Status Lexer::Expected(std::string_view what) const {
  if (current_.kind == TokenKind::kEnd) {
    return ErrorAt(current_, absl::StrCat("expected ", std::string(what), " before the end"));
  }
  constexpr size_t kShown = 24;
  const std::string_view found = current_.text.substr(0, kShown);
  return ErrorAt(current_, absl::StrCat("expected ", std::string(what), ", not ", Quote(found)));
}

absl::Status Lexer::ErrorAt(const Token& token, std::string_view message) const {
  const std::string_view before = text_.substr(0, token.offset);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const size_t column = before.size() - (before.rfind('\n') + 1);  // npos + 1 is 0.
  return absl::InvalidArgumentError(
      absl::StrCat("line ", line, ", column ", column + 1, ": ", std::string(message)));
}

std::optional<std::string> Unquote(std::string_view token) {
  std::string s;
  const std::string_view body = token.substr(1, token.size() - 2);
  for (size_t i = 0; i < body.size(); ++i) {
    if (static_cast<unsigned char>(body[i]) < ' ') return std::nullopt;
    if (body[i] != '\\') {
      s += body[i];
      continue;
    }
    if (++i == body.size()) return std::nullopt;
    if (body[i] == '"' || body[i] == '\\') {
      s += body[i];
      continue;
    }
    if (body[i] != 'x' || i + 2 >= body.size()) return std::nullopt;
    const std::optional<char> high = HexDigit(body[i + 1]), low = HexDigit(body[i + 2]);
    if (!high.has_value() || !low.has_value()) return std::nullopt;
    s += static_cast<char>(*high * 16 + *low);
    i += 2;
  }
  return s;
}

}  // namespace kiln::uop::internal
