#include "core/tensor/functions/windows.h"

#include <algorithm>

#include "core/tensor/functions/arguments.h"

namespace kiln::tensor::functions {

Tensor Every(const Tensor& x, int64_t axis, int64_t step) {
  if (!x || !x.composer()->ok()) return {};
  if (step == 1) return x;
  if (axis < 0) axis += x.rank();
  const Size n = x.dim(axis), count = (n + (step - 1)) / step;
  Shape shape = x.shape();
  shape[static_cast<size_t>(axis)] = count;
  shape.insert(shape.begin() + axis + 1, Size(step));
  return Select(Reshape(Pad(x, axis, 0, count * step - n), shape), axis + 1, 0);
}

namespace {

// [..., n] -> [..., places, elements].
Tensor WindowsOfLast(const Tensor& x, const Window& w) {
  if (!x || !x.composer()->ok()) return {};
  Composer& c = *x.composer();
  const Size n = x.dim(-1);
  if (n.is_known() && n.value() < w.extent()) {
    return c.Fail("a window of ", w.extent(), " does not fit into an axis of size ", n.value());
  }
  const Size places = (n - w.extent()) / w.stride + 1;
  Shape shape = x.shape();
  const auto split = [&shape](std::initializer_list<Size> sizes) {
    Shape s(shape.begin(), shape.end() - 1);
    s.insert(s.end(), sizes.begin(), sizes.end());
    return s;
  };
  if (w.stride >= w.extent()) {  // They don't overlap: cut x into strides.
    const Size covered = places * w.stride;
    const Size more = w.stride - w.extent();
    const Tensor cut = Slice(more.Is(0) ? x : Pad(x, -1, 0, more), -1, 0, covered);
    const Tensor rows = Reshape(cut, split({places, w.stride}));
    return Every(Slice(rows, -1, 0, w.extent()), -1, w.dilation);
  }
  // Repeated without end, x in rows of n + dilation is x shifted by one more dilation in each. As n
  // is the extent at least, 2 n is size * dilation at least.
  const Size row = n + w.dilation;
  const Size repeats = n.is_known() ? (row * w.size + (n - 1)) / n : Size(w.size + 2);
  const Tensor repeated = Reshape(ExpandAxis(Unsqueeze(x, -2), -2, repeats), split({repeats * n}));
  const Tensor rows = Reshape(Slice(repeated, -1, 0, row * w.size), split({w.size, row}));
  const Tensor cut = Slice(rows, -1, 0, places * w.stride);
  return SwapAxes(Select(Reshape(cut, split({w.size, places, w.stride})), -1, 0), -1, -2);
}

}  // namespace

Tensor Windows(const Tensor& x, const std::vector<Window>& windows) {
  Tensor y = x;
  const int64_t first = x.rank() - static_cast<int64_t>(windows.size());
  for (size_t i = 0; i < windows.size() && y; ++i) {
    const int64_t axis = first + static_cast<int64_t>(i);
    y = WindowsOfLast(MoveAxis(y, axis, -1), windows[i]);
    if (y) y = MoveAxis(y, -2, axis);
  }
  return y;
}

Tensor Sliding::Padded(const Tensor& x, double value) const {
  Tensor y = x;
  for (size_t i = 0; i < padding.size(); ++i) {
    y = Pad(y, static_cast<int64_t>(i) + 2, padding[i].first, padding[i].second, value);
  }
  return y;
}

Sliding SlidingOver(const Arguments& a, const Tensor& x, const std::vector<int64_t>& sizes,
                    bool ceil) {
  Sliding sliding;
  const auto spatial = static_cast<int64_t>(sizes.size());
  const std::vector<int64_t> stride = a.Has("stride") ? a.PerAxis("stride", spatial) : sizes;
  const std::vector<int64_t> dilation = a.PerAxis("dilation", spatial);
  std::vector<int64_t> padding = a.Ints("padding");
  const bool pairs = static_cast<int64_t>(padding.size()) == 2 * spatial && spatial > 0;
  if (!pairs) padding = a.PerAxis("padding", spatial);
  if (!a.ok()) return sliding;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t axis = static_cast<int64_t>(i) + 2;
    const Window w{sizes[i], stride[i], dilation[i]};
    const int64_t before = padding[pairs ? 2 * i : i];
    int64_t after = padding[pairs ? 2 * i + 1 : i];
    const Size n = ceil
                       ? Size(a.composer().Known(x.dim(axis), absl::StrCat("axis ", axis, " of x")))
                       : x.dim(axis);
    const Size whole = n + (before + after);
    if (w.size < 1 || (whole.is_known() && whole.value() < w.extent())) {
      a.Fail("x", "its axis ", axis, " has size ", ToText(n), ", with padding ", ToText(whole),
             ", in which a window of ", w.extent(), " does not fit");
      return sliding;
    }
    if (ceil) {
      const int64_t rest = (whole.value() - w.extent()) % w.stride;
      const int64_t last = whole.value() - w.extent() - rest + w.stride;  // Where it begins.
      if (rest != 0 && last < n.value() + before) after += w.stride - rest;
    }
    sliding.windows.push_back(w);
    sliding.padding.emplace_back(before, after);
  }
  return sliding;
}

}  // namespace kiln::tensor::functions
