// Sizes as products: a constant times symbolic factors. Equality and division are exact, so
// reshapes can match axes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "core/uop/graph.h"

namespace kiln::tensor::internal {

// coefficient * symbols[0] * symbols[1] ... A value. Equal factors are equal sizes; sizes may be
// equal without that.
class Factors {
 public:
  Factors() = default;
  // Takes `size`, a simplified expression, apart.
  static absl::StatusOr<Factors> Of(Graph& g, Ref size);
  // The product of sizes. Null if its coefficient leaves int64.
  static absl::StatusOr<std::optional<Factors>> OfAll(Graph& g, absl::Span<const Ref> sizes);

  bool IsOne() const { return coefficient_ == 1 && symbols_.empty(); }
  // Null if `divisor` does not divide this by construction.
  std::optional<Factors> DividedBy(const Factors& divisor) const;
  Int128 coefficient() const { return coefficient_; }
  // As one expression, and times `x`. Pre: the coefficient fits int64.
  Ref Product(Graph& g) const;
  Ref Times(Graph& g, Ref x) const;
  // The product, but at least 1: what an index may be divided by. Where a symbol is 0 there are no
  // elements, but there may be padding around them, and indices are computed before they are known
  // to be valid.
  Ref Divisor(Graph& g) const;

  friend Factors operator*(const Factors& a, const Factors& b);
  friend bool operator==(const Factors&, const Factors&) = default;

 private:
  Int128 coefficient_ = 1;
  std::vector<Ref> symbols_;  // Ordered; repeated as often as they divide.
};

}  // namespace kiln::tensor::internal
