#include "tests/support/prove.h"

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include <z3++.h>

#include "core/dtype/int128.h"
#include "core/symbolic/render.h"
#include "core/uop/node_map.h"
#include "core/uop/walk.h"

namespace kiln::support {
namespace {

constexpr unsigned kStepsPerMs = 2000;    // Z3 does 700 to 5,500 where the numbers are hard.
constexpr unsigned kSlowestMachine = 30;  // Times slower than an idle one; the end of patience.

// What Z3 knows of a node: its value, and when it has one.
struct Term {
  z3::expr value, defined;
};

bool IsBits(DType d) { return dtype::IsFixedWidthInteger(d); }
bool HasSort(DType d) { return d == DType::kBool || dtype::IsInteger(d); }

// Expressions as Z3 terms: bool as Bool, index as Int, fixed-width integers as bit vectors. Throws
// what z3++.h throws. Confined to one proof.
class Translator {
 public:
  explicit Translator(z3::context& context) : context_(context), domain_(context.bool_val(true)) {}

  // Pre: the sources are translated. Does nothing for dtypes that Z3 is not told about.
  void Add(Ref n) {
    if (!HasSort(n->dtype)) return;
    std::optional<Term> term = IsTranslatable(n) ? Translate(n) : std::nullopt;
    if (!term.has_value()) {
      term = Term{Free(absl::StrCat("opaque ", n->id), n->dtype), True()};
      has_opaque_ = true;
    }
    terms_.push_back(*term);
    index_[n] = static_cast<int>(terms_.size());
  }

  const Term& Of(Ref n) const { return terms_[index_.Get(n) - 1]; }
  // Everything within its bounds.
  z3::expr domain() const { return domain_; }
  // Names and values that a run may choose.
  const std::map<std::string, z3::expr>& inputs() const { return inputs_; }
  bool has_opaque() const { return has_opaque_; }

 private:
  bool IsTranslatable(Ref n) const {
    for (Ref s : n->src()) {
      if (index_.Get(s) == 0) return false;
    }
    return true;
  }

  z3::expr True() { return context_.bool_val(true); }

  z3::expr Free(const std::string& name, DType d) {
    if (d == DType::kBool) return context_.bool_const(name.c_str());
    if (d == DType::kIndex) return context_.int_const(name.c_str());
    return context_.bv_const(name.c_str(), dtype::SizeBits(d));
  }

  z3::expr Literal(Scalar v, DType d) {
    if (d == DType::kBool) return context_.bool_val(v.AsBool());
    const std::string digits = ToString(v.AsWide(d));
    if (d == DType::kIndex) return context_.int_val(digits.c_str());
    return context_.bv_val(digits.c_str(), dtype::SizeBits(d));
  }

  static z3::expr Less(const z3::expr& a, const z3::expr& b, DType d) {
    if (d == DType::kBool) return !a && b;
    return dtype::IsUnsigned(d) ? z3::ult(a, b) : a < b;
  }

  // A value that a run chooses within lo <= v < end or, `inclusive`, <= end.
  Term Input(const std::string& name, DType d, const z3::expr& lo, const z3::expr& end,
             bool inclusive) {
    const z3::expr v = Free(absl::StrCat(name, ":", std::string(dtype::Name(d))), d);
    inputs_.emplace(name, v);
    domain_ = domain_ && !Less(v, lo, d) && (inclusive ? !Less(end, v, d) : Less(v, end, d));
    return {v, True()};
  }

