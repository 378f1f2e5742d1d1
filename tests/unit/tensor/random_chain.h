// Random chains of movement steps over constant and symbolic shapes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"

#include "core/symbolic/evaluate.h"
#include "core/tensor/movement.h"

namespace kiln::tensor {

struct RandomChain {
  std::vector<Ref> base;
  std::vector<Movement> steps;
};

struct RandomChainOptions {
  int max_steps = 7;
  int max_rank = 5;
  int64_t max_elements = 2000;  // Of every shape on the way.
  bool symbolic = true;         // Sizes may be variables s0, s1...
};

// Every step fits its shape by construction, for all values of the variables. Deterministic by
// seed.
RandomChain MakeRandomChain(Graph& g, uint64_t seed, const RandomChainOptions& options = {});

// Values of the variables of `chain` within their bounds.
symbolic::Bindings RandomSizes(Graph& g, const RandomChain& chain, uint64_t seed);

// "[4, s0] permute(1, 0) reshape((s0*4))"
std::string ToString(const RandomChain& chain);

}  // namespace kiln::tensor
