#include "backends/llvm/compile.h"

#include <vector>

#include "tests/conformance/program_builder.h"
#include "tests/support/status_matchers.h"

namespace kiln::backend_llvm {
namespace {

using conformance::ProgramBuilder;
using support::StatusIs;
using ::testing::HasSubstr;
using ::testing::Not;

// out[i] = a[i] * 2 for 16 lanes.
codegen::Program Double(ProgramBuilder& b, int64_t elems = 64) {
  Ref out = b.Buffer(DType::kFloat32, elems), a = b.Buffer(DType::kFloat32, elems);
  Ref at = b.Add(b.Mul(b.Loop(elems / 16), 16), b.Vector(16));
  b.Store(out, at, b.Mul(b.Load(a, at), b.Float(DType::kFloat32, 2)));
  return b.Finish();
}

TEST(Compile, ObjectsRun) {
  ProgramBuilder b;
  KILN_ASSERT_OK_AND_ASSIGN(const std::string object, CompileProgram(Double(b), ThisCpu()));
  KILN_ASSERT_OK_AND_ASSIGN(const auto loaded, LoadObject(object));
  std::vector<float> out(64), a(64);
  for (int i = 0; i < 64; ++i) a[static_cast<size_t>(i)] = static_cast<float>(i);
  void* buffers[] = {out.data(), a.data()};
  loaded->entry()(buffers, nullptr, 0);
  for (int i = 0; i < 64; ++i) EXPECT_EQ(out[static_cast<size_t>(i)], static_cast<float>(2 * i));
}

TEST(Compile, LanesAreOneVectorInstruction) {
  ProgramBuilder b;
  KILN_ASSERT_OK_AND_ASSIGN(const std::string ir, ProgramToIr(Double(b), ThisCpu()));
  EXPECT_THAT(ir, HasSubstr("load <16 x float>"));
  EXPECT_THAT(ir, HasSubstr("store <16 x float>"));
  EXPECT_THAT(ir, Not(HasSubstr("gather")));
}

#ifdef __x86_64__
TEST(Compile, LargeOutputsGoPastTheCaches) {
  ProgramBuilder large, small;
  KILN_ASSERT_OK_AND_ASSIGN(const std::string ir, ProgramToIr(Double(large, 16 << 20), ThisCpu()));
  EXPECT_THAT(ir, HasSubstr("!nontemporal"));
  EXPECT_THAT(ir, HasSubstr("sfence"));
  KILN_ASSERT_OK_AND_ASSIGN(const std::string usual, ProgramToIr(Double(small), ThisCpu()));
  EXPECT_THAT(usual, Not(HasSubstr("!nontemporal")));
}
#endif

TEST(Compile, WhatIsNoProgramIsRefused) {
  ProgramBuilder b;
  uop::Graph& g = b.graph();
  Ref out = b.Buffer(DType::kInt32, 64);
  Ref i = g.Range(b.Int(4), 0);
  Ref place = g.Make(Op::kIndex, DType::kInt32, {out, i});
  Ref store = g.Make(Op::kStore, DType::kVoid, {place, i});
  Ref end = g.Make(Op::kEnd, DType::kVoid, {store, i});
  codegen::Program program = b.Finish();
  const auto compile = [&](std::vector<Ref> list) {
    program.linear = g.Make(Op::kLinear, DType::kVoid, list);
    return CompileProgram(program, ThisCpu()).status();
  };
  KILN_EXPECT_OK(compile({i, place, store, end}));
  EXPECT_THAT(compile({place, store}),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("before a source")));
  EXPECT_THAT(compile({i, place, store}),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("nothing ends")));
  EXPECT_THAT(
      compile({i, place, store, end, g.Make(Op::kStore, DType::kVoid, {place, g.Add(i, i)})}),
      StatusIs(absl::StatusCode::kUnimplemented));
  Ref barrier = g.Make(Op::kBarrier, DType::kVoid, {});
  EXPECT_THAT(compile({barrier}), StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("barrier")));
}

}  // namespace
}  // namespace kiln::backend_llvm
