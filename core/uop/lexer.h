// Words of the text form. For parse.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace kiln::uop::internal {

enum class TokenKind : uint8_t {
  kEnd,
  kIdentifier,
  kNumber,  // Without sign.
  kString,  // The quotes included.
  kName,    // %name
  kSymbol,  // An operator or a punctuation mark.
  kBad,     // A byte that starts no word, or a string without end.
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string_view text;  // Borrowed from the input.
  size_t offset = 0;

  bool Is(std::string_view symbol) const { return kind == TokenKind::kSymbol && text == symbol; }
};

// Thread-compatible. A cursor over the words of a text, with one word of lookahead beyond the
// current one.
class Lexer {
 public:
  // `text` is borrowed.
  explicit Lexer(std::string_view text) : text_(text) { Advance(), Advance(); }

  const Token& current() const { return current_; }
  const Token& next() const { return next_; }
  void Advance();
  // Goes past `symbol` if it is the current word.
  bool Accept(std::string_view symbol);

  // Where an operator must follow, a current word %4 is the operator % and the word 4.
  void SplitName();

  // InvalidArgument: where the current word is, what was expected, and what there is.
  absl::Status Expected(std::string_view what) const;
  // The same for a word that is well formed but wrong.
  absl::Status ErrorAt(const Token& token, std::string_view message) const;

 private:
  Token Scan();

  std::string_view text_;
  size_t offset_ = 0;
  Token current_, next_;
};

// The contents of a string token. Null if an escape is malformed or a character needs one.
std::optional<std::string> Unquote(std::string_view token);

}  // namespace kiln::uop::internal
