#include "core/uop/parse.h"

#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"

#include "core/dtype/status.h"
#include "core/uop/lexer.h"
#include "core/uop/parse_arg.h"
#include "core/uop/parse_leaf.h"
#include "core/uop/syntax.h"

namespace kiln::uop {
namespace {

using internal::IsLiteralWord;
using internal::Operand;
using internal::Shown;
using internal::Token;
using internal::TokenKind;

// What is to be done with operands once the words that follow have been read.
struct Pending {
  enum class Kind : uint8_t {
    kInfix,
    kNegate,
    kParentheses,
    kFunction,    // Until its closing parenthesis.
    kCounterEnd,  // The same for the parenthesis of r0:(...).
  };
  Kind kind = Kind::kInfix;
  int precedence = 0;
  Op op = Op::kAdd;          // kFunction.
  Token token;               // The operator, the function's name, or the counter's.
  size_t first_operand = 0;  // kFunction: the operands from here on are its sources.
  Arg arg = {};              // kFunction.
  AxisType axis_type = {};   // kCounterEnd.
};

// Two stacks instead of recursion: operands that are complete, and what waits for more of them.
class Parser {
 public:
  Parser(Graph& g, std::string_view text) : g_(g), lexer_(text) {}

  absl::StatusOr<std::vector<Ref>> Run() {
    while (lexer_.current().kind == TokenKind::kName && lexer_.next().Is("=")) {
      KILN_RETURN_IF_ERROR(Definition());
    }
    std::vector<Ref> roots;
    do {
      KILN_ASSIGN_OR_RETURN(Ref root, Expression());
      roots.push_back(root);
    } while (lexer_.Accept(","));
    if (lexer_.current().kind != TokenKind::kEnd) {
      return lexer_.Expected("an operator, ',' or the end");
    }
    return roots;
  }

 private:
  absl::Status Definition() {
    const Token name = lexer_.current();
    lexer_.Advance();
    lexer_.Advance();
    KILN_ASSIGN_OR_RETURN(Ref value, Expression());
    if (!lexer_.Accept(";")) return lexer_.Expected("an operator or ';'");
    if (!names_.emplace(name.text, value).second) {
      return lexer_.ErrorAt(name, absl::StrCat("there is a ", std::string(name.text), " already"));
    }
    return absl::OkStatus();
  }

  // Stops before the first word that can't go on.
  absl::StatusOr<Ref> Expression() {
    for (;;) {
      KILN_ASSIGN_OR_RETURN(const bool complete, OperandOrOpening());
      if (!complete) continue;
      KILN_ASSIGN_OR_RETURN(const bool more, OperatorsAndClosings());
      if (more) continue;
      if (!pending_.empty()) return lexer_.Expected("an operator, ',' or ')'");
      KILN_RETURN_IF_ERROR(Resolve(g_, lexer_, operands_.back(), DType::kIndex));
      Ref result = operands_.back().node;
      operands_.pop_back();
      return result;
    }
  }

  // ** where an operand begins **; true once it is complete, false if it has been opened only.

  absl::StatusOr<bool> OperandOrOpening() {
    const Token token = lexer_.current();
    if (lexer_.Accept("(")) {
      pending_.push_back({.kind = Pending::Kind::kParentheses, .token = token});
      return false;
    }
    const bool negative = token.Is("-");
    if (IsLiteralWord(negative ? lexer_.next() : token)) {
      if (negative) lexer_.Advance();
      return Literal(negative);
    }
    if (lexer_.Accept("-")) {
      pending_.push_back({.kind = Pending::Kind::kNegate,
                          .precedence = internal::kUnaryPrecedence,
                          .token = token});
      return false;
    }
    if (token.kind == TokenKind::kName) {
      KILN_ASSIGN_OR_RETURN(Ref n, Mention());
      return Done(n);
    }
    if (token.kind != TokenKind::kIdentifier) return lexer_.Expected("an operand");
    lexer_.Advance();
    const Token& after = lexer_.current();
    if (token.text == "true" || token.text == "false") return Bool(token);
    if (token.text == "_" || after.Is("[")) return Variable(token);
    if (after.Is(":") || after.Is(".")) return Counter(token);
    if (after.Is("{") || after.Is("(")) return Function(token);
    const auto owner = owners_.find(token.text);
    if (owner == owners_.end()) {
      return lexer_.ErrorAt(
          token,
          absl::StrCat(Shown(token),
                       " is not known: the first time, a variable has its bounds as in n[0,9], a "
                       "counter its end as in r0:64, and a function its (...)"));
    }
    return Done(owner->second);
  }

  absl::StatusOr<bool> Done(Ref n) {
    operands_.push_back({.node = n});
    return true;
  }

  absl::StatusOr<bool> Literal(bool negative) {
    KILN_ASSIGN_OR_RETURN(const Operand operand, ParseLiteralOperand(g_, lexer_, negative));
    operands_.push_back(operand);
    return true;
  }

