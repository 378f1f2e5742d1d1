#include "tests/wire/support/graphs.h"

namespace kiln::wire {

uint32_t GraphMaker::Add(v1::Op op, std::initializer_list<uint32_t> src) {
  v1::Node& node = *graph_.add_nodes();
  node.set_op(op);
  for (const uint32_t s : src) node.add_src(s);
  return static_cast<uint32_t>(graph_.nodes_size() - 1);
}

uint32_t GraphMaker::Input(uint32_t slot, v1::DType dtype, const std::vector<int64_t>& dims) {
  const uint32_t index = Add(v1::OP_INPUT, {});
  node(index).set_dtype(dtype);
  node(index).mutable_input()->set_slot(slot);
  for (const int64_t dim : dims) node(index).mutable_input()->add_dims()->set_value(dim);
  return index;
}

uint32_t GraphMaker::Constant(v1::DType dtype, int64_t value, const std::vector<int64_t>& dims) {
  const uint32_t constant = Add(v1::OP_CONST, {});
  node(constant).set_dtype(dtype);
  node(constant).mutable_constant()->set_int_value(value);
  const uint32_t reshaped = Add(v1::OP_RESHAPE, {constant});
  node(reshaped).mutable_dims();
  for (size_t i = 0; i < dims.size(); ++i) node(reshaped).mutable_dims()->add_dims()->set_value(1);
  const uint32_t expanded = Add(v1::OP_EXPAND, {reshaped});
  node(expanded).mutable_dims();
  for (const int64_t dim : dims) node(expanded).mutable_dims()->add_dims()->set_value(dim);
  return expanded;
}

uint32_t GraphMaker::Variable(const std::string& name, int64_t min, int64_t max) {
  const uint32_t index = Add(v1::OP_VARIABLE, {});
  node(index).set_dtype(v1::DTYPE_INDEX);
  node(index).mutable_variable()->set_name(name);
  node(index).mutable_variable()->set_min(min);
  node(index).mutable_variable()->set_max(max);
  return index;
}

uint32_t GraphMaker::Op(v1::Op op, std::initializer_list<uint32_t> src) { return Add(op, src); }

uint32_t GraphMaker::Call(const std::string& function, std::initializer_list<uint32_t> src) {
  const uint32_t index = Add(v1::OP_CALL, src);
  node(index).mutable_call()->set_function(function);
  return index;
}

v1::Graph StepGraph(int64_t elems, uint32_t* output) {
  GraphMaker g;
  const uint32_t state = g.Input(0, v1::DTYPE_INT64, {elems});
  const uint32_t step = g.Input(1, v1::DTYPE_INT64, {elems});
  const uint32_t scaled = g.Op(v1::OP_MUL, {state, g.Constant(v1::DTYPE_INT64, 31, {elems})});
  const uint32_t assigned = g.Op(v1::OP_ASSIGN, {state, g.Op(v1::OP_ADD, {scaled, step})});
  *output = g.Op(v1::OP_SHRINK, {assigned});
  g.node(*output).mutable_dims()->add_dims()->set_value(0);
  g.node(*output).mutable_dims()->add_dims()->set_value(1);
  return g.graph();
}

v1::Graph AddOneGraph(int64_t elems, uint32_t* output) { return ChainGraph(1, elems, output); }

v1::Graph ChainGraph(int kernels, int64_t elems, uint32_t* output) {
  GraphMaker g;
  uint32_t x = g.Input(0, v1::DTYPE_FLOAT32, {elems});
  const uint32_t one = g.Constant(v1::DTYPE_FLOAT32, 1, {elems});
  for (int i = 0; i < kernels; ++i) {
    x = g.Op(v1::OP_ADD, {x, one});
    if (i + 1 < kernels) x = g.Op(v1::OP_CONTIGUOUS, {x});
  }
  *output = x;
  return g.graph();
}

}  // namespace kiln::wire
