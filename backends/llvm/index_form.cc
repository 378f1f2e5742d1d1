#include "backends/llvm/index_form.h"

#include <algorithm>
#include <optional>

namespace kiln::backend_llvm {
namespace {

bool IsMachineIndex(Ref n) { return n->dtype == DType::kInt32 || n->dtype == DType::kInt64; }

std::optional<int64_t> Product(int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_mul_overflow(a, b, &result)) return std::nullopt;
  return result;
}

// a + b * factor; null if a number does not fit.
std::optional<IndexForm> Sum(const IndexForm& a, const IndexForm& b, int64_t factor) {
  IndexForm sum;
  const std::optional<int64_t> scaled = Product(b.constant, factor);
  if (!scaled || __builtin_add_overflow(a.constant, *scaled, &sum.constant)) return std::nullopt;
  auto x = a.terms.begin();
  auto y = b.terms.begin();
  while (x != a.terms.end() || y != b.terms.end()) {
    const bool take_x = y == b.terms.end() || (x != a.terms.end() && x->atom->id <= y->atom->id);
    const bool take_y = x == a.terms.end() || (y != b.terms.end() && y->atom->id <= x->atom->id);
    IndexForm::Term term = {take_x ? x->atom : y->atom, take_x ? x->factor : 0};
    if (take_y) {
      const std::optional<int64_t> by = Product(y->factor, factor);
      if (!by || __builtin_add_overflow(term.factor, *by, &term.factor)) return std::nullopt;
      ++y;
    }
    if (take_x) ++x;
    if (term.factor != 0) sum.terms.push_back(term);
  }
  return sum;
}

Bounds ProductBounds(Bounds a, Bounds b) {
  const Int128 corners[] = {a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi};
  return {*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4)};
}

// The constant c of a shift or product by a constant; null if `n` is none.
std::optional<int64_t> FactorOf(Ref n) {
  if (!IsIntConst(n->src(1))) return std::nullopt;
  const int64_t c = n->src(1)->IntValue();
  if (n->op == Op::kMul) return c;
  if (n->op != Op::kShl || c < 0 || c >= dtype::SizeBits(n->dtype) - 1) return std::nullopt;
  return int64_t{1} << c;
}

}  // namespace

void IndexForms::Add(Ref n) {
  if (IsMachineIndex(n)) EntryOf(n);
}

Bounds IndexForms::BoundsOf(Ref n) {
  if (!IsMachineIndex(n)) return uop::FullBounds(n->dtype);
  return entries_[EntryOf(n)].bounds;
}

const IndexForm& IndexForms::FormOf(Ref n) { return entries_[EntryOf(n)].form; }

uint32_t IndexForms::EntryOf(Ref n) {
  if (const uint32_t known = index_.Get(n); known != 0) return known - 1;
  // Leaves are made on demand; below anything else nothing is missing, or counts as unknown.
  for (Ref s : n->src()) {
    const bool leaf = s->IsConst() || (s->Is(Op::kRange) && s->src(0)->IsConst());
    if (leaf && IsMachineIndex(s) && index_.Get(s) == 0) {
      Entry entry = Make(s);
      entries_.push_back(std::move(entry));
      index_[s] = static_cast<uint32_t>(entries_.size());
    }
  }
  Entry entry = Make(n);
  entries_.push_back(std::move(entry));
  index_[n] = static_cast<uint32_t>(entries_.size());
  return index_[n] - 1;
}

