#include "tests/replay/render_parse.h"

#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include "core/dtype/cast.h"
#include "core/dtype/status.h"
#include "core/uop/walk.h"

namespace kiln::replay {
namespace {

constexpr int kMaxDepth = 500;

// What a piece of text says, before the dtypes of its constants are known. Children have smaller
// numbers.
struct Term {
  Op op = Op::kConst;
  std::vector<int> src = {};
  std::optional<DType> dtype = {};  // Known from a leaf, a cast, or what it is made of.
  Ref leaf = nullptr;
  // Of a constant: an integer, or a float if has_point.
  Int128 integer = 0;
  double number = 0;
  bool has_point = false;
};

class Reader {
 public:
  Reader(absl::string_view text, const std::map<std::string, Ref>& leaves)
      : text_(text), leaves_(leaves) {}

  absl::Status ReadAll() {
    KILN_RETURN_IF_ERROR(Expression(0).status());
    return pos_ == text_.size() ? absl::OkStatus() : Unexpected("the end");
  }
  std::vector<Term>& terms() { return terms_; }

 private:
  absl::Status Unexpected(absl::string_view want) const {
    return absl::InvalidArgumentError(
        absl::StrCat("want ", want, " at character ", pos_, " of ", text_.substr(0, 200)));
  }
  bool Eat(absl::string_view token) {
    if (text_.substr(pos_, token.size()) != token) return false;
    pos_ += token.size();
    return true;
  }
  absl::Status Expect(absl::string_view token) {
    return Eat(token) ? absl::OkStatus() : Unexpected(token);
  }
  char Peek(size_t ahead = 0) const {
    return pos_ + ahead < text_.size() ? text_[pos_ + ahead] : '\0';
  }
  int Add(Term term) {
    terms_.push_back(std::move(term));
    return static_cast<int>(terms_.size()) - 1;
  }
  int Add(Op op, std::vector<int> src) { return Add(Term{.op = op, .src = std::move(src)}); }

  absl::StatusOr<int> Expression(int depth);
  absl::StatusOr<int> Word(int depth);
  absl::StatusOr<int> Number();
  absl::StatusOr<int> Parenthesis(int depth);
  absl::StatusOr<int> Rest(int first, int depth);
  std::optional<Op> BinaryOp();

