// Functions of tensors with sizes that depend on a variable: one graph gives for each value of it what
// the graph with that number gives.
#include <cmath>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/dtype/cast.h"
#include "tests/support/status_matchers.h"
#include "tests/support/tensor_alu.h"
#include "tests/unit/functions/execute.h"
#include "tests/unit/functions/function_testing.h"

namespace kiln::tensor::functions {
namespace {

constexpr DType kI32 = DType::kInt32, kU32 = DType::kUInt32, kF32 = DType::kFloat32;
constexpr int64_t kN = -1;  // In a shape: the variable.

struct Input {
  DType dtype = kF32;
  Index shape;
  double lo = -3, hi = 3;
};
using MakeAttributes = std::function<Attributes(const Dim&)>;
struct Case {
  std::string function;
  std::vector<Input> inputs;
  MakeAttributes attributes = [](const Dim&) { return Attributes(); };
};
std::vector<Dim> List(const Dim& d) { return {d}; }

Index WithN(Index shape, int64_t n) {
  for (int64_t& s : shape) s = s == kN ? n : s;
  return shape;
}

void CheckCase(const Case& c, int64_t least, int64_t most) {
  SCOPED_TRACE(c.function);
  GraphBuilder b;
  const auto n = b.Variable("n", least, most);
  std::vector<std::optional<Source>> sources;
  for (const Input& in : c.inputs) {
    std::vector<Dim> dims;
    for (int64_t s : in.shape) dims.push_back(s == kN ? Dim(n) : Dim(s));
    sources.emplace_back(b.Input(static_cast<int64_t>(sources.size()), in.dtype, dims));
  }
  const auto outputs = b.Call(c.function, sources, c.attributes(Dim(n)));
  KILN_ASSERT_OK(outputs);
  const auto graph = std::move(b).Finish(std::vector<Source>(outputs->begin(), outputs->end()));
  KILN_ASSERT_OK(graph);
  for (int64_t value : {least, (least + most) / 2, most}) {
    SCOPED_TRACE(value);
    support::TensorRun run;
    run.var_vals["n"] = value;
    Inputs inputs;
    for (size_t slot = 0; slot < c.inputs.size(); ++slot) {
      const Input& in = c.inputs[slot];
      const Array x = Numbers(in.dtype, WithN(in.shape, value), in.lo, in.hi, slot + 1);
      support::Bytes bytes(x.v.size() * static_cast<size_t>(dtype::SizeBytes(x.dtype)));
      for (size_t i = 0; i < x.v.size(); ++i) {
        const auto scalar = dtype::IsFloat(x.dtype)
                                ? kiln::Scalar::Float(x.v[i])
                                : kiln::Scalar::Int(static_cast<int64_t>(x.v[i]));
        support::StoreElement(bytes, x.dtype, static_cast<int64_t>(i), scalar);
      }
      run.inputs[static_cast<int64_t>(slot)] = std::move(bytes);
      inputs.emplace_back(x);
    }
    const auto got = Execute(*graph, run);
    KILN_ASSERT_OK(got);
    const auto want = Called(c.function, inputs, c.attributes(Dim(value)));
    KILN_ASSERT_OK(want);
    ASSERT_EQ(got->outputs.size(), want->size());
    for (size_t k = 0; k < want->size(); ++k) {
      const support::TensorArray& g = got->outputs[k];
      const Array& w = (*want)[k];
      ASSERT_EQ(g.dtype, w.dtype);
      ASSERT_EQ(g.shape, w.shape);
      for (size_t i = 0; i < w.v.size(); ++i) {
        const kiln::Scalar s = support::LoadElement(g.bytes, g.dtype, static_cast<int64_t>(i));
        const double v =
            dtype::IsFloat(g.dtype) ? s.AsFloat() : static_cast<double>(s.AsWide(g.dtype));
        if (std::isnan(v) && std::isnan(w.v[i])) continue;
        ASSERT_LE(std::abs(v - w.v[i]), 1e-5 * std::max(1.0, std::abs(w.v[i])))
            << "output " << k << ", element " << i;
      }
    }
  }
}

MakeAttributes Fixed(Attributes a) {
  return [a = std::move(a)](const Dim&) { return a; };
}

void CheckAll(const std::vector<Case>& cases, int64_t least = 4, int64_t most = 11) {
  for (const Case& c : cases) CheckCase(c, least, most);
}

TEST(Symbolic, ReductionsAndNorms) {
  CheckAll({
      {"softmax", {{kF32, {kN, 3}}}, Fixed({{"axis", 0}})},
      {"log_softmax", {{kF32, {3, kN}}}},
      {"layer_norm", {{kF32, {3, kN}}, {kF32, {kN}}, {kF32, {kN}}}},
      {"batch_norm",
       {{kF32, {kN, 3}}, {kF32, {3}}, {kF32, {3}, 0.5, 2}},
       Fixed({{"training", true}})},
      {"mean", {{kF32, {kN, 2}}}},
      {"var", {{kF32, {2, kN}}}, Fixed({{"axes", 1}})},
      {"max", {{kF32, {kN}}}},
      {"argmax", {{kF32, {2, kN}}}, Fixed({{"axis", 1}})},
      {"logsumexp", {{kF32, {kN}}}},
      {"cumsum", {{kF32, {2, kN}}}},
      {"cummax", {{kF32, {kN}}}},
      {"logcumsumexp", {{kF32, {kN}}}},
      {"cross_entropy", {{kF32, {kN, 3}}, {kI32, {kN}, 0, 2}}},
      {"median", {{kF32, {2, kN}}}, Fixed({{"axes", 1}})},
      {"cov", {{kF32, {2, kN}}}},
  });
}
TEST(Symbolic, ProductsAndAttention) {
  CheckAll({
      {"matmul", {{kF32, {3, kN}}, {kF32, {kN, 2}}}},
      {"linear", {{kF32, {kN, 3}}, {kF32, {2, 3}}}},
      {"einsum", {{kF32, {kN, 3}}, {kF32, {kN, 2}}}, Fixed({{"equation", "ni,nj->ij"}})},
      {"attention",
       {{kF32, {2, 3, 4}}, {kF32, {2, kN, 4}}, {kF32, {2, kN, 4}}},
       Fixed({{"causal", true}})},
      {"attention",
       {{kF32, {2, kN, 4}}, {kF32, {1, kN, 4}}, {kF32, {1, kN, 4}}},
       Fixed({{"causal", true}})},
      {"rope", {{kF32, {kN, 4}}}},
      {"diagonal", {{kF32, {kN, kN}}}, Fixed({{"offset", 1}})},
      {"diagonal", {{kF32, {kN, 6}}}},
      {"trace", {{kF32, {kN, kN}}}},
  });
}
TEST(Symbolic, Movement) {
  CheckAll({
      {"concat", {{kF32, {kN, 2}}, {kF32, {3, 2}}}, Fixed({{"axis", 0}})},
      {"flip", {{kF32, {kN, 2}}}},
      {"roll", {{kF32, {kN, 2}}}, Fixed({{"shifts", 3}, {"axes", 0}})},
      {"roll",
       {{kF32, {7}}},
       [](const Dim& n) { return Attributes{{"shifts", List(n)}, {"axes", 0}}; }},
      {"pad", {{kF32, {kN}}}, Fixed({{"pads", Index{1, 2}}, {"value", 7}})},
      {"pad", {{kF32, {kN}}}, Fixed({{"pads", Index{1, 2}}, {"mode", "reflect"}})},
      {"pad", {{kF32, {kN}}}, Fixed({{"pads", Index{1, 2}}, {"mode", "replicate"}})},
      {"pad", {{kF32, {kN}}}, Fixed({{"pads", Index{2, 1}}, {"mode", "circular"}})},
      {"slice", {{kF32, {kN, 2}}}, Fixed({{"begin", 1}, {"end", -1}})},
      {"slice", {{kF32, {kN, 2}}}, Fixed({{"begin", 1}, {"end", 99}, {"step", 2}})},
      {"slice", {{kF32, {kN, 2}}}, Fixed({{"begin", -1}, {"end", -99}, {"step", -1}})},
      {"slice",
       {{kF32, {12}}},
       [](const Dim& n) { return Attributes{{"begin", 0}, {"end", List(n)}}; }},
      {"select",
       {{kF32, {12, 2}}},
       [](const Dim& n) { return Attributes{{"index", List(n)}, {"axis", 0}}; }},
      {"slice_put",
       {{kF32, {12, 2}}, {kF32, {kN, 2}}},
       [](const Dim& n) { return Attributes{{"begin", 0}, {"end", List(n)}}; }},
      {"triu", {{kF32, {kN, kN}}}},
      {"tril", {{kF32, {3, 12}}}, [](const Dim& n) { return Attributes{{"offset", List(n)}}; }},
      {"tile", {{kF32, {kN}}}, Fixed({{"repeats", 2}})},
      {"repeat_interleave",
       {{kF32, {3}}},
       [](const Dim& n) { return Attributes{{"repeats", List(n)}}; }},
      {"diag_embed", {{kF32, {kN}}}},
      {"eye", {}, [](const Dim& n) { return Attributes{{"rows", List(n)}, {"offset", 1}}; }},
      {"iota",
       {},
       [](const Dim& n) {
         return Attributes{{"shape", std::vector<Dim>{n, Dim(2)}}, {"axis", 0}};
       }},
  });
}
TEST(Symbolic, Windows) {
  CheckAll({
      {"sliding_window", {{kF32, {kN}}}, Fixed({{"size", 3}, {"step", 2}})},
      {"sliding_window", {{kF32, {2, kN}}}, Fixed({{"size", 3}})},
      {"max_pool", {{kF32, {1, 2, kN}}}, Fixed({{"kernel", 2}})},
      {"max_pool", {{kF32, {1, 2, kN}}}, Fixed({{"kernel", 3}, {"stride", 2}, {"padding", 1}})},
      {"avg_pool", {{kF32, {1, 1, kN, 6}}}, Fixed({{"kernel", 3}, {"stride", 1}, {"padding", 1}})},
      {"conv", {{kF32, {1, 2, kN}}, {kF32, {3, 2, 3}}}, Fixed({{"padding", 1}})},
      {"conv", {{kF32, {kN, 2, 5, 5}}, {kF32, {3, 2, 3, 3}}}},
      {"conv_transpose", {{kF32, {1, 2, kN}}, {kF32, {2, 3, 3}}}, Fixed({{"stride", 2}})},
      {"adaptive_avg_pool", {{kF32, {1, 1, kN}}}, Fixed({{"sizes", 3}})},
      {"interpolate", {{kF32, {1, 1, kN}}}, Fixed({{"sizes", 7}, {"mode", "linear"}})},
      {"unfold", {{kF32, {1, 1, kN, 5}}}, Fixed({{"kernel", 2}})},
  });
}
TEST(Symbolic, OrderAndIndices) {
  CheckAll({
      {"sort", {{kF32, {2, kN}}}},
      {"topk", {{kF32, {kN}}}, Fixed({{"k", 2}})},
      {"searchsorted", {{kF32, {kN}, 1, 1}, {kF32, {3}}}},
      {"gather", {{kF32, {kN, 2}}, {kI32, {5, 2}, 0, 3}}, Fixed({{"axis", 0}})},
      {"embedding", {{kI32, {kN}, 0, 4}, {kF32, {5, 2}}}},
      {"index", {{kF32, {kN, 2}}, {kI32, {3}, -4, 3}}},
      {"index_put", {{kF32, {kN, 2}}, {kF32, {3, 2}}, {kI32, {3}, -4, 3}}},
      {"one_hot",
       {{kI32, {3}, 0, 3}},
       [](const Dim& n) { return Attributes{{"classes", List(n)}}; }},
      {"scatter", {{kF32, {kN}}, {kI32, {kN}, -5, 5}, {kF32, {kN}}}, Fixed({{"reduce", "sum"}})},
      {"bincount", {{kI32, {kN}, 0, 5}}, Fixed({{"size", 4}})},
      {"nonzero", {{kI32, {kN}, 0, 1}}, Fixed({{"size", 4}})},
      {"masked_fill", {{kF32, {kN}}, {kI32, {kN}, 0, 1}}, Fixed({{"value", 2}})},
  });
  // Beyond what takes the short form.
  CheckAll({{"sort", {{kF32, {kN}}}},
            {"cumsum", {{kF32, {kN}}}},
            {"scatter",
             {{kF32, {kN}}, {kI32, {kN}, -150, 150}, {kF32, {kN}}},
             Fixed({{"reduce", "max"}})}},
           30, 150);
}
TEST(Symbolic, RandomNumbers) {
  const Input key = {kU32, {2}, 0, 1e6}, counter = {kU32, {}, 0, 9};
  const auto shape = [](const Dim& n) {
    return Attributes{{"shape", std::vector<Dim>{n, Dim(3)}}};
  };
  CheckAll({
      {"uniform", {key, counter}, shape},
      {"uniform",
       {key, counter},
       [](const Dim& n) { return Attributes{{"shape", List(n)}, {"dtype", DType::kFloat16}}; }},
      {"normal", {key, counter}, shape},
      {"randint",
       {key, counter},
       [](const Dim& n) { return Attributes{{"shape", List(n)}, {"low", -3}, {"high", 9}}; }},
      {"dropout", {key, counter, {kF32, {kN, 2}}}},
      {"permutation", {key, counter}, [](const Dim& n) { return Attributes{{"n", List(n)}}; }},
      {"multinomial", {key, counter, {kF32, {kN}, 0.1, 1}}, Fixed({{"count", 3}})},
      {"multinomial",
       {key, counter, {kF32, {kN}, 0.1, 1}},
       Fixed({{"count", 3}, {"replacement", false}})},
  });
}

}  // namespace
}  // namespace kiln::tensor::functions