  absl::StatusOr<bool> Bool(const Token& word) {
    KILN_ASSIGN_OR_RETURN(const uint8_t tag, internal::ParseTag(lexer_));
    return Done(
        g_.Make(Op::kConst, DType::kBool, {}, Arg::Of(Scalar::Bool(word.text == "true")), tag));
  }

  absl::StatusOr<Ref> Mention() {
    const Token name = lexer_.current();
    const auto known = names_.find(name.text);
    if (known == names_.end()) {
      return lexer_.ErrorAt(name,
                            absl::StrCat("no definition of ", Shown(name), " before its use"));
    }
    lexer_.Advance();
    return known->second;
  }

  // ** variables and counters **

  absl::StatusOr<bool> Variable(const Token& name) {
    KILN_ASSIGN_OR_RETURN(Ref n, internal::ParseVariable(g_, lexer_, name));
    return name.text == "_" || n->tag != 0 ? Done(n) : Owned(name, n);
  }

  // `n` goes by its name from here on.
  absl::StatusOr<bool> Owned(const Token& name, Ref n) {
    if (owners_.emplace(name.text, n).first->second != n) {
      return lexer_.ErrorAt(
          name, absl::StrCat("there is another ", Shown(name), " already: write this one as ",
                             std::string(Name(n->op)), "{...}"));
    }
    return Done(n);
  }

  absl::StatusOr<bool> Counter(const Token& name) {
    AxisType type = AxisType::kLoop;
    if (lexer_.Accept(".")) {
      if (!internal::ParseRangeName(name.text).has_value()) {
        return lexer_.ErrorAt(
            name, absl::StrCat(Shown(name), " is not an axis: write r0, or rm1 for axis -1"));
      }
      KILN_ASSIGN_OR_RETURN(type, internal::ParseAxisType(lexer_));
    }
    if (!lexer_.Accept(":")) return lexer_.Expected("':' and the end");
    if (lexer_.Accept("(")) {
      pending_.push_back({.kind = Pending::Kind::kCounterEnd, .token = name, .axis_type = type});
      return false;
    }
    if (lexer_.current().kind == TokenKind::kName) {
      KILN_ASSIGN_OR_RETURN(Ref end, Mention());
      return FinishCounter(name, type, end);
    }
    const bool negative = lexer_.Accept("-");
    if (!IsLiteralWord(lexer_.current())) return lexer_.Expected("a number, '%name' or '(' as end");
    KILN_RETURN_IF_ERROR(Literal(negative).status());
    KILN_RETURN_IF_ERROR(FinishCounterEnd({.token = name, .axis_type = type}));
    return true;
  }

  // The end is the last operand.
  absl::Status FinishCounterEnd(const Pending& counter) {
    Operand end = operands_.back();
    operands_.pop_back();
    KILN_RETURN_IF_ERROR(Resolve(g_, lexer_, end, DType::kIndex));
    return FinishCounter(counter.token, counter.axis_type, end.node).status();
  }

  absl::StatusOr<bool> FinishCounter(const Token& name, AxisType type, Ref end) {
    if (const std::optional<int32_t> axis = internal::ParseRangeName(name.text)) {
      return Owned(name, g_.Range(end, *axis, type));
    }
    if (internal::IsReserved(name.text)) {
      return lexer_.ErrorAt(name, absl::StrCat(Shown(name), " can't name a launch index"));
    }
    return Owned(name, g_.Special(name.text, end));
  }

  // ** functions **

  absl::StatusOr<bool> Function(const Token& name) {
    const std::optional<Op> op = ParseOp(name.text);
    if (!op.has_value() || *op == Op::kConst) {
      return lexer_.ErrorAt(name, absl::StrCat(Shown(name), " is not an op"));
    }
    Pending f = {.kind = Pending::Kind::kFunction,
                 .op = *op,
                 .token = name,
                 .first_operand = operands_.size()};
    KILN_ASSIGN_OR_RETURN(f.arg, internal::ParseArgument(g_, lexer_, *op));
    if (!lexer_.Accept("(") || lexer_.Accept(")")) return FinishFunction(f);
    pending_.push_back(f);
    return false;
  }