  std::optional<Term> Translate(Ref n) {
    switch (n->op) {
      case Op::kConst:
        return Term{Literal(n->arg.scalar(), n->dtype), True()};
      case Op::kVariable: {
        const uop::VariableInfo info = uop::VariableOf(n);
        if (info.name.empty()) return std::nullopt;
        return Input(std::string(info.name), n->dtype, Literal(info.min, n->dtype),
                     Literal(info.max, n->dtype), true);
      }
      case Op::kBind:
        return Of(n->src(0));
      case Op::kRange:
      case Op::kSpecial:
        return Input(symbolic::Render(n), n->dtype, Literal(Scalar::Int(0), n->dtype),
                     Of(n->src(0)).value, false);
      case Op::kWhere: {
        const Term &c = Of(n->src(0)), &x = Of(n->src(1)), &y = Of(n->src(2));
        return Term{z3::ite(c.value, x.value, y.value),
                    c.defined && z3::ite(c.value, x.defined, y.defined)};
      }
      case Op::kCast:
        return Cast(n);
      default:
        return uop::IsAlu(n->op) ? Arithmetic(n) : std::nullopt;
    }
  }

  std::optional<Term> Cast(Ref n) {
    const Term& x = Of(n->src(0));
    const DType from = n->src(0)->dtype, to = n->dtype;
    if (from == to) return x;
    if (from == DType::kBool) {
      return Term{z3::ite(x.value, Literal(Scalar::Int(1), to), Literal(Scalar::Int(0), to)),
                  x.defined};
    }
    if (to == DType::kBool) return Term{x.value != Literal(Scalar::Int(0), from), x.defined};
    if (!IsBits(from) || !IsBits(to)) return std::nullopt;
    const int more = dtype::SizeBits(to) - dtype::SizeBits(from);
    if (more < 0) return Term{x.value.extract(dtype::SizeBits(to) - 1, 0), x.defined};
    return Term{dtype::IsSigned(from) ? z3::sext(x.value, more) : z3::zext(x.value, more),
                x.defined};
  }

  std::optional<Term> Arithmetic(Ref n) {
    z3::expr defined = True();
    for (Ref s : n->src()) defined = defined && Of(s).defined;
    const z3::expr a = Of(n->src(0)).value;
    const DType d = n->src(0)->dtype;
    if (n->num_src == 1) {
      if (n->op == Op::kNeg && d != DType::kBool) return Term{-a, defined};
      return n->op == Op::kTrunc ? std::optional(Term{a, defined}) : std::nullopt;
    }
    const z3::expr b = Of(n->src(1)).value;
    if (n->op == Op::kIDiv || n->op == Op::kMod) {
      if (d == DType::kIndex) return Term{DivideInts(n->op, a, b), defined && b != 0};
      return Term{DivideBits(n->op, a, b, d), defined};
    }
    std::optional<z3::expr> value;
    if (n->op == Op::kMulAcc) {
      value = d == DType::kBool ? (a && b) || Of(n->src(2)).value : a * b + Of(n->src(2)).value;
    } else {
      value = d == DType::kBool ? Logic(n->op, a, b) : Binary(n->op, a, b, d);
    }
    if (!value.has_value()) return std::nullopt;
    return Term{*value, defined};
  }

  static std::optional<z3::expr> Logic(Op op, const z3::expr& a, const z3::expr& b) {
    switch (op) {
      case Op::kAdd:
      case Op::kMax:
      case Op::kOr:
        return a || b;
      case Op::kMul:
      case Op::kAnd:
        return a && b;
      case Op::kXor:
      case Op::kCmpNe:
        return a != b;
      case Op::kCmpEq:
        return a == b;
      case Op::kCmpLt:
        return !a && b;
      default:
        return std::nullopt;
    }
  }

  static std::optional<z3::expr> Binary(Op op, const z3::expr& a, const z3::expr& b, DType d) {
    switch (op) {
      case Op::kAdd:
        return a + b;
      case Op::kSub:
        return a - b;
      case Op::kMul:
        return a * b;
      case Op::kMax:
        return z3::ite(Less(a, b, d), b, a);
      case Op::kCmpLt:
        return Less(a, b, d);
      case Op::kCmpNe:
        return a != b;
      case Op::kCmpEq:
        return a == b;
      default:
        break;
    }
    if (!IsBits(d)) return std::nullopt;
    switch (op) {
      case Op::kAnd:
        return a & b;
      case Op::kOr:
        return a | b;
      case Op::kXor:
        return a ^ b;
      // Shifts out of range are shifts by the width, here and there.
      case Op::kShl:
        return z3::shl(a, b);
      case Op::kShr:
        return dtype::IsSigned(d) ? z3::ashr(a, b) : z3::lshr(a, b);
      default:
        return std::nullopt;
    }
  }

