#include "tests/conformance/program_builder.h"

#include <algorithm>

#include "core/uop/walk.h"

namespace kiln::conformance {
namespace {
constexpr int64_t kFirstAccumulator = 1000;  // Buffers are numbered from 0.
}  // namespace

Ref ProgramBuilder::Buffer(DType d, int64_t elems) {
  const int64_t number = static_cast<int64_t>(program_.buffers.size());
  program_.buffers.push_back({.dtype = d, .elems = elems});
  return g_.Param(d, "b" + std::to_string(number), number, elems, AddressSpace::kGlobal);
}

Ref ProgramBuilder::Accumulator(DType d, int64_t elems) {
  const int64_t number = kFirstAccumulator + num_accumulators_++;
  return g_.Param(d, "acc", number, elems, AddressSpace::kRegister);
}

Ref ProgramBuilder::Variable(const std::string& name, int64_t min, int64_t max, DType d) {
  program_.variables.push_back({name, min, max, d});
  std::sort(program_.variables.begin(), program_.variables.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return g_.Variable(d, name, Scalar::Int(min), Scalar::Int(max));
}

Ref ProgramBuilder::Core(int num_cores) {
  program_.num_cores = num_cores;
  return g_.Special("core", Int(num_cores));
}

Ref ProgramBuilder::Loop(Ref end, AxisType type) {
  Ref range = List(g_.Range(end, next_axis_++, type));
  open_.push_back(range);
  effects_.emplace_back();
  return range;
}

void ProgramBuilder::If(Ref condition) {
  open_.push_back(List(g_.Make(Op::kIf, DType::kVoid, {condition})));
  effects_.emplace_back();
}

void ProgramBuilder::End() {
  std::vector<Ref> src = std::move(effects_.back());
  effects_.pop_back();
  Ref region = open_.back();
  open_.pop_back();
  const bool is_loop = region->Is(Op::kRange);
  src.insert(is_loop ? src.end() : src.begin(), region);
  Ref end = List(g_.Make(is_loop ? Op::kEnd : Op::kEndIf, DType::kVoid, src));
  for (Ref effect : src) {
    if (!effect->Is(Op::kStore)) continue;
    Ref param = effect->src(0)->src(0);
    while (param->Is(Op::kAfter)) param = param->src(0);
    last_effect_[param] = end;
  }
  effects_.back().push_back(end);
}

Ref ProgramBuilder::Lane(int64_t size, AxisType type) {
  return g_.Range(Int(size), next_axis_++, type);
}

Ref ProgramBuilder::Vector(int64_t size, AxisType type) {
  program_.vector_axis = next_axis_;
  return Lane(size, type);
}

Ref ProgramBuilder::Reduce(Op op, Ref x, std::initializer_list<Ref> lanes) {
  std::vector<Ref> src = {x};
  src.insert(src.end(), lanes);
  return g_.Make(Op::kReduce, x->dtype, src, Arg::Of(ReduceArg{op}));
}

Ref ProgramBuilder::Ordered(Ref param) {
  Ref effect = last_effect_.Get(param);
  const bool in_registers = uop::ParamOf(param).space == AddressSpace::kRegister;
  return effect == nullptr || !in_registers ? param
                                            : g_.Make(Op::kAfter, param->dtype, {param, effect});
}

Ref ProgramBuilder::Place(Ref param, Ref index, Ref gate) {
  Ref memory = Ordered(param);
  return gate == nullptr ? g_.Make(Op::kIndex, param->dtype, {memory, index})
                         : g_.Make(Op::kIndex, param->dtype, {memory, index, gate});
}

Ref ProgramBuilder::Load(Ref param, Ref index) {
  if (uop::ParamOf(param).space == AddressSpace::kGlobal) {
    program_.buffers[static_cast<size_t>(uop::ParamOf(param).number)].is_read = true;
  }
  return List(g_.Make(Op::kLoad, param->dtype, {Place(param, index, nullptr)}));
}

Ref ProgramBuilder::Load(Ref param, Ref index, Ref gate, Ref otherwise) {
  program_.buffers[static_cast<size_t>(uop::ParamOf(param).number)].is_read = true;
  return List(g_.Make(Op::kLoad, param->dtype, {Place(param, index, gate), otherwise}));
}

Ref ProgramBuilder::Store(Ref param, Ref index, Ref value, Ref gate) {
  if (uop::ParamOf(param).space == AddressSpace::kGlobal) {
    program_.buffers[static_cast<size_t>(uop::ParamOf(param).number)].is_written = true;
  }
  Ref store = List(g_.Make(Op::kStore, DType::kVoid, {Place(param, index, gate), value}));
  effects_.back().push_back(store);
  last_effect_[param] = store;
  return store;
}

Ref ProgramBuilder::List(Ref n) {
  for (Ref m : uop::Toposort(n)) {
    const bool has_place = !m->IsConst() && !m->Is(Op::kParam) && !codegen::IsLane(m);
    if (!has_place || listed_.Get(m)) continue;
    listed_[m] = true;
    list_.push_back(m);
  }
  return n;
}

codegen::Program ProgramBuilder::Finish() {
  while (!open_.empty()) End();
  program_.linear = g_.Make(Op::kLinear, DType::kVoid, list_);
  return program_;
}

}  // namespace kiln::conformance
