// Functions of the library against plain loops: arrays of numbers, a run of one function (see
// execute.h), and comparison.
//
//   const Array x = Numbers(DType::kFloat32, {3, 5});
//   Check("neg", {x}, {}, Map(x, [](double v) { return -v; }));
//
// The test of function f is TEST(Function, f): coverage_test.cc sees that none is missing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "core/tensor/graph_builder.h"

namespace kiln::tensor::functions {

using Index = std::vector<int64_t>;

// A value. Row-major; integers exact up to 2^53.
struct Array {
  DType dtype = DType::kFloat32;
  Index shape;
  std::vector<double> v;

  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
  double& operator[](const Index& at);
  double operator[](const Index& at) const;
};
using Arrays = std::vector<Array>;
using Inputs = std::vector<std::optional<Array>>;
using Attributes = std::vector<Attribute>;

// ** arrays **
Array Zeros(DType dtype, const Index& shape);
// `f` at each place.
Array Fill(DType dtype, const Index& shape, const std::function<double(const Index&)>& f);
// The same as if `v` had been stored: rounded, wrapped.
double Rounded(DType dtype, double v);
// Pseudo-random, of the dtype, between the limits; each call with other arguments gives others.
Array Numbers(DType dtype, const Index& shape, double lo = -3, double hi = 3, uint64_t seed = 1);
// Distinct numbers in random order.
Array Shuffled(DType dtype, const Index& shape, uint64_t seed = 1);
Array Of(DType dtype, const Index& shape, std::vector<double> v);

// ** loops **
void ForEach(const Index& shape, const std::function<void(const Index&)>& f);
Array Map(const Array& x, const std::function<double(double)>& f);
Array Map(const Array& x, DType dtype, const std::function<double(double)>& f);
// Broadcasts.
Array Map2(const Array& x, const Array& y, DType dtype,
           const std::function<double(double, double)>& f);
// Lines of `axis` one after another: `f` changes a line, to another size if it likes.
Array Lines(const Array& x, DType dtype, int64_t axis,
            const std::function<void(std::vector<double>&)>& f);
// The elements of each reduced part in one list.
Array Reduced(const Array& x, DType dtype, Index axes, bool keepdim,
              const std::function<double(const std::vector<double>&)>& f);
Array Transposed(const Array& x, const Index& axes);
Array Reshaped(const Array& x, const Index& shape);

// ** runs **
absl::StatusOr<Arrays> Called(const std::string& function, const Inputs& inputs,
                              const Attributes& attributes);
// Fails the test unless the function gives this. Floats may be off by `ulps` units of rounding of
// the largest of the value and `scale`. The graph is also scheduled.
struct Tolerance {
  double ulps = 8;
  double scale = 0;
};
void Check(const std::string& function, const Inputs& inputs, const Attributes& attributes,
           const Arrays& want, Tolerance tolerance = {});
void Check(const std::string& function, const Inputs& inputs, const Attributes& attributes,
           const Array& want, Tolerance tolerance = {});
// The message of a call that must be refused with InvalidArgument.
std::string Refusal(const std::string& function, const Inputs& inputs,
                    const Attributes& attributes);

// ** tables **
std::vector<Index> Shapes();  // Of rank 0 to 4, with sizes 0 and 1.
inline constexpr DType kFloats[] = {DType::kFloat64, DType::kFloat32, DType::kFloat16,
                                    DType::kBFloat16};
// Over shapes and floats.
void CheckFloats(const std::string& function, const std::function<double(double)>& f,
                 double lo = -3, double hi = 3, Tolerance tolerance = {},
                 const Attributes& attributes = {});

}  // namespace kiln::tensor::functions
