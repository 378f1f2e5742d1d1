// The levels of the IR: what a graph is made of on its way from a client to a device.
//
// They are here, left of every layer that makes or reads them, because they are properties of the one IR and written in the language of
// rules: core/tensor verifies what clients send, a scheduler what it gives to codegen, codegen what it gives to a
// renderer.
#pragma once

#include "core/rewrite/spec.h"

namespace kiln::rewrite {

// What clients send: tensors of any shape. Elementwise ops take sources of equal shapes, scalars included: the function library
// broadcasts, primitives don't. Dims are expressions of constants and variables, never of data. An ASSIGN writes to an INPUT, to what
// another ASSIGN writes to, or to a movement of one. SINK may bind several outputs together.
extern const Spec kTensorSpec;

// One kernel: what happens for each value of its ranges, with index arithmetic in dtype index. Values may have a shape (STACK); a scalar goes
// with any. Each PARAM number and each axis id stands for one node.
extern const Spec kKernelSpec;

// One program: loops and machine arithmetic. No dtype index. LOOP and REDUCE ranges are loops, each of which one END
// ends; UPCAST and UNROLL ranges, of constant size, are lanes; a REDUCE is over lanes. LINEAR lists instructions in an
// order in which they can be carried out. (core/codegen/program.h says what it all means.)
extern const Spec kProgramSpec;

}  // namespace kiln::rewrite
