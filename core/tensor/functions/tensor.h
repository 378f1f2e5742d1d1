// Expressions of tensors, as functions of the library are written: values of a GraphBuilder with
// operators that broadcast and promote as numpy and PyTorch do.
//
//   Tensor Silu(const Tensor& x) { return x * Sigmoid(x); }
//
// No step fails by itself: the first error is kept by the Composer, and what comes after it does
// nothing and is absent. Everything is safe to ask of an absent tensor; its rank is 0.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include "core/tensor/graph_builder.h"

namespace kiln::tensor::internal {
class BuilderState;
}

namespace kiln::tensor::functions {

class Composer;

// Immutable. A size, known or an expression of variables (simplified, as in the graph).
class Size {
 public:
  Size(int64_t v = 0) : value_(v) {}  // NOLINT: implicit.
  Size(Composer* c, Ref ref);
  bool is_known() const { return ref_ == nullptr; }
  int64_t value() const { return value_; }  // Pre: is_known().
  Ref ref() const { return ref_; }          // Null if known.
  Composer* composer() const { return composer_; }
  bool Is(int64_t v) const { return is_known() && value_ == v; }
  friend bool operator==(const Size& a, const Size& b) {
    return a.ref_ == b.ref_ && (a.ref_ != nullptr || a.value_ == b.value_);
  }

 private:
  Composer* composer_ = nullptr;
  Ref ref_ = nullptr;
  int64_t value_ = 0;
};
// Known ones saturate instead of wrapping: the builder refuses such sizes anyway.
Size operator+(const Size& a, const Size& b);
Size operator-(const Size& a, const Size& b);
Size operator*(const Size& a, const Size& b);
// Truncate. Pre: b is not 0.
Size operator/(const Size& a, const Size& b);
Size operator%(const Size& a, const Size& b);
Size Max(const Size& a, const Size& b);
Size Min(const Size& a, const Size& b);

using Shape = std::vector<Size>;
using Axes = std::vector<int64_t>;  // Of a tensor, counted from 0.

// Immutable. A value in the making; absent, if it is an optional input that was not given.
class Tensor {
 public:
  Tensor() = default;
  Tensor(Composer* composer, Value value) : composer_(composer), value_(value) {}
  explicit operator bool() const { return composer_ != nullptr; }

  DType dtype() const;
  Shape shape() const;
  int64_t rank() const;
  // Of axis `axis`, from the end if it is negative; 1 if there is no such axis.
  Size dim(int64_t axis) const;
  bool is_float() const { return dtype::IsFloat(dtype()); }

  Composer* composer() const { return composer_; }
  Value value() const { return value_; }

 private:
  Composer* composer_ = nullptr;
  Value value_;
};
using Tensors = std::vector<Tensor>;

// Confined to one thread. One call of a function.
class Composer {
 public:
  Composer(GraphBuilder& builder, internal::BuilderState& state)
      : builder_(builder), state_(state) {}

  bool ok() const { return status_.ok(); }
  const absl::Status& status() const { return status_; }
  // Keep the first error; an absent tensor. The second is about an argument.
  template <typename... Parts>
  Tensor Fail(const Parts&... parts) {
    return Fail(absl::InvalidArgumentError(absl::StrCat(Name(), ": ", parts...)));
  }
  template <typename... Parts>
  Tensor FailIn(std::string_view argument, const Parts&... parts) {
    return Fail(absl::InvalidArgumentError(
        absl::StrCat(Name(), ", ", std::string(argument), ": ", parts...)));
  }
  Tensor Fail(absl::Status status);
  std::string Name() const;  // Of the call, as messages show it.

  GraphBuilder& builder() { return builder_; }
  Tensor Take(absl::StatusOr<Value> made);
  // A node of the graph, and back. Null if it failed.
  Value Keep(Ref n);
  Ref NodeOf(Value v) const;
  Dim ToDim(const Size& size);
  std::vector<Dim> ToDims(const Shape& shape);
  // A size that a caller gave.
  Size FromDim(const Dim& dim);
  // `size`, which must be known: 1 if it is not, an error that names `what`.
  int64_t Known(const Size& size, std::string_view what);
  // The largest value that `size` may have.
  int64_t Bound(const Size& size);

 private:
  friend Size Combine(Op op, const Size& a, const Size& b);

  GraphBuilder& builder_;
  internal::BuilderState& state_;
  absl::Status status_;
};

std::string ToText(const Size& size);
std::string ToText(const Shape& shape);

}  // namespace kiln::tensor::functions
