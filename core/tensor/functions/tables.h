// The tables of the library, one per subject. Adding one: its declaration and a row below.
#pragma once

#include <string_view>
#include <vector>

#include "core/tensor/functions/schema.h"

namespace kiln::tensor::functions {

std::vector<FunctionSchema> ElementwiseFunctions();
std::vector<FunctionSchema> ActivationFunctions();
std::vector<FunctionSchema> ReductionFunctions();

struct Table {
  std::string_view subject;
  std::vector<FunctionSchema> (*functions)();
};

inline std::vector<Table> Tables() {
  return {
      {"Elementwise", ElementwiseFunctions},
      {"Activations", ActivationFunctions},
      {"Reductions", ReductionFunctions},
  };
}

}  // namespace kiln::tensor::functions
