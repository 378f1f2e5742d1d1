#include "core/symbolic/render.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace kiln::symbolic {
namespace {

// How an op with a notation is written: '\1' to '\3' stand for its sources, '\4' for its dtype.
// Empty if it has none.
constexpr std::string_view Notation(Op op) {
  switch (op) {
    case Op::kCast:
      return "(\4)(\1)";
    case Op::kNeg:
      return "(-\1)";
    case Op::kRecip:
      return "(1/\1)";
    case Op::kAdd:
      return "(\1+\2)";
    case Op::kSub:
      return "(\1-\2)";
    case Op::kMul:
      return "(\1*\2)";
    case Op::kIDiv:
      return "(\1//\2)";
    case Op::kMod:
      return "(\1%\2)";
    case Op::kMax:
      return "max(\1, \2)";
    case Op::kCmpLt:
      return "(\1<\2)";
    case Op::kCmpNe:
      return "(\1!=\2)";
    case Op::kAnd:
      return "(\1&\2)";
    case Op::kOr:
      return "(\1|\2)";
    case Op::kXor:
      return "(\1^\2)";
    case Op::kShl:
      return "(\1<<\2)";
    case Op::kShr:
      return "(\1>>\2)";
    case Op::kWhere:
      return "(\2 if \1 else \3)";
    case Op::kMulAcc:
      return "(\1*\2+\3)";
    case Op::kBind:
      return "\1";
    default:
      return {};
  }
}

std::string RenderFloat(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  char text[32];
  const char* end = std::to_chars(text, text + sizeof(text), v, std::chars_format::scientific).ptr;
  const std::string_view shortest(text, end - text);  // d.ddde+xx
  const size_t e = shortest.find('e');
  const int exponent = std::atoi(std::string(shortest.substr(e + 1)).c_str());
  if (exponent < -4 || exponent >= 16) return std::string(shortest);
  end = std::to_chars(text, text + sizeof(text), v, std::chars_format::fixed).ptr;
  std::string result(text, end - text);
  if (result.find('.') == std::string::npos) result += ".0";
  return result;
}

// Text of a node without sources, or of one whose sources don't show. Empty if it is not one.
std::string Leaf(Ref n) {
  switch (n->op) {
    case Op::kConst:
      return RenderScalar(n->arg.scalar(), n->dtype);
    case Op::kVariable:
      return std::string(uop::VariableOf(n).name);
    case Op::kSpecial:
      return std::string(n->arg.payload().text);
    case Op::kRange: {
      const int64_t id = n->arg.range().axis_id;
      return id < 0 ? absl::StrCat("ridxm", -id) : absl::StrCat("ridx", id);
    }
    default:
      return {};
  }
}

// Written like a constant: (1, 2, 3).
bool IsConstantVector(Ref n) {
  return n->op == Op::kStack && n->src_filter == uop::FilterBit(Op::kConst);
}

// A node whose text has been begun.
struct Frame {
  Ref node;
  bool is_call;               // name(src, ...)
  std::string_view notation;  // What is left of it; not of a call.
  int next_src = 0;           // Of a call.
};

class Renderer {
 public:
  explicit Renderer(size_t max_chars) : max_chars_(max_chars) {}

  std::string Run(Ref root) && {
    Begin(root);
    while (!stack_.empty() && out_.size() <= max_chars_) Step();
    if (out_.size() > max_chars_) {
      out_.resize(max_chars_);
      out_ += "...";
    }
    return std::move(out_);
  }

 private:
  void Begin(Ref n) {
    std::string leaf = Leaf(n);
    if (!leaf.empty()) {
      out_ += leaf;
      return;
    }
    const std::string_view notation = Notation(n->op);
    if (notation.empty()) {
      if (!IsConstantVector(n)) out_.append(uop::Name(n->op));
      out_ += '(';
    }
    stack_.push_back({.node = n, .is_call = notation.empty(), .notation = notation});
  }

  void Step() {
    Frame& frame = stack_.back();
    if (frame.is_call) {
      StepCall(frame);
    } else {
      StepNotation(frame);
    }
  }

  void StepCall(Frame& frame) {
    if (frame.next_src == frame.node->num_src) {
      if (uop::Info(frame.node->op).arg == uop::ArgKind::kInt) {
        absl::StrAppend(&out_, frame.next_src > 0 ? ", " : "", frame.node->arg.integer());
      }
      out_ += ')';
      stack_.pop_back();
      return;
    }
    if (frame.next_src > 0) out_ += ", ";
    Begin(frame.node->src(frame.next_src++));
  }

  void StepNotation(Frame& frame) {
    while (!frame.notation.empty()) {
      const char c = frame.notation.front();
      frame.notation.remove_prefix(1);
      if (c >= '\1' && c <= '\3') {
        Begin(frame.node->src(c - '\1'));
        return;
      }
      if (c == '\4') {
        out_.append(dtype::ShortName(frame.node->dtype));
      } else {
        out_ += c;
      }
    }
    stack_.pop_back();
  }

  const size_t max_chars_;
  std::string out_;
  std::vector<Frame> stack_;
};

}  // namespace

std::string RenderScalar(Scalar v, DType d) {
  if (d == DType::kBool) return v.AsBool() ? "True" : "False";
  return dtype::IsFloat(d) ? RenderFloat(v.AsFloat()) : ToString(v.AsWide(d));
}

std::string Render(Ref n, size_t max_chars) { return Renderer(max_chars).Run(n); }

}  // namespace kiln::symbolic
