// Graphs and data for tests of the engine.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/runtime/engine.h"
#include "core/tensor/graph_builder.h"

namespace kiln::runtime {

using tensor::GraphBuilder;
using tensor::TensorGraph;

inline constexpr DType kF32 = DType::kFloat32;

template <typename T>
std::shared_ptr<Buffer> Upload(Engine& engine, const std::vector<T>& values,
                               std::string_view device) {
  auto buffer =
      engine.Upload(device, absl::MakeConstSpan(reinterpret_cast<const std::byte*>(values.data()),
                                                values.size() * sizeof(T)));
  EXPECT_TRUE(buffer.ok()) << buffer.status();
  return *std::move(buffer);
}

template <typename T>
absl::StatusOr<std::vector<T>> Read(Engine& engine, const Tensor& tensor) {
  std::vector<T> values(static_cast<size_t>(tensor.num_elems()));
  const absl::Status status = engine.Read(
      tensor,
      absl::MakeSpan(reinterpret_cast<std::byte*>(values.data()), values.size() * sizeof(T)));
  if (!status.ok()) return status;
  return values;
}

template <typename T>
absl::StatusOr<std::vector<T>> Read(Engine& engine, Buffer& buffer) {
  std::vector<T> values(static_cast<size_t>(buffer.bytes()) / sizeof(T));
  const absl::Status status = engine.Read(
      buffer, 0,
      absl::MakeSpan(reinterpret_cast<std::byte*>(values.data()), values.size() * sizeof(T)));
  if (!status.ok()) return status;
  return values;
}

inline TensorGraph Finish(GraphBuilder&& builder, std::vector<tensor::Source> outputs) {
  absl::StatusOr<TensorGraph> graph = std::move(builder).Finish(outputs);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *std::move(graph);
}

// A constant with the shape [n].
inline absl::StatusOr<tensor::Value> Full(GraphBuilder& b, float v, int64_t n) {
  return b.Expand(b.Reshape(b.Const(kF32, Scalar::Float(v)), {1}), {n});
}

// Input 0 [n] -> x + v.
inline TensorGraph AddGraph(float v, int64_t n = 4) {
  GraphBuilder b;
  const auto x = b.Input(0, kF32, {n});
  const auto sum = b.Alu(Op::kAdd, {x, Full(b, v, n)});
  return Finish(std::move(b), {sum});
}

// Inputs 0 and 1 [n]: slot 0 += slot 1, in place; the output is what slot 0 has then.
inline TensorGraph AccumulateGraph(int64_t n = 4) {
  GraphBuilder b;
  const auto x = b.Input(0, kF32, {n});
  const auto sum = b.Assign(x, b.Alu(Op::kAdd, {x, b.Input(1, kF32, {n})}));
  return Finish(std::move(b), {sum});
}

// `steps` kernels one after the other, each of which adds 1 to all: x + steps. Input 0 [n].
inline TensorGraph ChainGraph(int steps, int64_t n = 4) {
  GraphBuilder b;
  auto x = b.Input(0, kF32, {n});
  for (int i = 0; i < steps; ++i) x = b.Contiguous(b.Alu(Op::kAdd, {x, Full(b, 1, n)}));
  return Finish(std::move(b), {x});
}

// The first i elements of input 0 [16], doubled; i is a variable from 1 to 16.
inline TensorGraph SymbolicGraph() {
  GraphBuilder b;
  const auto i = b.Variable("i", 1, 16);
  const auto x = b.Shrink(b.Input(0, kF32, {16}), {0, i});
  return Finish(std::move(b), {b.Alu(Op::kAdd, {x, x})});
}

}  // namespace kiln::runtime
