// Programs written instruction by instruction.
//
//   ProgramBuilder b("scale");
//   Ref out = b.Buffer(DType::kFloat32, 64), in = b.Buffer(DType::kFloat32, 64);
//   Ref i = b.Loop(4), lane = b.Vector(16);
//   Ref at = b.Add(b.Mul(i, 16), lane);
//   b.Store(out, at, b.Mul(b.Load(in, at), b.Float(DType::kFloat32, 2)));
//   codegen::Program program = b.Finish();  // Closes the loop.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "core/codegen/program.h"
#include "core/uop/node_map.h"

namespace kiln::conformance {

// Owns the graph of its program. Effects, loads and loops are listed in the order of the calls,
// other nodes when they are first needed. Counters and element indices are int32.
class ProgramBuilder {
 public:
  explicit ProgramBuilder(std::string name = "test") { program_.name = std::move(name); }

  uop::Graph& graph() { return g_; }

  // ** leaves **
  Ref Buffer(DType d, int64_t elems);
  Ref Accumulator(DType d, int64_t elems);
  Ref Variable(const std::string& name, int64_t min, int64_t max, DType d = DType::kInt32);
  Ref Core(int num_cores);
  Ref Int(int64_t v, DType d = DType::kInt32) { return g_.Const(d, Scalar::Int(v)); }
  Ref Float(DType d, double v) { return g_.Const(d, Scalar::Float(v)); }

  // ** ranges **
  Ref Loop(int64_t end) { return Loop(Int(end)); }
  Ref Loop(Ref end, AxisType type = AxisType::kLoop);
  // Closes the innermost open loop or IF.
  void End();
  void If(Ref condition);
  Ref Lane(int64_t size, AxisType type = AxisType::kUpcast);
  // The lane range that is the machine vector.
  Ref Vector(int64_t size, AxisType type = AxisType::kUpcast);

  // ** values **
  // Has `n` computed here, outside of the loops that come.
  Ref Here(Ref n) { return List(n); }
  Ref Alu(Op op, DType result, std::initializer_list<Ref> src) { return g_.Make(op, result, src); }
  Ref Add(Ref x, Ref y) { return g_.Add(x, y); }
  Ref Add(Ref x, int64_t y) { return g_.Add(x, Int(y, x->dtype)); }
  Ref Mul(Ref x, Ref y) { return g_.Mul(x, y); }
  Ref Mul(Ref x, int64_t y) { return g_.Mul(x, Int(y, x->dtype)); }
  Ref Reduce(Op op, Ref x, std::initializer_list<Ref> lanes);

  // ** memory **
  Ref Load(Ref param, Ref index);
  Ref Load(Ref param, Ref index, Ref gate, Ref otherwise);
  Ref Store(Ref param, Ref index, Ref value, Ref gate = nullptr);

  // Closes what is open. Call once; the program lives as long as this.
  codegen::Program Finish();

 private:
  Ref Place(Ref param, Ref index, Ref gate);
  // Lists `n` and what it is made of.
  Ref List(Ref n);
  // A buffer or accumulator after what was stored to it.
  Ref Ordered(Ref param);

  uop::Graph g_;
  codegen::Program program_;
  std::vector<Ref> list_;
  uop::NodeMap<bool> listed_;
  std::vector<Ref> open_;                         // Loops and IFs.
  std::vector<std::vector<Ref>> effects_ = {{}};  // Of each open one, and outside of all.
  uop::NodeMap<Ref> last_effect_;                 // By PARAM.
  int32_t next_axis_ = 0;
  int64_t num_accumulators_ = 0;
};

}  // namespace kiln::conformance
