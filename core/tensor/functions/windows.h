// Sliding windows, from movements alone.
#pragma once

#include <cstdint>
#include <vector>

#include "core/tensor/functions/algebra.h"

namespace kiln::tensor::functions {

class Arguments;

// Along one axis: `size` elements, `dilation` apart; windows begin `stride` apart.
struct Window {
  int64_t size = 1, stride = 1, dilation = 1;
  int64_t extent() const { return dilation * (size - 1) + 1; }
};

// [..., spatial...] -> [..., places..., elements...]: for each of the last axes, the places of its
// windows, and their elements on axes of their own. Spatial axes must hold a window.
Tensor Windows(const Tensor& x, const std::vector<Window>& windows);
// Every `step`-th element of an axis, from the first on.
Tensor Every(const Tensor& x, int64_t axis, int64_t step);

// What convolution and pooling have in common: x [n, c, spatial...].
struct Sliding {
  std::vector<Window> windows;                       // Per spatial axis.
  std::vector<std::pair<int64_t, int64_t>> padding;  // Before and after.
  // [n, c, ...] with this value around.
  Tensor Padded(const Tensor& x, double value) const;
};
// From the attributes stride, padding, dilation and sizes of windows; checks that they fit into `x`.
// `ceil`: whether a last window that begins inside may reach beyond the padding, for which sizes must
// be known.
Sliding SlidingOver(const Arguments& a, const Tensor& x, const std::vector<int64_t>& sizes,
                    bool ceil = false);

}  // namespace kiln::tensor::functions
