// The lane axes of a program, and which of them a value has.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"

#include "core/codegen/program.h"

namespace kiln::backend_llvm {

// Which lane axes a value depends on: bit i of `axes` for axis i, and the vector.
struct LaneShape {
  uint32_t axes = 0;
  bool vector = false;

  friend LaneShape operator|(LaneShape a, LaneShape b) {
    return {a.axes | b.axes, a.vector || b.vector};
  }
  bool Contains(LaneShape s) const { return (s.axes & ~axes) == 0 && (vector || !s.vector); }
  friend bool operator==(LaneShape, LaneShape) = default;
};

// Immutable. A *combination* of a set of axes numbers the values of their counters, row-major; the
// vector is not among them.
class Lanes {
 public:
  // Unimplemented if there are more axes or lanes than a program may have.
  static absl::StatusOr<Lanes> Of(const codegen::Program& program);

  // Of the machine vector; 0 if there is none.
  int width() const { return width_; }
  int num_axes() const { return static_cast<int>(axes_.size()); }
  // Pre: IsLane(range), and it is a range of the program.
  LaneShape ShapeOf(Ref range) const;
  // Number of combinations.
  int Count(uint32_t axes) const;
  // The counter of `axis` in a combination of `axes`. Pre: axis is in axes.
  int Digit(int combination, uint32_t axes, int axis) const;
  // The combination of `onto` which has the same counters. Pre: onto is a subset of axes.
  int Project(int combination, uint32_t axes, uint32_t onto) const;

 private:
  struct Axis {
    Ref range;
    int size;
  };
  std::vector<Axis> axes_;
  Ref vector_ = nullptr;
  int width_ = 0;
};

}  // namespace kiln::backend_llvm