IndexForms::Entry IndexForms::Make(Ref n) {
  const Bounds full = uop::FullBounds(n->dtype);
  Entry unknown = {full, {0, {{n, 1}}}};
  const auto bounds_of = [this](Ref s) {
    const uint32_t known = index_.Get(s);
    return known != 0 ? entries_[known - 1].bounds : uop::FullBounds(s->dtype);
  };
  const auto form_of = [this](Ref s) {
    const uint32_t known = index_.Get(s);
    return known != 0 ? entries_[known - 1].form : IndexForm{0, {{s, 1}}};
  };
  // An atom within `b`, as far as the dtype goes.
  const auto atom = [&](Bounds b) {
    if (full.Contains(b)) unknown.bounds = b;
    return unknown;
  };
  const auto sum = [&](Bounds b, Ref x, Ref y, int64_t factor) {
    if (!full.Contains(b)) return unknown;
    std::optional<IndexForm> form = Sum(form_of(x), form_of(y), factor);
    return form ? Entry{b, *std::move(form)} : atom(b);
  };
  switch (n->op) {
    case Op::kConst:
      return {{n->IntValue(), n->IntValue()}, {n->IntValue(), {}}};
    case Op::kRange:
    case Op::kSpecial: {
      const Int128 end =
          n->src(0)->IsConst() ? Int128{n->src(0)->IntValue()} : bounds_of(n->src(0)).hi;
      return atom({0, std::max<Int128>(end - 1, 0)});
    }
    case Op::kVariable: {
      const uop::VariableInfo v = uop::VariableOf(n);
      return atom({v.min.AsInt(), v.max.AsInt()});
    }
    case Op::kAdd: {
      const Bounds x = bounds_of(n->src(0)), y = bounds_of(n->src(1));
      return sum({x.lo + y.lo, x.hi + y.hi}, n->src(0), n->src(1), 1);
    }
    case Op::kSub: {
      const Bounds x = bounds_of(n->src(0)), y = bounds_of(n->src(1));
      return sum({x.lo - y.hi, x.hi - y.lo}, n->src(0), n->src(1), -1);
    }
    case Op::kMul:
    case Op::kShl: {
      const std::optional<int64_t> factor = FactorOf(n);
      if (!factor)
        return n->op == Op::kMul ? atom(ProductBounds(bounds_of(n->src(0)), bounds_of(n->src(1))))
                                 : unknown;
      const Bounds b = ProductBounds(bounds_of(n->src(0)), {*factor, *factor});
      if (!full.Contains(b)) return unknown;
      std::optional<IndexForm> form = Sum({}, form_of(n->src(0)), *factor);
      return form ? Entry{b, *std::move(form)} : atom(b);
    }
    case Op::kIDiv:
    case Op::kMod:
    case Op::kShr: {
      if (!IsIntConst(n->src(1)) || n->src(1)->IntValue() <= 0) return unknown;
      const Bounds x = bounds_of(n->src(0));
      const int64_t c = n->src(1)->IntValue();
      if (x.lo < 0) return unknown;
      if (n->op == Op::kMod) return atom({0, std::min<Int128>(c - 1, x.hi)});
      if (n->op == Op::kShr && c >= 64) return atom({0, 0});
      const Int128 d = n->op == Op::kShr ? Int128{1} << c : Int128{c};
      return atom({x.lo / d, x.hi / d});
    }
    case Op::kAnd: {
      if (!IsIntConst(n->src(1)) || n->src(1)->IntValue() < 0) return unknown;
      return atom({0, n->src(1)->IntValue()});
    }
    case Op::kMax: {
      const Bounds x = bounds_of(n->src(0)), y = bounds_of(n->src(1));
      return atom({std::max(x.lo, y.lo), std::max(x.hi, y.hi)});
    }
    case Op::kWhere: {
      const Bounds x = bounds_of(n->src(1)), y = bounds_of(n->src(2));
      return atom({std::min(x.lo, y.lo), std::max(x.hi, y.hi)});
    }
    case Op::kCast: {
      const Ref s = n->src(0);
      if (s->dtype == DType::kBool) return atom({0, 1});
      if (!dtype::IsInteger(s->dtype)) return unknown;
      const Bounds b = bounds_of(s);
      if (!full.Contains(b)) return unknown;
      return IsMachineIndex(s) ? Entry{b, form_of(s)} : atom(b);
    }
    default:
      return unknown;
  }
}

}  // namespace kiln::backend_llvm