  absl::string_view text_;
  const std::map<std::string, Ref>& leaves_;
  size_t pos_ = 0;
  std::vector<Term> terms_;
};

bool IsWordChar(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

absl::StatusOr<int> Reader::Number() {
  const size_t begin = pos_;
  if (Peek() == '-') ++pos_;
  bool has_point = false;
  if (Eat("inf") || Eat("nan")) {
    has_point = true;
  } else {
    while (IsDigit(Peek())) ++pos_;
    if (Peek() == '.' || Peek() == 'e') has_point = true;
    if (has_point) {
      while (IsDigit(Peek()) || Peek() == '.' || Peek() == 'e' ||
             ((Peek() == '-' || Peek() == '+') && text_[pos_ - 1] == 'e')) {
        ++pos_;
      }
    }
  }
  const absl::string_view digits = text_.substr(begin, pos_ - begin);
  Term term{.has_point = has_point};
  absl::int128 integer = 0;
  if (has_point ? !absl::SimpleAtod(digits, &term.number) : !absl::SimpleAtoi(digits, &integer)) {
    return Unexpected("a number");
  }
  term.integer = static_cast<Int128>(integer);
  return Add(std::move(term));
}

absl::StatusOr<int> Reader::Word(int depth) {
  const size_t begin = pos_;
  while (IsWordChar(Peek())) ++pos_;
  const std::string word(text_.substr(begin, pos_ - begin));
  if (word == "max" && Eat("(")) {
    KILN_ASSIGN_OR_RETURN(const int a, Expression(depth));
    KILN_RETURN_IF_ERROR(Expect(", "));
    KILN_ASSIGN_OR_RETURN(const int b, Expression(depth));
    KILN_RETURN_IF_ERROR(Expect(")"));
    return Add(Op::kMax, {a, b});
  }
  if (word == "True" || word == "False") {
    return Add(Term{.dtype = DType::kBool, .integer = word == "True"});
  }
  if (const auto leaf = leaves_.find(word); leaf != leaves_.end()) {
    return Add(Term{.op = leaf->second->op, .dtype = leaf->second->dtype, .leaf = leaf->second});
  }
  pos_ = begin;
  if (word == "inf" || word == "nan") return Number();
  return Unexpected(absl::StrCat("a known name, not \"", word, "\","));
}

absl::StatusOr<int> Reader::Expression(int depth) {
  if (depth > kMaxDepth) return Unexpected("less nesting");
  if (Eat("(")) return Parenthesis(depth + 1);
  if (IsDigit(Peek()) || Peek() == '-') return Number();
  if (IsWordChar(Peek())) return Word(depth + 1);
  return Unexpected("an expression");
}

std::optional<Op> Reader::BinaryOp() {
  // Longer ones first.
  static constexpr std::pair<absl::string_view, Op> kOps[] = {
      {"//", Op::kIDiv}, {"<<", Op::kShl}, {">>", Op::kShr}, {"!=", Op::kCmpNe}, {"==", Op::kCmpEq},
      {"+", Op::kAdd},   {"*", Op::kMul},  {"-", Op::kSub},  {"%", Op::kMod},    {"<", Op::kCmpLt},
      {"&", Op::kAnd},   {"|", Op::kOr},   {"^", Op::kXor},  {"/", Op::kFDiv}};
  for (const auto& [token, op] : kOps) {
    if (Eat(token)) return op;
  }
  return std::nullopt;
}

// After "(": a cast, a negation, a reciprocal, or something that begins with an expression.
absl::StatusOr<int> Reader::Parenthesis(int depth) {
  for (int i = 0; i < dtype::kNumDTypes; ++i) {
    const DType d = static_cast<DType>(i);
    if (!Eat(absl::StrCat(std::string(dtype::ShortName(d)), ")("))) continue;
    KILN_ASSIGN_OR_RETURN(const int x, Expression(depth));
    KILN_RETURN_IF_ERROR(Expect(")"));
    return Add(Term{.op = Op::kCast, .src = {x}, .dtype = d});
  }
  const bool is_negation = Peek() == '-' && !IsDigit(Peek(1));
  if (is_negation && Eat("-")) {
    KILN_ASSIGN_OR_RETURN(const int x, Expression(depth));
    KILN_RETURN_IF_ERROR(Expect(")"));
    return Add(Op::kNeg, {x});
  }
  if (text_.substr(pos_, 2) == "1/" && Peek(2) != '/') {
    pos_ += 2;
    KILN_ASSIGN_OR_RETURN(const int x, Expression(depth));
    KILN_RETURN_IF_ERROR(Expect(")"));
    return Add(Op::kRecip, {x});
  }
  KILN_ASSIGN_OR_RETURN(const int first, Expression(depth));
  return Rest(first, depth);
}

// After "(first": a conditional, a vector constant, a binary op, or a*b+c.
absl::StatusOr<int> Reader::Rest(int first, int depth) {
  if (Eat(" if ")) {
    KILN_ASSIGN_OR_RETURN(const int condition, Expression(depth));
    KILN_RETURN_IF_ERROR(Expect(" else "));
    KILN_ASSIGN_OR_RETURN(const int otherwise, Expression(depth));
    KILN_RETURN_IF_ERROR(Expect(")"));
    return Add(Op::kWhere, {condition, first, otherwise});
  }
  if (Peek() == ',') {
    std::vector<int> lanes = {first};
    while (Eat(", ")) {
      KILN_ASSIGN_OR_RETURN(const int lane, Expression(depth));
      lanes.push_back(lane);
    }
    KILN_RETURN_IF_ERROR(Expect(")"));
    return Add(Op::kStack, std::move(lanes));
  }
  const std::optional<Op> op = BinaryOp();
  if (!op.has_value()) return Unexpected("an operator");
  KILN_ASSIGN_OR_RETURN(const int second, Expression(depth));
  if (*op == Op::kMul && Eat("+")) {
    KILN_ASSIGN_OR_RETURN(const int third, Expression(depth));
    KILN_RETURN_IF_ERROR(Expect(")"));
    return Add(Op::kMulAcc, {first, second, third});
  }
  KILN_RETURN_IF_ERROR(Expect(")"));
  return Add(*op, {first, second});
}

// The sources of `t` whose dtype is one.
absl::Span<const int> Operands(const Term& t) {
  if (t.op == Op::kCast) return {};
  const absl::Span<const int> src = t.src;
  return t.op == Op::kWhere ? src.subspan(1) : src;
}

// Gives every term a dtype: upwards from the leaves, then downwards to the constants.
void InferDTypes(std::vector<Term>& terms, DType of_root) {
  for (Term& t : terms) {
    std::optional<DType> operands;
    for (int s : Operands(t)) {
      if (terms[s].dtype.has_value()) operands = terms[s].dtype;
    }
    if (t.dtype.has_value()) continue;
    t.dtype = uop::IsComparison(t.op) ? DType::kBool : operands;
  }
  if (!terms.back().dtype.has_value()) terms.back().dtype = of_root;
  for (size_t i = terms.size(); i-- > 0;) {
    const Term& t = terms[i];
    std::optional<DType> operands;
    if (!uop::IsComparison(t.op)) operands = t.dtype;
    for (int s : Operands(t)) {
      if (terms[s].dtype.has_value()) operands = terms[s].dtype;
    }
    for (int s : t.src) {
      if (terms[s].dtype.has_value()) continue;
      const bool is_float = terms[s].has_point;
      terms[s].dtype = operands.value_or(is_float ? DType::kFloat32 : DType::kIndex);
    }
  }
}

absl::StatusOr<Ref> ToConstant(Graph& g, const Term& t) {
  const DType d = *t.dtype;
  if (d == DType::kVoid) return absl::InvalidArgumentError("a constant without a dtype");
  if (dtype::IsFloat(d)) {
    const double v = t.has_point ? t.number : static_cast<double>(t.integer);
    return g.Const(d, Scalar::Float(dtype::RoundToFloat(v, d)));
  }
  if (t.has_point) return absl::InvalidArgumentError("a float among integers");
  const std::optional<Scalar> v = dtype::WrapInteger(t.integer, d);
  if (!v.has_value()) return absl::InvalidArgumentError("a constant beyond int64");
  return g.Const(d, *v);
}

}  // namespace

std::map<std::string, Ref> LeavesByName(absl::Span<const Ref> roots) {
  std::map<std::string, Ref> leaves;
  for (Ref n : uop::Toposort(roots)) {
    if (n->Is(Op::kVariable) || n->Is(Op::kSpecial)) {
      leaves[std::string(n->arg.payload().text)] = n;
    } else if (n->Is(Op::kRange)) {
      const int64_t id = n->arg.range().axis_id;
      leaves[id < 0 ? absl::StrCat("ridxm", -id) : absl::StrCat("ridx", id)] = n;
    }
  }
  return leaves;
}

absl::StatusOr<Ref> ParseRendered(Graph& g, absl::string_view text,
                                  const std::map<std::string, Ref>& leaves, DType dtype) {
  Reader reader(text, leaves);
  KILN_RETURN_IF_ERROR(reader.ReadAll());
  std::vector<Term>& terms = reader.terms();
  InferDTypes(terms, dtype);
  std::vector<Ref> nodes;
  for (const Term& t : terms) {
    if (t.leaf != nullptr) {
      nodes.push_back(t.leaf);
      continue;
    }
    if (t.op == Op::kConst) {
      KILN_ASSIGN_OR_RETURN(Ref constant, ToConstant(g, t), _ << std::string(text));
      nodes.push_back(constant);
      continue;
    }
    std::vector<Ref> src;
    for (int s : t.src) src.push_back(nodes[s]);
    for (int s : Operands(t)) {
      const DType want = uop::IsComparison(t.op) ? *terms[t.src[0]].dtype : *t.dtype;
      if (*terms[s].dtype != want) {
        return absl::InvalidArgumentError(absl::StrCat("operands of different dtypes in ", text));
      }
    }
    if (t.op == Op::kWhere && src[0]->dtype != DType::kBool) {
      return absl::InvalidArgumentError(absl::StrCat("a condition that is no bool in ", text));
    }
    nodes.push_back(g.Make(t.op, *t.dtype, src));
  }
  return nodes.back();
}

}  // namespace kiln::replay
