// The levels of the IR: what a graph is made of on its way from a client to a device.
//
// They are here, left of every layer that makes or reads them, because they are properties of the one IR and written in the language of
// rules: core/tensor verifies what clients send, a scheduler what it gives to codegen, codegen what it gives to a
// renderer.
#pragma once

#include "core/rewrite/spec.h"

namespace kiln::rewrite {

// What clients send: tensors of any shape. Elementwise ops take sources of equal shapes, scalars included: the function library
// broadcasts, primitives don't. Dims are expressions of constants and variables, never of data. An ASSIGN writes to an INPUT or a movement
// of one. SINK may bind several outputs together.
extern const Spec kTensorSpec;

// One kernel: what happens for each value of its ranges, with index arithmetic in dtype index. Values may have a shape (STACK); a scalar goes
// with any. Each PARAM number and each axis id stands for one node.
extern const Spec kKernelSpec;

// One program: loops and machine arithmetic. No dtype index, no reduction, no range but LOOP and REDUCE counters, each
// of which ends.
extern const Spec kProgramSpec;

}  // namespace kiln::rewrite
