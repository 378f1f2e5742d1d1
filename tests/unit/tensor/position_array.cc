#include "tests/unit/tensor/position_array.h"

#include "core/dtype/check.h"
#include "core/dtype/status.h"

namespace kiln::tensor {
namespace {

int64_t Count(absl::Span<const int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape) count *= size;
  return count;
}

std::vector<int64_t> Coordinates(absl::Span<const int64_t> shape, int64_t position) {
  std::vector<int64_t> c(shape.size());
  for (size_t i = shape.size(); i-- > 0;) {
    c[i] = position % shape[i];
    position /= shape[i];
  }
  return c;
}

// Fills an array of `shape` with what `in` has at source(coordinates), or -1 if that is outside of
// it.
template <typename Source>
PositionArray Gather(const PositionArray& in, std::vector<int64_t> shape, Source source) {
  PositionArray out{std::move(shape), {}};
  const int64_t count = Count(out.shape);
  for (int64_t p = 0; p < count; ++p) {
    const std::vector<int64_t> c = source(Coordinates(out.shape, p));
    int64_t q = 0;
    bool inside = true;
    for (size_t i = 0; i < c.size(); ++i) {
      inside = inside && c[i] >= 0 && c[i] < in.shape[i];
      q = q * in.shape[i] + c[i];
    }
    out.at.push_back(inside ? in.at[static_cast<size_t>(q)] : -1);
  }
  return out;
}

}  // namespace

PositionArray BaseArray(absl::Span<const int64_t> shape) {
  PositionArray base{{shape.begin(), shape.end()}, {}};
  for (int64_t p = 0; p < Count(shape); ++p) base.at.push_back(p);
  return base;
}

PositionArray Moved(Graph& g, const PositionArray& in, const Movement& step,
                    const symbolic::Bindings& values) {
  using Coordinate = std::vector<int64_t>;
  const std::vector<int64_t> n = Values(g, step.dims, values);
  std::vector<int64_t> shape = in.shape;
  switch (step.op) {
    case Op::kReshape:
      KILN_CHECK(Count(n) == Count(in.shape));
      return {n, in.at};
    case Op::kExpand:
      return Gather(in, n, [&](Coordinate c) {
        for (size_t i = 0; i < c.size(); ++i) c[i] = in.shape[i] == 1 ? 0 : c[i];
        return c;
      });
    case Op::kPermute:
      for (size_t i = 0; i < shape.size(); ++i)
        shape[i] = in.shape[static_cast<size_t>(step.order[i])];
      return Gather(in, shape, [&](const Coordinate& c) {
        Coordinate source(c.size());
        for (size_t i = 0; i < c.size(); ++i) source[static_cast<size_t>(step.order[i])] = c[i];
        return source;
      });
    case Op::kFlip:
      return Gather(in, shape, [&](Coordinate c) {
        for (size_t i = 0; i < c.size(); ++i) {
          if ((step.flipped >> i & 1) != 0) c[i] = in.shape[i] - 1 - c[i];
        }
        return c;
      });
    case Op::kPad:
      for (size_t i = 0; i < shape.size(); ++i) shape[i] += n[2 * i] + n[2 * i + 1];
      return Gather(in, shape, [&](Coordinate c) {
        for (size_t i = 0; i < c.size(); ++i) c[i] -= n[2 * i];
        return c;
      });
    default:
      KILN_CHECK(step.op == Op::kShrink);
      for (size_t i = 0; i < shape.size(); ++i) shape[i] = n[2 * i + 1] - n[2 * i];
      return Gather(in, shape, [&](Coordinate c) {
        for (size_t i = 0; i < c.size(); ++i) c[i] += n[2 * i];
        return c;
      });
  }
}

void BindCoordinates(absl::Span<const int64_t> shape, int64_t position,
                     symbolic::Bindings& values) {
  const std::vector<int64_t> c = Coordinates(shape, position);
  for (size_t i = 0; i < c.size(); ++i) values.ranges[static_cast<int32_t>(i)] = c[i];
}

absl::StatusOr<int64_t> PositionOf(Graph& g, const Access& access,
                                   const symbolic::Bindings& values) {
  KILN_ASSIGN_OR_RETURN(const Scalar valid, symbolic::Evaluate(g, access.valid, values));
  if (!valid.AsBool()) return -1;
  KILN_ASSIGN_OR_RETURN(const Scalar index, symbolic::Evaluate(g, access.index, values));
  return index.AsInt();
}

std::vector<int64_t> Values(Graph& g, absl::Span<const Ref> dims,
                            const symbolic::Bindings& values) {
  std::vector<int64_t> result;
  for (Ref d : dims) {
    const absl::StatusOr<Scalar> value = symbolic::Evaluate(g, d, values);
    KILN_CHECK(value.ok());
    result.push_back(value->AsInt());
  }
  return result;
}

}  // namespace kiln::tensor
