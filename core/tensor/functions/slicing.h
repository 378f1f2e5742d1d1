// Arguments that several functions about parts of tensors have.
#pragma once

#include <vector>

#include "core/tensor/functions/arguments.h"

namespace kiln::tensor::functions {

// x[begin:end:step] of one axis, 0 <= begin <= end <= size: of the reversed axis, if it is flipped.
struct Cut {
  int64_t axis = 0;
  Size begin, end;
  int64_t step = 1;  // At least 1.
  bool is_flipped = false;
};
// As Python's slices: what is too large or small is cut off.
std::vector<Cut> CutsIn(const Arguments& a, const Tensor& x);
std::vector<AttributeSchema> SliceAttributes();

// Whether `index` has as many axes as x, none larger than that of x but along `axis`; an error if not.
bool FitsInside(const Arguments& a, std::string_view name, const Tensor& index, const Tensor& x,
                int64_t axis);
// The attribute "axes" of functions with index arrays: one each, counted from 0; the first ones.
Axes IndexAxesIn(const Arguments& a, const Tensor& x, const Tensors& indices);
AttributeSchema IndexAxes();

}  // namespace kiln::tensor::functions
