#include "core/tensor/functions/tensor.h"

#include <algorithm>
#include <limits>

#include "core/symbolic/render.h"
#include "core/symbolic/simplify.h"
#include "core/tensor/graph_builder_impl.h"
#include "core/uop/facts.h"

namespace kiln::tensor::functions {

// ** sizes **

Size::Size(Composer* c, Ref ref) : composer_(c), ref_(ref) {
  if (ref == nullptr || !ref->IsConst()) return;
  value_ = ref->arg.scalar().AsInt();
  ref_ = nullptr;
}

Size Combine(Op op, const Size& a, const Size& b) {
  if (a.is_known() && b.is_known()) {
    const Int128 x = a.value(), y = b.value();
    Int128 v = op == Op::kAdd ? x + y : op == Op::kSub ? x - y : x * y;
    if (op == Op::kIDiv) v = y == 0 ? Int128{0} : x / y;
    if (op == Op::kMod) v = y == 0 ? x : x % y;
    if (op == Op::kMax) v = std::max(x, y);
    constexpr auto kMost = std::numeric_limits<int64_t>::max();
    return static_cast<int64_t>(std::clamp(v, -Int128{kMost}, Int128{kMost}));
  }
  Composer& c = a.is_known() ? *b.composer() : *a.composer();
  if (!c.ok()) return 0;
  const auto node = [&c](const Size& s) -> absl::StatusOr<Value> {
    return s.is_known() ? c.builder().Index(s.value()) : c.Keep(s.ref());
  };
  const Tensor made = c.Take(c.builder().Alu(op, {node(a), node(b)}));
  if (!c.ok()) return 0;
  auto simple = symbolic::Simplify(c.state_.graph(), c.NodeOf(made.value()));
  if (simple.ok()) return Size(&c, *simple);
  c.Fail(simple.status());
  return 0;
}

Size operator+(const Size& a, const Size& b) { return Combine(Op::kAdd, a, b); }
Size operator-(const Size& a, const Size& b) { return Combine(Op::kSub, a, b); }
Size operator*(const Size& a, const Size& b) { return Combine(Op::kMul, a, b); }
Size operator/(const Size& a, const Size& b) { return Combine(Op::kIDiv, a, b); }
Size operator%(const Size& a, const Size& b) { return Combine(Op::kMod, a, b); }
Size Max(const Size& a, const Size& b) { return Combine(Op::kMax, a, b); }
Size Min(const Size& a, const Size& b) { return a == b ? a : 0 - Max(0 - a, 0 - b); }

// ** tensors **

DType Tensor::dtype() const {
  if (composer_ == nullptr) return DType::kFloat32;
  return composer_->NodeOf(value_)->dtype;
}

Shape Tensor::shape() const {
  Shape shape;
  if (composer_ == nullptr) return shape;
  const absl::Span<const Ref> dims = *composer_->builder().ShapeOf(value_);
  for (Ref d : dims) shape.emplace_back(composer_, d);
  return shape;
}

int64_t Tensor::rank() const {
  if (composer_ == nullptr) return 0;
  return static_cast<int64_t>(composer_->builder().ShapeOf(value_)->size());
}

Size Tensor::dim(int64_t axis) const {
  const int64_t n = rank();
  if (axis < 0) axis += n;
  if (axis < 0 || axis >= n) return 1;
  return {composer_, (*composer_->builder().ShapeOf(value_))[static_cast<size_t>(axis)]};
}

// ** composer **

Tensor Composer::Fail(absl::Status status) {
  if (status_.ok()) status_ = std::move(status);
  return {};
}

std::string Composer::Name() const { return state_.CallName(); }

Tensor Composer::Take(absl::StatusOr<Value> made) {
  if (!made.ok()) return Fail(made.status());
  return {this, *made};
}

Value Composer::Keep(Ref n) { return state_.Inner(n); }
Ref Composer::NodeOf(Value v) const { return state_.Get(v).value_or(nullptr); }

Dim Composer::ToDim(const Size& size) {
  if (size.is_known()) return size.value();
  return Keep(size.ref());
}

std::vector<Dim> Composer::ToDims(const Shape& shape) {
  std::vector<Dim> dims;
  for (const Size& s : shape) dims.push_back(ToDim(s));
  return dims;
}

Size Composer::FromDim(const Dim& dim) {
  if (!dim.node().has_value()) return dim.size();
  if (!dim.node()->value().ok()) {
    Fail(dim.node()->value().status());
    return 0;
  }
  const auto node = state_.Get(*dim.node()->value());
  if (!node.ok()) {
    Fail(node.status());
    return 0;
  }
  if ((*node)->dtype != DType::kIndex) {
    Fail("a size has dtype index, not ", std::string(dtype::Name((*node)->dtype)));
    return 0;
  }
  auto simple = symbolic::Simplify(state_.graph(), *node);
  if (simple.ok()) return {this, *simple};
  Fail(simple.status());
  return 0;
}

int64_t Composer::Known(const Size& size, std::string_view what) {
  if (size.is_known()) return size.value();
  Fail(std::string(what), " must be known, it is ", ToText(size));
  return 1;
}

int64_t Composer::Bound(const Size& size) {
  if (size.is_known()) return size.value();
  return static_cast<int64_t>(
      std::min<Int128>(uop::VMax(state_.graph(), size.ref()), std::numeric_limits<int64_t>::max()));
}

std::string ToText(const Size& size) {
  return size.is_known() ? absl::StrCat(size.value()) : symbolic::Render(size.ref(), 40);
}

std::string ToText(const Shape& shape) {
  std::string text = "(";
  for (const Size& s : shape) absl::StrAppend(&text, text.size() == 1 ? "" : ", ", ToText(s));
  return text + ")";
}

}  // namespace kiln::tensor::functions