  // Z3 rounds so that the remainder is never negative; ours truncates.
  static z3::expr DivideInts(Op op, const z3::expr& a, const z3::expr& b) {
    if (op == Op::kIDiv) return z3::ite(a >= 0, a / b, -((-a) / b));
    return z3::ite(a >= 0, z3::mod(a, b), -z3::mod(-a, b));
  }

  z3::expr DivideBits(Op op, const z3::expr& a, const z3::expr& b, DType d) {
    const z3::expr zero = Literal(Scalar::Int(0), d);
    if (op == Op::kIDiv)
      return z3::ite(b == zero, zero, dtype::IsSigned(d) ? a / b : z3::udiv(a, b));
    return z3::ite(b == zero, a, dtype::IsSigned(d) ? z3::srem(a, b) : z3::urem(a, b));
  }

  z3::context& context_;
  z3::expr domain_;
  std::vector<Term> terms_;
  uop::NodeMap<int> index_;  // Of its term, from 1; 0: not translated.
  std::map<std::string, z3::expr> inputs_;
  bool has_opaque_ = false;
};

std::string Describe(const z3::model& model, const Translator& t, const Term& a, const Term& b) {
  std::string text;
  for (const auto& [name, value] : t.inputs()) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", name, " = ",
                    model.eval(value, true).to_string());
  }
  const bool b_defined = model.eval(b.defined, true).is_true();
  return absl::StrCat(text, text.empty() ? "always" : "", ": ",
                      model.eval(a.value, true).to_string(), " against ",
                      b_defined ? model.eval(b.value, true).to_string() : "no value");
}

Proof Solve(Ref a, Ref b, std::chrono::milliseconds effort) {
  z3::context context;
  Translator translator(context);
  const Ref roots[] = {a, b};
  for (Ref n : uop::Toposort(roots)) translator.Add(n);
  const Term x = translator.Of(a), y = translator.Of(b);
  z3::solver solver(context);
  z3::params params(context);
  params.set("rlimit", static_cast<unsigned>(effort.count()) * kStepsPerMs);
  params.set("timeout", static_cast<unsigned>(effort.count()) * kSlowestMachine);
  solver.set(params);
  solver.add(translator.domain() && x.defined && (!y.defined || x.value != y.value));
  switch (solver.check()) {
    case z3::unsat:
      return {Verdict::kProved, ""};
    case z3::unknown:
      return {Verdict::kUnknown, solver.reason_unknown()};
    case z3::sat:
      break;
  }
  std::string detail = Describe(solver.get_model(), translator, x, y);
  if (translator.has_opaque()) return {Verdict::kUnknown, "parts are opaque; perhaps " + detail};
  return {Verdict::kCounterexample, std::move(detail)};
}

}  // namespace

Proof ProveEqual(Ref a, Ref b, std::chrono::milliseconds effort) {
  if (a == b) return {Verdict::kProved, ""};
  if (a->dtype != b->dtype || !HasSort(a->dtype)) {
    return {Verdict::kUnknown, absl::StrCat("dtypes are ", std::string(dtype::Name(a->dtype)),
                                            " and ", std::string(dtype::Name(b->dtype)))};
  }
  try {
    return Solve(a, b, effort);
  } catch (const z3::exception& e) {
    return {Verdict::kUnknown, e.msg()};
  }
}

std::ostream& operator<<(std::ostream& os, const Proof& proof) {
  constexpr const char* kNames[] = {"proved", "refuted", "unknown"};
  return os << kNames[static_cast<int>(proof.verdict)] << (proof.detail.empty() ? "" : ": ")
            << proof.detail;
}

}  // namespace kiln::support
