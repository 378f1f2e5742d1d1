#include "core/tensor/factors.h"

#include <algorithm>

#include "core/dtype/check.h"
#include "core/dtype/status.h"
#include "core/symbolic/factor.h"
#include "core/symbolic/order.h"
#include "core/symbolic/simplify.h"
#include "core/tensor/index_math.h"
#include "core/uop/facts.h"

namespace kiln::tensor::internal {
namespace {

bool Before(Ref a, Ref b) { return symbolic::Compare(a, b) < 0; }

// What is left of a sum without the constant that divides its terms, which goes to `coefficient`;
// null if there is none.
Ref WithoutFactor(Graph& g, Ref sum, Int128& coefficient) {
  const int64_t factor = symbolic::ConstFactor(sum);
  Ref rest = factor > 1 ? symbolic::Divide(g, sum, factor) : nullptr;
  if (rest != nullptr) coefficient *= factor;
  return rest;
}

}  // namespace

absl::StatusOr<Factors> Factors::Of(Graph& g, Ref size) {
  Factors result;
  std::vector<Ref> pending = {size};
  while (!pending.empty()) {
    Ref n = pending.back();
    pending.pop_back();
    if (IsIntConst(n)) {
      result.coefficient_ *= n->IntValue();
    } else if (n->Is(Op::kMul)) {
      pending.insert(pending.end(), n->src().begin(), n->src().end());
    } else if (Ref rest = WithoutFactor(g, n, result.coefficient_)) {
      KILN_ASSIGN_OR_RETURN(rest, symbolic::Simplify(g, rest));
      pending.push_back(rest);
    } else {
      result.symbols_.push_back(n);
    }
  }
  // A size is not negative, but it may be written as a product of two numbers that are. The sign goes
  // to the symbol then, so that each factor is what an index may be divided by.
  for (Ref& symbol : result.symbols_) {
    if (VMax(g, symbol) > 0) continue;
    symbol = internal::Times(g, symbol, g.Index(-1));
    result.coefficient_ = -result.coefficient_;
  }
  if (result.coefficient_ < 0) {
    result.coefficient_ = 1;
    result.symbols_ = {size};
  }
  std::sort(result.symbols_.begin(), result.symbols_.end(), Before);
  return result;
}

absl::StatusOr<std::optional<Factors>> Factors::OfAll(Graph& g, absl::Span<const Ref> sizes) {
  Factors product;
  for (Ref size : sizes) {
    KILN_ASSIGN_OR_RETURN(const Factors factors, Of(g, size));
    product = product * factors;
    if (!FitsInt64(product.coefficient_)) return std::nullopt;
  }
  return product;
}

std::optional<Factors> Factors::DividedBy(const Factors& divisor) const {
  if (divisor.coefficient_ == 0 || coefficient_ % divisor.coefficient_ != 0) return std::nullopt;
  if (!std::includes(symbols_.begin(), symbols_.end(), divisor.symbols_.begin(),
                     divisor.symbols_.end(), Before)) {
    return std::nullopt;
  }
  Factors result;
  result.coefficient_ = coefficient_ / divisor.coefficient_;
  std::set_difference(symbols_.begin(), symbols_.end(), divisor.symbols_.begin(),
                      divisor.symbols_.end(), std::back_inserter(result.symbols_), Before);
  return result;
}

Ref Factors::Product(Graph& g) const { return Times(g, g.Index(1)); }

Ref Factors::Times(Graph& g, Ref x) const {
  KILN_CHECK(FitsInt64(coefficient_));
  for (Ref symbol : symbols_) x = internal::Times(g, x, symbol);
  return internal::Times(g, x, g.Index(static_cast<int64_t>(coefficient_)));
}

Ref Factors::Divisor(Graph& g) const {
  Factors positive = *this;
  for (Ref& symbol : positive.symbols_) {
    if (VMin(g, symbol) < 1) symbol = g.Max(symbol, g.Index(1));
  }
  return positive.Product(g);
}

Factors operator*(const Factors& a, const Factors& b) {
  Factors result;
  result.coefficient_ = a.coefficient_ * b.coefficient_;
  std::merge(a.symbols_.begin(), a.symbols_.end(), b.symbols_.begin(), b.symbols_.end(),
             std::back_inserter(result.symbols_), Before);
  return result;
}

}  // namespace kiln::tensor::internal
