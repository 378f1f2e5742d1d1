#include "core/tensor/functions/slicing.h"

#include <algorithm>
#include <cstdlib>

namespace kiln::tensor::functions {
namespace {

Cut CutOf(int64_t axis, const Size& n, const Size& begin, const Size& end, int64_t step) {
  const Size low = step < 0 ? -1 : 0, high = n + low;
  const auto cut = [&](const Size& v) {
    return Min(Max(v.is_known() && v.value() < 0 ? v + n : v, low), high);
  };
  Cut result = {axis, cut(begin), cut(end), std::abs(step), step < 0};
  if (result.is_flipped) {
    result.begin = n - 1 - result.begin;
    result.end = n - 1 - result.end;
  }
  result.end = Max(result.begin, result.end);
  return result;
}

}  // namespace

std::vector<Cut> CutsIn(const Arguments& a, const Tensor& x) {
  const Shape begins = a.Sizes("begin"), ends = a.Sizes("end");
  const auto count = static_cast<int64_t>(begins.size());
  const std::vector<int64_t> steps = a.PerAxis("step", count);
  Axes axes = a.Ints("axes");
  if (!a.Has("axes")) {
    for (int64_t i = 0; i < count; ++i) axes.push_back(i);
  }
  if (ends.size() != begins.size() || axes.size() != begins.size()) {
    a.Fail("begin", count, " given, there are ", ends.size(), " ends and ", axes.size(), " axes");
    return {};
  }
  std::vector<Cut> cuts;
  for (size_t i = 0; i < begins.size() && a.ok(); ++i) {
    const int64_t axis = axes[i] < 0 ? axes[i] + x.rank() : axes[i];
    if (axis < 0 || axis >= x.rank()) a.Fail("axes", "there is no axis ", axes[i]);
    if (std::any_of(cuts.begin(), cuts.end(), [&](const Cut& c) { return c.axis == axis; })) {
      a.Fail("axes", "axis ", axis, " is named twice");
    }
    if (steps[i] == 0) a.Fail("step", "0 given");
    if (!a.ok()) return {};
    cuts.push_back(CutOf(axis, x.dim(axis), begins[i], ends[i], steps[i]));
  }
  return a.ok() ? cuts : std::vector<Cut>();
}

std::vector<AttributeSchema> SliceAttributes() {
  return {Sizes("begin", "per axis"), Sizes("end", "per axis"),
          Ints("axes", "which; the first ones if left out").Optional(),
          Ints("step", "per axis; negative: backwards")
              .Default(std::vector<int64_t>{1})
              .Between(-1e9, 1e9)};
}

// Whether `index` has as many axes as x, none larger than that of x but along `axis`.
bool FitsInside(const Arguments& a, std::string_view name, const Tensor& index, const Tensor& x,
                int64_t axis) {
  bool fits = index.rank() == x.rank();
  for (int64_t i = 0; fits && i < x.rank(); ++i) {
    const Size have = index.dim(i), most = x.dim(i);
    fits = i == axis || have == most ||
           (have.is_known() && most.is_known() && have.value() <= most.value());
  }
  if (!fits) {
    a.Fail(name, "its shape ", ToText(index.shape()), " does not fit into that of x, ",
           ToText(x.shape()), ", beside axis ", axis);
  }
  return fits;
}

Axes IndexAxesIn(const Arguments& a, const Tensor& x, const Tensors& indices) {
  const auto n = static_cast<int64_t>(indices.size());
  Axes axes;
  if (!a.Has("axes")) {
    if (n > x.rank()) a.Fail("indices", n, " given, x has ", x.rank(), " axes");
    for (int64_t i = 0; i < n; ++i) axes.push_back(i);
    return axes;
  }
  axes = a.Ints("axes");
  if (static_cast<int64_t>(axes.size()) != n) {
    a.Fail("axes", axes.size(), " given, there are ", n, " indices");
  }
  a.AxesIn("axes", x.rank());
  for (int64_t& axis : axes) axis += axis < 0 ? x.rank() : 0;
  return axes;
}

AttributeSchema IndexAxes() {
  return Ints("axes", "the axis of each index array; the first ones if left out").Optional();
}

}  // namespace kiln::tensor::functions