  absl::StatusOr<bool> FinishFunction(const Pending& f) {
    std::vector<Ref> src;
    KILN_RETURN_IF_ERROR(ResolveFrom(f.first_operand, f.op));
    for (size_t i = f.first_operand; i < operands_.size(); ++i) src.push_back(operands_[i].node);
    operands_.resize(f.first_operand);
    KILN_ASSIGN_OR_RETURN(const internal::Suffix suffix, internal::ParseSuffix(lexer_));
    if (src.size() < Info(f.op).min_src || src.size() > static_cast<size_t>(MaxSources(f.op))) {
      const int min = Info(f.op).min_src, max = MaxSources(f.op);
      return lexer_.ErrorAt(f.token, absl::StrCat(std::string(Name(f.op)), " takes ", min,
                                                  min == max ? "" : absl::StrCat(" to ", max),
                                                  " sources, not ", src.size()));
    }
    const std::optional<DType> d =
        suffix.dtype.has_value() ? suffix.dtype : internal::ImpliedDType(f.op, src);
    if (!d.has_value()) {
      return lexer_.ErrorAt(
          f.token, absl::StrCat(std::string(Name(f.op)), "(...) needs a dtype, as in :float32"));
    }
    if (!IsValidArg(f.op, *d, f.arg)) {
      return lexer_.ErrorAt(
          f.token,
          absl::StrCat("the arg of ", std::string(Name(f.op)),
                       " is not one: var needs its least and "
                       "greatest value, param a number, its elements and an address space"));
    }
    return Done(g_.Make(f.op, *d, src, f.arg, suffix.tag));
  }

  // ** where an operand has ended **; true if another must follow.

  absl::StatusOr<bool> OperatorsAndClosings() {
    for (;;) {
      lexer_.SplitName();
      const Token token = lexer_.current();
      if (const std::optional<int> precedence = InfixPrecedence(token)) {
        KILN_RETURN_IF_ERROR(Reduce(*precedence));
        lexer_.Advance();
        pending_.push_back(
            {.kind = Pending::Kind::kInfix, .precedence = *precedence, .token = token});
        return true;
      }
      KILN_RETURN_IF_ERROR(Reduce(0));
      if (pending_.empty()) return false;
      const Pending open = pending_.back();
      if (open.kind == Pending::Kind::kFunction && lexer_.Accept(",")) {
        if (operands_.size() - open.first_operand >= kMaxSources) {
          return lexer_.ErrorAt(open.token, absl::StrCat("more than ", kMaxSources, " sources"));
        }
        return true;
      }
      if (!lexer_.Accept(")")) return false;
      pending_.pop_back();
      if (open.kind == Pending::Kind::kFunction) {
        KILN_RETURN_IF_ERROR(FinishFunction(open).status());
      } else if (open.kind == Pending::Kind::kCounterEnd) {
        KILN_RETURN_IF_ERROR(FinishCounterEnd(open));
      }
    }
  }

  static std::optional<int> InfixPrecedence(const Token& token) {
    if (token.kind != TokenKind::kSymbol) return std::nullopt;
    for (int i = 0; i < dtype::kNumAluOps; ++i) {
      const std::optional<internal::Infix> infix =
          internal::InfixOf(static_cast<Op>(i), DType::kIndex);
      if (infix.has_value() && infix->text == token.text) return infix->precedence;
    }
    return std::nullopt;
  }

  // Applies what waits and binds at least as tightly as `precedence`, which is more than 0 for
  // operators only.
  absl::Status Reduce(int precedence) {
    while (!pending_.empty() && pending_.back().precedence >= std::max(precedence, 1)) {
      const Pending p = pending_.back();
      pending_.pop_back();
      if (p.kind == Pending::Kind::kNegate) {
        KILN_RETURN_IF_ERROR(Resolve(g_, lexer_, operands_.back(), DType::kIndex));
        operands_.back().node = g_.Unary(Op::kNeg, operands_.back().node);
        continue;
      }
      const size_t left = operands_.size() - 2;
      KILN_RETURN_IF_ERROR(ResolveFrom(left, Op::kAdd));
      Ref x = operands_[left].node, y = operands_[left + 1].node;
      operands_.pop_back();
      operands_.back() = {.node = g_.Binary(InfixOp(p.token.text, x->dtype), x, y)};
    }
    return absl::OkStatus();
  }

  static Op InfixOp(std::string_view text, DType operands) {
    int i = 0;
    for (;; ++i) {
      const auto infix = internal::InfixOf(static_cast<Op>(i), operands);
      if (infix.has_value() && infix->text == text) return static_cast<Op>(i);
    }
  }

  absl::Status ResolveFrom(size_t begin, Op op) {
    return internal::ResolveAll(g_, lexer_, op, absl::MakeSpan(operands_).subspan(begin));
  }

  Graph& g_;
  internal::Lexer lexer_;
  std::vector<Operand> operands_;
  std::vector<Pending> pending_;
  absl::flat_hash_map<std::string_view, Ref> names_;   // %name
  absl::flat_hash_map<std::string_view, Ref> owners_;  // Variables and counters, by their own name.
};

}  // namespace

absl::StatusOr<std::vector<Ref>> ParseRoots(Graph& g, std::string_view text) {
  return Parser(g, text).Run();
}

absl::StatusOr<Ref> Parse(Graph& g, std::string_view text) {
  KILN_ASSIGN_OR_RETURN(const std::vector<Ref> roots, ParseRoots(g, text));
  if (roots.size() != 1) {
    return absl::InvalidArgumentError(absl::StrCat("expected one root, got ", roots.size()));
  }
  return roots[0];
}

}  // namespace kiln::uop
