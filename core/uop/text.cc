#include "core/uop/text.h"

#include <utility>

#include "absl/strings/str_cat.h"

#include "core/uop/graph.h"
#include "core/uop/syntax.h"
#include "core/uop/text_names.h"

namespace kiln::uop {
namespace {

using internal::Names;

// Writes expressions with a stack of what is still to be written.
class Printer {
 public:
  explicit Printer(Names names, size_t max_chars = std::string::npos, int max_depth = -1)
      : names_(std::move(names)), max_chars_(max_chars), max_depth_(max_depth) {}

  void Write(std::string_view text) { out_.append(text); }
  // The expression of `n`, even if it has a name.
  void Define(Ref n) {
    Expression(n, 0);
    Drain();
  }
  void Mention(Ref n) {
    Push({.node = n});
    Drain();
  }
  std::string Take() { return std::move(out_); }

 private:
  enum class What : uint8_t { kOperand, kInParentheses, kBareLiteral, kTypedLiteral, kEnding };
  struct Item {
    Ref node = nullptr;     // Null: `text`.
    std::string_view text;  // Static.
    What what = What::kOperand;
    int depth = 0;
  };
  void Push(Item item) { stack_.push_back(item); }

  void Drain() {
    while (!stack_.empty()) {
      if (out_.size() > max_chars_) break;
      const Item item = stack_.back();
      stack_.pop_back();
      if (item.node == nullptr) {
        Write(item.text);
      } else if (item.what == What::kEnding) {
        Ending(item.node);
      } else {
        Operand(item);
      }
    }
    if (out_.size() > max_chars_) {
      stack_.clear();
      out_.resize(max_chars_);
      Write("...");
    }
  }

  void Operand(const Item& item) {
    Ref n = item.node;
    if (const std::optional<uint32_t> k = names_.NumberOf(n)) {
      absl::StrAppend(&out_, "%", *k);
    } else if (n->IsConst()) {
      Constant(n, item.what);
    } else if (names_.HasOwnName(n)) {
      OwnName(n, item.depth);
    } else if (item.depth == max_depth_) {
      Write("...");
    } else if (item.what == What::kInParentheses) {
      Write("(");
      Push({.text = ")"});
      Expression(n, item.depth);
    } else {
      Expression(n, item.depth);
    }
  }

  // ** leaves **

  void Constant(Ref n, What what) {
    if (n->dtype == DType::kBool) {
      Write(n->arg.scalar().AsBool() ? "true" : "false");
    } else {
      Write(internal::LiteralText(n->arg.scalar(), n->dtype));
      const bool implied = n->dtype == DType::kIndex && n->tag == 0 && what != What::kTypedLiteral;
      if (!implied && what != What::kBareLiteral) {
        absl::StrAppend(&out_, ":", std::string(dtype::Name(n->dtype)));
      }
    }
    Tag(n);
  }

  void OwnName(Ref n, int depth) {
    const bool first = !std::exchange(mentioned_[n], true);
    Write(n->op == Op::kRange ? internal::RangeName(n->arg.range().axis_id)
                              : std::string(n->arg.payload().text));
    if (!first) return;
    if (n->op == Op::kVariable) return VariableBounds(n);
    if (n->op == Op::kRange && n->arg.range().type != AxisType::kLoop) {
      Write(".");
      Write(kAxisTypeNames[static_cast<int>(n->arg.range().type)]);
    }
    Write(":");
    Ref end = n->src(0);
    const bool closed = internal::IsLiteral(end) || names_.NumberOf(end).has_value();
    if (!closed) {
      Write("(");
      Push({.text = ")"});
    }
    Push({.node = end, .depth = depth + 1});
  }

  void VariableBounds(Ref n) {
    const auto [name, min, max] = VariableOf(n);
    const auto bound = [n](Scalar v) {
      if (n->dtype == DType::kBool) return std::string(v.AsBool() ? "true" : "false");
      std::string s =
          internal::LiteralText(v, dtype::IsFloat(n->dtype) ? DType::kFloat64 : n->dtype);
      if (s.ends_with(".0")) s.resize(s.size() - 2);
      return s;
    };
    if (!name.empty() || min.bits() != 0 || max.bits() != 0) {
      absl::StrAppend(&out_, "[", bound(min), ",", bound(max), "]");
    }
    Ending(n);
  }

  // ** inner nodes **

  void Expression(Ref n, int depth) {
    if (n->IsConst()) return Constant(n, What::kOperand);
    if (names_.HasOwnName(n)) return OwnName(n, depth);
    if (n->op == Op::kVariable && VariableOf(n).name.empty()) {
      Write("_");
      return VariableBounds(n);
    }
    if (!internal::PrecedenceOf(n).has_value()) return Function(n, depth);
    if (n->op == Op::kNeg) {
      Write("-");
      return PushSource(n, 0, depth);
    }
    PushSource(n, 1, depth);
    Push({.text = " "});
    Push({.text = internal::InfixOf(n->op, n->dtype)->text});
    Push({.text = " "});
    PushSource(n, 0, depth);
  }

