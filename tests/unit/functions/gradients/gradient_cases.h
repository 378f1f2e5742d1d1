// Calls of library functions whose gradients are checked: every function of the registry is in one
// of these tables (gradients_test.cc sees to it).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/tensor/graph_builder.h"

namespace kiln::tensor::functions {

// An input of a call. Floats are random, at places where the function is smooth.
struct In {
  std::vector<int64_t> shape;
  double low = -2, high = 2;
  DType dtype = DType::kFloat64;    // kFloat64: it is differentiated (on the engine: as float32).
  std::vector<double> values = {};  // Instead of random ones.
  bool is_given = true;             // False: an optional input that is left out.
};

struct Case {
  std::string function;
  std::vector<In> inputs;
  std::vector<Attribute> attributes = {};
  int order = 1;  // Up to this derivative.
};

inline In R(std::vector<int64_t> shape, double low = -2, double high = 2) {
  return {.shape = std::move(shape), .low = low, .high = high};
}
// Integers and truths, which are not differentiated.
inline In I(std::vector<int64_t> shape, std::vector<double> values, DType dtype = DType::kInt32) {
  return {.shape = std::move(shape), .dtype = dtype, .values = std::move(values)};
}
inline In B(std::vector<int64_t> shape, std::vector<double> values) {
  return I(std::move(shape), std::move(values), DType::kBool);
}
inline In None() { return {.is_given = false}; }

inline Attribute Sizes(std::string name, std::vector<int64_t> sizes) {
  return {std::move(name), std::move(sizes)};
}

std::vector<Case> ElementwiseCases();
std::vector<Case> ReductionCases();  // And norms, losses.
std::vector<Case> MovementCases();   // And indexing, sorting, products.
std::vector<Case> NetworkCases();    // Convolution, attention, cells, steps, dropout.
std::vector<Case> FurtherCases();    // Special functions, statistics, and more of each kind.
std::vector<Case> AllCases();

// Functions that have no gradient.
enum class Flat : uint8_t {
  kNotFloat,  // The result is no float: to ask for its gradient is InvalidArgument.
  kZero,      // It is zero.
  kNoInput,   // No input can be a float.
};
struct FlatCase {
  Flat kind;
  Case call;
};
std::vector<FlatCase> FlatCases();

}  // namespace kiln::tensor::functions
