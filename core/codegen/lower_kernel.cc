#include "core/codegen/lower_kernel.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/codegen/access.h"
#include "core/codegen/gate_loads.h"
#include "core/codegen/kernel_ranges.h"
#include "core/codegen/lanes.h"
#include "core/codegen/linearize.h"
#include "core/codegen/lower_expression.h"
#include "core/codegen/lower_reduce.h"
#include "core/codegen/narrow_floats.h"
#include "core/codegen/opt/apply.h"
#include "core/codegen/opt/heuristics.h"
#include "core/codegen/program_info.h"
#include "core/codegen/simplify_ranges.h"
#include "core/dtype/status.h"
#include "core/rewrite/specs.h"
#include "core/uop/walk.h"

namespace kiln::codegen {
namespace {

using symbolic::Effort;

// Index arithmetic stays in sums of products: the element indices are to be read by a backend.
OpSupport WithPlainIndices(OpSupport ops) {
  for (DType d : {DType::kInt32, DType::kInt64}) {
    for (Op op : {Op::kShl, Op::kMulAcc, Op::kSub, Op::kNeg}) ops.Remove(op, d);
  }
  return ops;
}

int64_t NumBuffers(Ref kernel) {
  int64_t count = 0;
  uop::Visit(kernel, [&count](Ref n) {
    if (n->Is(Op::kParam)) count = std::max(count, uop::ParamOf(n).number + 1);
    return true;
  });
  return count;
}

// Rules on ranges end where nothing changes any more: a range may turn out to be of one turn only
// once its end is simplified.
absl::StatusOr<Ref> SimplifyRanges(Graph& g, Ref root, symbolic::Math math) {
  root = internal::DropTrivialRanges(g, root);
  KILN_ASSIGN_OR_RETURN(root, internal::GateLoads(g, root));
  KILN_ASSIGN_OR_RETURN(root, symbolic::Simplify(g, root, Effort::kFull, math));
  root = internal::DropTrivialRanges(g, root);
  return internal::MergeRanges(g, root, math);
}

}  // namespace

absl::StatusOr<Program> LowerKernel(Graph& g, Ref kernel, const Target& target,
                                    const LowerOptions& options) {
  const auto stage = [&options](std::string_view name, Ref root) {
    if (options.on_stage != nullptr) options.on_stage(name, root);
  };
  KILN_RETURN_IF_ERROR(rewrite::Verify(g, kernel, rewrite::kKernelSpec));
  Program program;
  const int64_t num_buffers = NumBuffers(kernel);
  stage("kernel", kernel);

  KILN_ASSIGN_OR_RETURN(Ref root, SimplifyRanges(g, kernel, options.math));
  stage("simplify ranges", root);
  KILN_ASSIGN_OR_RETURN(Ref gated, GateAccesses(g, root));
  // If nothing is gated, all has been proven.
  if (gated != root) {
    KILN_RETURN_IF_ERROR(CheckAccesses(g, gated));
  }
  root = gated;

  // An opt moves and gates accesses that were proven, and makes no new ones.
  if (options.opts.has_value()) {
    for (const Opt& opt : *options.opts) {
      KILN_ASSIGN_OR_RETURN(root, ApplyOpt(g, root, opt, target));
      program.opts.push_back(opt);
    }
  } else {
    Optimised optimised = ChooseOpts(g, root, target);
    root = optimised.kernel;
    program.opts = std::move(optimised.opts);
  }
  stage(ToText(program.opts), root);
  KILN_ASSIGN_OR_RETURN(root, symbolic::Simplify(g, root, Effort::kFull, options.math));
  root = internal::DropTrivialRanges(g, root);
  stage("optimise", root);
  program.name = options.name.empty() ? internal::NameOf(root) : options.name;
  program.vector_axis = internal::ChooseVectorAxis(g, root);

  root = internal::LowerReductions(
      g, root, {.first_number = num_buffers, .vector_axis = program.vector_axis});
  stage("lower reductions", root);
  root = internal::WidenNarrowFloats(g, root, target);
  root = internal::SplitElementIndices(g, root);
  stage("split element indices", root);
  KILN_ASSIGN_OR_RETURN(
      root, internal::LowerArithmetic(g, root, WithPlainIndices(target.ops), options.math));
  stage("lower arithmetic", root);
  KILN_ASSIGN_OR_RETURN(program.linear, internal::Linearize(g, root));
  stage("linearise", program.linear);
  KILN_RETURN_IF_ERROR(rewrite::Verify(g, program.linear, rewrite::kProgramSpec));
  internal::Describe(g, num_buffers, program);
  return program;
}

}  // namespace kiln::codegen
