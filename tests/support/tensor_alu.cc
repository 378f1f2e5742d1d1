#include "tests/support/tensor_alu.h"

#include <array>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include "core/dtype/alu.h"
#include "core/dtype/cast.h"
#include "tests/support/strided_copy.h"

namespace kiln::support {
namespace {

int64_t Count(absl::Span<const int64_t> shape) {
  int64_t n = 1;
  for (int64_t size : shape) n *= size;
  return n;
}

size_t SizeOf(DType d, int64_t elems) {
  return static_cast<size_t>(dtype::SizeBytes(d)) * static_cast<size_t>(elems);
}

template <typename Fn>
Bytes MapFloats(const Bytes& a, const Bytes& b, Fn fn) {
  Bytes out(a.size());
  for (size_t i = 0; i < a.size(); i += sizeof(float)) {
    float x, y;
    std::memcpy(&x, &a[i], sizeof(x));
    std::memcpy(&y, &b[i], sizeof(y));
    const float z = fn(x, y);
    std::memcpy(&out[i], &z, sizeof(z));
  }
  return out;
}

// What a reduction of nothing gives.
Scalar Identity(Op by, DType d) {
  const bool is_float = dtype::IsFloat(d);
  if (by == Op::kMax) {
    if (!is_float) return *dtype::WrapInteger(dtype::MinValue(d), d);
    return Scalar::Float(dtype::RoundToFloat(-std::numeric_limits<double>::infinity(), d));
  }
  const int one = by == Op::kMul ? 1 : 0;
  return is_float ? Scalar::Float(one) : *dtype::WrapInteger(one, d);
}

// One accumulator per element of the result.
template <typename T, typename Fn>
std::vector<T> Accumulate(uint32_t axes, absl::Span<const int64_t> shape, T identity, Fn fn) {
  std::vector<int64_t> out(shape.begin(), shape.end());
  for (size_t i = 0; i < out.size(); ++i) {
    if ((axes >> i & 1) != 0) out[i] = 1;
  }
  Walk to{0, RowMajorStrides(out)};
  for (size_t i = 0; i < out.size(); ++i) {
    if ((axes >> i & 1) != 0) to.strides[i] = 0;
  }
  std::vector<T> result(static_cast<size_t>(Count(out)), identity);
  ForEachPair(shape, to, Walk{0, RowMajorStrides(shape)}, [&](int64_t i, int64_t j) {
    T& cell = result[static_cast<size_t>(i)];
    cell = fn(cell, j);
  });
  return result;
}

}  // namespace

Scalar LoadElement(const Bytes& bytes, DType dtype, int64_t i) {
  const size_t size = SizeOf(dtype, 1);
  uint64_t bits = 0;
  std::memcpy(&bits, bytes.data() + static_cast<size_t>(i) * size, size);
  return dtype::FromBits(bits, dtype);
}

void StoreElement(Bytes& bytes, DType dtype, int64_t i, Scalar v) {
  const size_t size = SizeOf(dtype, 1);
  const uint64_t bits = dtype::ToBits(v, dtype);
  std::memcpy(bytes.data() + static_cast<size_t>(i) * size, &bits, size);
}

absl::StatusOr<Bytes> EvaluateAlu(Ref n, absl::Span<const Bytes* const> src, int64_t elems) {
  if (n->dtype == DType::kFloat32) {
    if (n->op == Op::kAdd)
      return MapFloats(*src[0], *src[1], [](float x, float y) { return x + y; });
    if (n->op == Op::kMul)
      return MapFloats(*src[0], *src[1], [](float x, float y) { return x * y; });
  }
  Bytes out(SizeOf(n->dtype, elems));
  std::array<Scalar, 3> operands;
  const size_t arity = src.size();
  const DType operand = n->src(n->op == Op::kWhere ? 1 : 0)->dtype;
  for (int64_t i = 0; i < elems; ++i) {
    for (size_t k = 0; k < arity; ++k) {
      operands[k] = LoadElement(*src[k], n->src(static_cast<int>(k))->dtype, i);
    }
    const std::optional<Scalar> v =
        n->op == Op::kCast ? dtype::Cast(operands[0], operand, n->dtype)
                           : dtype::EvalAlu(uop::ToAlu(n->op), operand, {operands.data(), arity});
    if (!v.has_value()) {
      return absl::InvalidArgumentError(absl::StrCat("element ", i, " has no value"));
    }
    StoreElement(out, n->dtype, i, *v);
  }
  return out;
}

Bytes EvaluateReduce(Op by, DType dtype, uint32_t axes, absl::Span<const int64_t> shape,
                     const Bytes& src) {
  const Scalar identity = Identity(by, dtype);
  std::vector<Scalar> cells;
  if (dtype::IsFloat(dtype) && by != Op::kMax) {
    const bool is_sum = by == Op::kAdd;
    for (double v : Accumulate(axes, shape, identity.AsFloat(), [&](double a, int64_t j) {
           const double x = LoadElement(src, dtype, j).AsFloat();
           return is_sum ? a + x : a * x;
         })) {
      cells.push_back(Scalar::Float(dtype::RoundToFloat(v, dtype)));
    }
  } else {
    cells = Accumulate(axes, shape, identity, [&](Scalar a, int64_t j) {
      return *dtype::EvalAlu(uop::ToAlu(by), dtype, {a, LoadElement(src, dtype, j)});
    });
  }
  Bytes out(SizeOf(dtype, static_cast<int64_t>(cells.size())));
  for (size_t i = 0; i < cells.size(); ++i) {
    StoreElement(out, dtype, static_cast<int64_t>(i), cells[i]);
  }
  return out;
}

Bytes EvaluateIota(DType dtype, absl::Span<const int64_t> shape, int64_t axis) {
  Bytes out(SizeOf(dtype, Count(shape)));
  Walk index{0, std::vector<int64_t>(shape.size(), 0)};
  index.strides[static_cast<size_t>(axis)] = 1;
  ForEachPair(shape, Walk{0, RowMajorStrides(shape)}, index, [&](int64_t i, int64_t at) {
    StoreElement(out, dtype, i, *dtype::WrapInteger(at, dtype));
  });
  return out;
}

Bytes Combine(Op by, DType dtype, const Bytes& a, const Bytes& b) {
  Bytes out(a.size());
  const auto elems = static_cast<int64_t>(a.size() / SizeOf(dtype, 1));
  for (int64_t i = 0; i < elems; ++i) {
    const Scalar x = LoadElement(a, dtype, i), y = LoadElement(b, dtype, i);
    StoreElement(out, dtype, i, *dtype::EvalAlu(uop::ToAlu(by), dtype, {x, y}));
  }
  return out;
}

}  // namespace kiln::support
