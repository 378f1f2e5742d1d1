#include "tests/unit/functions/function_testing.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/dtype/cast.h"
#include "tests/support/random.h"
#include "tests/support/status_matchers.h"
#include "tests/support/tensor_alu.h"
#include "tests/unit/functions/execute.h"

namespace kiln::tensor::functions {
namespace {

int64_t CountOf(const Index& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

size_t PositionOf(const Index& shape, const Index& at) {
  EXPECT_EQ(shape.size(), at.size());
  int64_t position = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    EXPECT_TRUE(at[i] >= 0 && at[i] < shape[i]) << testing::PrintToString(at);
    position = position * shape[i] + at[i];
  }
  return static_cast<size_t>(position);
}

kiln::Scalar ToScalar(DType d, double v) {
  const DType from = dtype::IsFloat(d) || std::isnan(v) ? DType::kFloat64 : DType::kInt64;
  const auto given = from == DType::kFloat64 ? kiln::Scalar::Float(v)
                     : v >= 0x1p63           ? kiln::Scalar::FromBits(static_cast<uint64_t>(v))
                                             : kiln::Scalar::Int(static_cast<int64_t>(v));
  return dtype::Cast(given, from, d).value();
}

double ToDouble(DType d, kiln::Scalar s) {
  if (dtype::IsFloat(d)) return s.AsFloat();
  return static_cast<double>(s.AsWide(d));
}

int Mantissa(DType d) {
  switch (d) {
    case DType::kFloat64:
      return 53;
    case DType::kFloat32:
      return 24;
    case DType::kFloat16:
      return 11;
    case DType::kBFloat16:
      return 8;
    default:
      return 3;
  }
}

std::string Text(const Array& a) {
  std::string text(dtype::Name(a.dtype));
  return text + testing::PrintToString(a.shape);
}

}  // namespace

double& Array::operator[](const Index& at) { return v[PositionOf(shape, at)]; }
double Array::operator[](const Index& at) const { return v[PositionOf(shape, at)]; }

// ** arrays **

Array Zeros(DType dtype, const Index& shape) {
  return {dtype, shape, std::vector<double>(static_cast<size_t>(CountOf(shape)))};
}

Array Fill(DType dtype, const Index& shape, const std::function<double(const Index&)>& f) {
  Array a = Zeros(dtype, shape);
  size_t i = 0;
  ForEach(shape, [&](const Index& at) { a.v[i++] = f(at); });
  return a;
}

double Rounded(DType dtype, double v) { return ToDouble(dtype, ToScalar(dtype, v)); }

Array Numbers(DType dtype, const Index& shape, double lo, double hi, uint64_t seed) {
  support::Random random(seed * 1000 + static_cast<uint64_t>(CountOf(shape)));
  if (dtype::IsUnsigned(dtype) || dtype == DType::kBool) lo = std::max(lo, 0.0);
  return Fill(dtype, shape, [&](const Index&) {
    const double v = lo + (hi - lo) * static_cast<double>(random.Uniform(0, 1 << 20)) / (1 << 20);
    return Rounded(dtype, dtype::IsFloat(dtype) ? v : std::floor(v + 0.5));
  });
}

Array Shuffled(DType dtype, const Index& shape, uint64_t seed) {
  Array a = Zeros(dtype, shape);
  support::Random random(seed);
  std::iota(a.v.begin(), a.v.end(), 1);
  for (size_t i = a.v.size(); i > 1; --i) {
    std::swap(a.v[i - 1], a.v[static_cast<size_t>(random.Uniform(0, static_cast<int64_t>(i) - 1))]);
  }
  return a;
}

Array Of(DType dtype, const Index& shape, std::vector<double> v) {
  EXPECT_EQ(CountOf(shape), v.size());
  return {dtype, shape, std::move(v)};
}

// ** loops **

void ForEach(const Index& shape, const std::function<void(const Index&)>& f) {
  Index at(shape.size(), 0);
  for (int64_t n = CountOf(shape); n > 0; --n) {
    f(at);
    for (size_t i = shape.size(); i-- > 0;) {
      if (++at[i] < shape[i]) break;
      at[i] = 0;
    }
  }
}

Array Map(const Array& x, DType dtype, const std::function<double(double)>& f) {
  Array y = Zeros(dtype, x.shape);
  std::transform(x.v.begin(), x.v.end(), y.v.begin(), f);
  return y;
}
Array Map(const Array& x, const std::function<double(double)>& f) { return Map(x, x.dtype, f); }

Array Map2(const Array& x, const Array& y, DType dtype,
           const std::function<double(double, double)>& f) {
  Index shape(std::max(x.shape.size(), y.shape.size()), 1);
  for (const Array* a : {&x, &y}) {
    for (size_t i = 0; i < a->shape.size(); ++i) {
      int64_t& to = shape[shape.size() - a->shape.size() + i];
      if (a->shape[i] != 1) to = a->shape[i];
    }
  }
  const auto element = [](const Array& a, const Index& at) {
    Index own(at.end() - a.rank(), at.end());
    for (size_t i = 0; i < own.size(); ++i) own[i] = a.shape[i] == 1 ? 0 : own[i];
    return a[own];
  };
  return Fill(dtype, shape, [&](const Index& at) { return f(element(x, at), element(y, at)); });
}

Array Lines(const Array& x, DType dtype, int64_t axis,
            const std::function<void(std::vector<double>&)>& f) {
  if (axis < 0) axis += x.rank();
  const auto a = static_cast<size_t>(axis);
  Index others = x.shape, shape = x.shape;
  others[a] = 1;
  std::vector<double> probe(static_cast<size_t>(x.shape[a]));
  f(probe);
  shape[a] = static_cast<int64_t>(probe.size());
  Array y = Zeros(dtype, shape);
  ForEach(others, [&](const Index& first) {
    Index at = first;
    std::vector<double> line;
    for (at[a] = 0; at[a] < x.shape[a]; ++at[a]) line.push_back(x[at]);
    f(line);
    for (at[a] = 0; at[a] < shape[a]; ++at[a]) y[at] = line[static_cast<size_t>(at[a])];
  });
  return y;
}

Array Reduced(const Array& x, DType dtype, Index axes, bool keepdim,
              const std::function<double(const std::vector<double>&)>& f) {
  std::vector<bool> is_reduced(x.shape.size(), axes.empty());
  for (int64_t a : axes) is_reduced[static_cast<size_t>(a < 0 ? a + x.rank() : a)] = true;
  Index kept, inside, shape;
  for (size_t i = 0; i < x.shape.size(); ++i) {
    kept.push_back(is_reduced[i] ? 1 : x.shape[i]);
    inside.push_back(is_reduced[i] ? x.shape[i] : 1);
    if (keepdim || !is_reduced[i]) shape.push_back(kept.back());
  }
  Array y = Fill(dtype, kept, [&](const Index& out) {
    std::vector<double> part;
    ForEach(inside, [&](const Index& in) {
      Index at = out;
      for (size_t i = 0; i < at.size(); ++i) at[i] += in[i];
      part.push_back(x[at]);
    });
    return f(part);
  });
  y.shape = shape;
  return y;
}

Array Transposed(const Array& x, const Index& axes) {
  Index shape;
  for (int64_t a : axes) shape.push_back(x.shape[static_cast<size_t>(a)]);
  return Fill(x.dtype, shape, [&](const Index& at) {
    Index from(at.size());
    for (size_t i = 0; i < at.size(); ++i) from[static_cast<size_t>(axes[i])] = at[i];
    return x[from];
  });
}

Array Reshaped(const Array& x, const Index& shape) {
  EXPECT_EQ(CountOf(shape), x.v.size());
  return {x.dtype, shape, x.v};
}

// ** runs **

namespace {

absl::StatusOr<TensorGraph> Build(const std::string& function, const Inputs& inputs,
                                  const Attributes& attributes, support::TensorRun& run) {
  GraphBuilder b;
  std::vector<std::optional<Source>> sources;
  for (size_t slot = 0; slot < inputs.size(); ++slot) {
    if (!inputs[slot].has_value()) {
      sources.emplace_back();
      continue;
    }
    const Array& x = *inputs[slot];
    sources.emplace_back(b.Input(static_cast<int64_t>(slot), x.dtype,
                                 std::vector<Dim>(x.shape.begin(), x.shape.end())));
    support::Bytes bytes(x.v.size() * static_cast<size_t>(dtype::SizeBytes(x.dtype)));
    for (size_t i = 0; i < x.v.size(); ++i) {
      support::StoreElement(bytes, x.dtype, static_cast<int64_t>(i), ToScalar(x.dtype, x.v[i]));
    }
    run.inputs[static_cast<int64_t>(slot)] = std::move(bytes);
  }
  KILN_ASSIGN_OR_RETURN(const std::vector<Value> outputs, b.Call(function, sources, attributes));
  return std::move(b).Finish(std::vector<Source>(outputs.begin(), outputs.end()));
}

}  // namespace

absl::StatusOr<Arrays> Called(const std::string& function, const Inputs& inputs,
                              const Attributes& attributes) {
  support::TensorRun run;
  KILN_ASSIGN_OR_RETURN(const TensorGraph graph, Build(function, inputs, attributes, run));
  KILN_ASSIGN_OR_RETURN(const support::TensorResults results, Execute(graph, run));
  Arrays arrays;
  for (const support::TensorArray& out : results.outputs) {
    Array a = Zeros(out.dtype, out.shape);
    for (size_t i = 0; i < a.v.size(); ++i) {
      a.v[i] =
          ToDouble(out.dtype, support::LoadElement(out.bytes, out.dtype, static_cast<int64_t>(i)));
    }
    arrays.push_back(std::move(a));
  }
  return arrays;
}

void Check(const std::string& function, const Inputs& inputs, const Attributes& attributes,
           const Arrays& want, Tolerance tolerance) {
  std::string trace = function;
  for (const auto& in : inputs) trace += " " + (in.has_value() ? Text(*in) : "-");
  SCOPED_TRACE(trace);
  const auto got = Called(function, inputs, attributes);
  KILN_ASSERT_OK(got);
  ASSERT_EQ(got->size(), want.size());
  for (size_t k = 0; k < want.size(); ++k) {
    const Array &g = (*got)[k], &w = want[k];
    ASSERT_EQ(Text(g), Text(w)) << "output " << k;
    const double unit = tolerance.ulps * std::ldexp(1, -Mantissa(w.dtype));
    for (size_t i = 0; i < w.v.size(); ++i) {
      const double e = Rounded(w.dtype, w.v[i]);
      if (g.v[i] == e || (std::isnan(g.v[i]) && std::isnan(e))) continue;
      const bool near = dtype::IsFloat(w.dtype) &&
                        std::abs(g.v[i] - e) <= unit * std::max(std::abs(e), tolerance.scale);
      ASSERT_TRUE(near) << "output " << k << ", element " << i << ": " << g.v[i] << " instead of "
                        << e;
    }
  }
}

void Check(const std::string& function, const Inputs& inputs, const Attributes& attributes,
           const Array& want, Tolerance tolerance) {
  Check(function, inputs, attributes, Arrays{want}, tolerance);
}

std::string Refusal(const std::string& function, const Inputs& inputs,
                    const Attributes& attributes) {
  const auto got = Called(function, inputs, attributes);
  if (got.ok()) return "not refused";
  EXPECT_EQ(got.status().code(), absl::StatusCode::kInvalidArgument) << got.status();
  return std::string(got.status().message());
}

// ** tables **

std::vector<Index> Shapes() { return {{}, {1}, {0}, {7}, {3, 5}, {4, 0}, {2, 1, 3}, {2, 3, 1, 5}}; }

void CheckFloats(const std::string& function, const std::function<double(double)>& f, double lo,
                 double hi, Tolerance tolerance, const Attributes& attributes) {
  for (DType dtype : kFloats) {
    for (const Index& shape : Shapes()) {
      const Array x = Numbers(dtype, shape, lo, hi);
      Check(function, {x}, attributes, Map(x, f), tolerance);
    }
  }
}

}  // namespace kiln::tensor::functions
