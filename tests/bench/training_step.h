// One step of training a small network, as a client would build it from library functions.
#pragma once

#include "core/tensor/tensor_graph.h"

namespace kiln::bench {

// A convnet for handwritten digits: images [batch, 1, 28, 28] in slot 0 and labels int32 [batch] in
// slot 1; four convolutions, two batch norms that keep running statistics, two max pools, a linear
// layer; cross entropy, its gradient, and Adam. Everything that a step changes is an input that is
// written in place: parameters, their moments, the statistics, the number of the step. The output is
// the loss.
tensor::TensorGraph MnistTrainingStep(int64_t batch);

}  // namespace kiln::bench
