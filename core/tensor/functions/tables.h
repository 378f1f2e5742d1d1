// The tables of the library, one per subject. Adding one: its declaration and a row below.
#pragma once

#include <string_view>
#include <vector>

#include "core/tensor/functions/schema.h"

namespace kiln::tensor::functions {

std::vector<FunctionSchema> ElementwiseFunctions();
std::vector<FunctionSchema> ActivationFunctions();
std::vector<FunctionSchema> ReductionFunctions();
std::vector<FunctionSchema> LinearFunctions();
std::vector<FunctionSchema> EinsumFunctions();
std::vector<FunctionSchema> NormFunctions();
std::vector<FunctionSchema> LossFunctions();
std::vector<FunctionSchema> StepFunctions();
std::vector<FunctionSchema> IndexingFunctions();
std::vector<FunctionSchema> ScatterFunctions();
std::vector<FunctionSchema> SortingFunctions();
std::vector<FunctionSchema> StatisticsFunctions();
std::vector<FunctionSchema> SpecialFunctions();
std::vector<FunctionSchema> ArrangementFunctions();
std::vector<FunctionSchema> MovementFunctions();
std::vector<FunctionSchema> ConvolutionFunctions();
std::vector<FunctionSchema> AttentionFunctions();
std::vector<FunctionSchema> CreationFunctions();
std::vector<FunctionSchema> RandomFunctions();

struct Table {
  std::string_view subject;
  std::vector<FunctionSchema> (*functions)();
};

// clang-format off
inline std::vector<Table> Tables() {
  return {
      {"Elementwise", ElementwiseFunctions},
      {"Special functions", SpecialFunctions},
      {"Activations", ActivationFunctions},
      {"Reductions", ReductionFunctions},
      {"Statistics", StatisticsFunctions},
      {"Movement", MovementFunctions},
      {"Arrangement", ArrangementFunctions},
      {"Indexing", IndexingFunctions},
      {"Writing", ScatterFunctions},
      {"Order", SortingFunctions},
      {"Products", LinearFunctions},
      {"Sums of products", EinsumFunctions},
      {"Normalisation", NormFunctions},
      {"Losses", LossFunctions},
      {"Convolution and pooling", ConvolutionFunctions},
      {"Attention and recurrence", AttentionFunctions},
      {"Optimiser steps", StepFunctions},
      {"Creation", CreationFunctions},
      {"Random numbers", RandomFunctions},
  };
}
// clang-format on

}  // namespace kiln::tensor::functions