  void Function(Ref n, int depth) {
    Write(Name(n->op));
    const bool has_arg = Argument(n);
    Push({.node = n, .what = What::kEnding});
    if (n->num_src == 0 && has_arg) return;
    Push({.text = ")"});
    int last = n->num_src - 1;
    if (max_depth_ >= 0 && last > kMaxShown) {
      Push({.text = ", ..."});
      last = kMaxShown;
    }
    for (int i = last; i >= 0; --i) {
      PushSource(n, i, depth);
      if (i > 0) Push({.text = ", "});
    }
    Push({.text = "("});
  }

  void PushSource(Ref n, int i, int depth) {
    Ref s = n->src(i);
    What what = What::kOperand;
    if (internal::IsLiteral(s)) {
      if (IsAlu(n->op) && i >= internal::FirstAlike(n->op)) {
        what = LiteralsAreBare(n) ? What::kBareLiteral : What::kTypedLiteral;
      }
    } else if (internal::PrecedenceOf(n).has_value() && internal::PrecedenceOf(s).has_value() &&
               internal::NeedsParentheses(n, i)) {
      what = What::kInParentheses;
    }
    Push({.node = s, .what = what, .depth = depth + 1});
  }

  // Whether the literals among the operands of `n` go without dtype: they all have that of the
  // first operand that is none.
  static bool LiteralsAreBare(Ref n) {
    const int first = internal::FirstAlike(n->op);
    DType common = DType::kIndex;
    for (int k = n->num_src - 1; k >= first; --k) {
      if (!internal::IsLiteral(n->src(k))) common = n->src(k)->dtype;
    }
    for (int k = first; k < n->num_src; ++k) {
      if (internal::IsLiteral(n->src(k)) && n->src(k)->dtype != common) return false;
    }
    return true;
  }

  // ** parts **

  // {...}; returns whether there was anything to write.
  bool Argument(Ref n) {
    std::string s;
    const auto add = [&s](const auto& part) { absl::StrAppend(&s, s.empty() ? "{" : ", ", part); };
    switch (Info(n->op).arg) {
      case ArgKind::kNone:
      case ArgKind::kScalar:
        break;
      case ArgKind::kInt:
        add(n->arg.integer());
        break;
      case ArgKind::kRange:
        add(n->arg.range().axis_id);
        add(std::string(kAxisTypeNames[static_cast<int>(n->arg.range().type)]));
        break;
      case ArgKind::kReduce:
        add(std::string(Name(n->arg.reduce().op)));
        for (int axis = 0; axis < 32; ++axis) {
          if ((n->arg.reduce().axes >> axis & 1) != 0) add(axis);
        }
        break;
      case ArgKind::kPayload: {
        const Payload& p = n->arg.payload();
        if (!p.text.empty()) add(internal::Quote(p.text));
        const bool param = n->op == Op::kParam;
        for (int64_t v : p.ints.subspan(0, param ? 2 : p.ints.size())) add(v);
        if (param) add(std::string(kAddressSpaceNames[p.ints[2]]));
        break;
      }
    }
    if (s.empty()) return false;
    out_ += s;
    out_ += '}';
    return true;
  }

  void Ending(Ref n) {
    if (n->dtype != internal::ImpliedDType(n->op, n->src())) {
      absl::StrAppend(&out_, ":", std::string(dtype::Name(n->dtype)));
    }
    Tag(n);
  }
  void Tag(Ref n) {
    if (n->tag != 0) absl::StrAppend(&out_, "#", int{n->tag});
  }

  // Sources of one node that an excerpt shows.
  static constexpr int kMaxShown = 7;

  Names names_;
  const size_t max_chars_;
  const int max_depth_;  // Of an excerpt; -1: no limit.
  NodeMap<bool> mentioned_;
  std::vector<Item> stack_;
  std::string out_;
};

}  // namespace

std::string ToText(absl::Span<const Ref> roots, Layout layout) {
  Names names(roots);
  const std::vector<Ref> named = names.named();
  Printer printer(std::move(names));
  for (size_t k = 0; k < named.size(); ++k) {
    printer.Write(absl::StrCat("%", k, " = "));
    printer.Define(named[k]);
    printer.Write(layout == Layout::kLine ? "; " : ";\n");
  }
  for (size_t i = 0; i < roots.size(); ++i) {
    if (i > 0) printer.Write(", ");
    printer.Mention(roots[i]);
  }
  return printer.Take();
}

std::string Excerpt(Ref n, size_t max_chars) {
  constexpr int kMaxDepth = 4;
  Printer printer(Names(), max_chars, kMaxDepth);
  printer.Mention(n);
  return printer.Take();
}

}  // namespace kiln::uop
