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
std::vector<FunctionSchema> NormFunctions();
std::vector<FunctionSchema> LossFunctions();
std::vector<FunctionSchema> StepFunctions();
std::vector<FunctionSchema> IndexingFunctions();
std::vector<FunctionSchema> SortingFunctions();
std::vector<FunctionSchema> MovementFunctions();
std::vector<FunctionSchema> ConvolutionFunctions();
std::vector<FunctionSchema> AttentionFunctions();
std::vector<FunctionSchema> CreationFunctions();

struct Table {
  std::string_view subject;
  std::vector<FunctionSchema> (*functions)();
};

// clang-format off
inline std::vector<Table> Tables() {
  return {
      {"Elementwise", ElementwiseFunctions},
      {"Activations", ActivationFunctions},
      {"Reductions", ReductionFunctions},
      {"Movement", MovementFunctions},
      {"Indexing", IndexingFunctions},
      {"Order", SortingFunctions},
      {"Products", LinearFunctions},
      {"Normalisation", NormFunctions},
      {"Losses", LossFunctions},
      {"Convolution and pooling", ConvolutionFunctions},
      {"Attention and recurrence", AttentionFunctions},
      {"Optimiser steps", StepFunctions},
      {"Creation and random numbers", CreationFunctions},
  };
}
// clang-format on

}  // namespace kiln::tensor::functions
