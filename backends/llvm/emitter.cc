#include "backends/llvm/emitter.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

#include "llvm/IR/IntrinsicsX86.h"

#include "core/dtype/check.h"
#include "core/dtype/status.h"
#include "core/uop/text.h"

namespace kiln::backend_llvm {

using llvm::BasicBlock;
using llvm::PHINode;
using llvm::Value;

Emitter::Emitter(const codegen::Program& program, const Plan& plan, const HostCpu& cpu,
                 llvm::Module& module)
    : program_(program),
      plan_(plan),
      lanes_(plan.lanes()),
      cpu_(cpu),
      module_(module),
      context_(module.getContext()),
      b_(context_),
      values_(b_, cpu),
      addresses_(1) {
  llvm::FastMathFlags flags;
  flags.setAllowContract(true);
  b_.setFastMathFlags(flags);
}

absl::Status Emitter::Run() {
  MakeFunction();
  for (Ref n : program_.linear->src()) KILN_RETURN_IF_ERROR(Emit(n));
  // Stores past the caches are ordered by nothing else.
  if (has_streams_) b_.CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {}, {});
  b_.CreateRetVoid();
  return absl::OkStatus();
}

// What the arguments point to is read once, before everything else.
void Emitter::MakeFunction() {
  llvm::Type* pointer = b_.getPtrTy();
  llvm::Type* i64 = b_.getInt64Ty();
  function_ = llvm::Function::Create(
      llvm::FunctionType::get(b_.getVoidTy(), {pointer, pointer, i64}, false),
      llvm::Function::ExternalLinkage, kEntryName, module_);
  function_->addFnAttr(llvm::Attribute::NoUnwind);
  function_->addFnAttr("prefer-vector-width", absl::StrCat(cpu_.vector_bytes * 8));
  prologue_ = BasicBlock::Create(context_, "prologue", function_);
  BasicBlock* start = BasicBlock::Create(context_, "start", function_);
  b_.SetInsertPoint(prologue_);
  // Nothing writes there while the kernel runs.
  const auto read = [&](llvm::Type* type, unsigned array, size_t i) {
    llvm::LoadInst* load =
        b_.CreateLoad(type, b_.CreateConstGEP1_64(type, function_->getArg(array), i));
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
    return load;
  };
  for (size_t i = 0; i < program_.buffers.size(); ++i) buffers_.push_back(read(pointer, 0, i));
  for (size_t i = 0; i < program_.variables.size(); ++i) variables_.push_back(read(i64, 1, i));
  core_ = function_->getArg(2);
  b_.CreateBr(start);
  b_.SetInsertPoint(start);
}

// ** values **

Emitter::Node& Emitter::NewNode(Ref n) {
  Node& node = nodes_.emplace_back();
  node.depth = depth();
  node_index_[n] = static_cast<uint32_t>(nodes_.size());
  return node;
}

Value* Emitter::Leaf(Ref n, LaneShape at, int combination) {
  const int lanes = at.vector ? lanes_.width() : 0;
  if (n->IsConst()) return values_.Constant(n->dtype, n->arg.scalar(), lanes);
  const LaneShape shape = lanes_.ShapeOf(n);
  llvm::Type* type = values_.RegisterType(n->dtype);
  if (shape.vector) {
    std::vector<llvm::Constant*> counters;
    for (int i = 0; i < lanes; ++i)
      counters.push_back(llvm::ConstantInt::get(type, static_cast<uint64_t>(i)));
    return llvm::ConstantVector::get(counters);
  }
  int axis = 0;
  while (shape.axes != uint32_t{1} << axis) ++axis;
  return values_.Constant(n->dtype, Scalar::Int(lanes_.Digit(combination, at.axes, axis)), lanes);
}

Value* Emitter::Get(Ref n, LaneShape at, int combination) {
  n = WithoutOrder(n);
  if (n->IsConst() || codegen::IsLane(n)) return Leaf(n, at, combination);
  const uint32_t index = node_index_.Get(n);
  KILN_CHECK(index != 0);  // The plan has seen that everything comes after its sources.
  Node& node = nodes_[index - 1];
  const LaneShape shape = plan_.ShapeOf(n);
  const size_t which = static_cast<size_t>(lanes_.Project(combination, at.axes, shape.axes));
  if (shape.vector || !at.vector) return node.values[which];
  node.splats.resize(node.values.size());
  if (node.splats[which] == nullptr) node.splats[which] = Splat(node.values[which]);
  return node.splats[which];
}

// Right after the value, so that it is outside of the loops that the value is outside of.
Value* Emitter::Splat(Value* v) {
  const unsigned width = static_cast<unsigned>(lanes_.width());
  llvm::IRBuilderBase::InsertPointGuard guard(b_);
  if (auto* phi = llvm::dyn_cast<PHINode>(v)) {
    b_.SetInsertPoint(phi->getParent(), phi->getParent()->getFirstInsertionPt());
  } else if (auto* instruction = llvm::dyn_cast<llvm::Instruction>(v)) {
    b_.SetInsertPoint(instruction->getParent(), std::next(instruction->getIterator()));
  } else if (!llvm::isa<llvm::Constant>(v)) {
    b_.SetInsertPoint(prologue_->getTerminator());
  }
  return b_.CreateVectorSplat(width, v);
}

absl::Status Emitter::EmitAlu(Ref n) {
  const LaneShape shape = plan_.ShapeOf(n);
  const int count = lanes_.Count(shape.axes);
  const DType operand =
      n->src(n->num_src == 1 || uop::IsComparison(n->op) ? 0 : n->num_src - 1)->dtype;
  std::vector<Value*> results(static_cast<size_t>(count));
  for (int c = 0; c < count; ++c) {
    Value* operands[3];
    for (int i = 0; i < n->num_src; ++i) operands[i] = Get(n->src(i), shape, c);
    Value*& result = results[static_cast<size_t>(c)];
    if (n->Is(Op::kCast)) {
      result = values_.Cast(operands[0], operand, n->dtype);
    } else if (n->Is(Op::kBitcast)) {
      result = values_.Bitcast(operands[0], operand, n->dtype);
    } else {
      result = values_.Alu(n->op, operand, absl::MakeConstSpan(operands, n->num_src));
    }
    if (result == nullptr) {
      return absl::UnimplementedError(
          absl::StrCat("node ", n->id, ", ", uop::Excerpt(n), ": not an operation of this target"));
    }
  }
  NewNode(n).values = std::move(results);
  return absl::OkStatus();
}

Value* Emitter::Combine(Op op, DType d, Value* x, Value* y) { return values_.Alu(op, d, {x, y}); }

// By halves: lane i with lane i + n/2.
Value* Emitter::ReduceVector(Op op, DType d, Value* v) {
  int n = lanes_.width();
  const auto part = [&](int from, int count) {
    std::vector<int> mask(static_cast<size_t>(count));
    for (int i = 0; i < count; ++i) mask[static_cast<size_t>(i)] = from + i;
    return b_.CreateShuffleVector(v, mask);
  };
  Value* odd = nullptr;
  while (n > 1) {
    if (n % 2 != 0) {
      Value* last = b_.CreateExtractElement(v, static_cast<uint64_t>(n - 1));
      odd = odd == nullptr ? last : Combine(op, d, odd, last);
    }
    n /= 2;
    v = Combine(op, d, part(0, n), part(n, n));
  }
  v = b_.CreateExtractElement(v, uint64_t{0});
  return odd == nullptr ? v : Combine(op, d, v, odd);
}

// Pairs of combinations first, in a tree; what is left of the vector last.
void Emitter::EmitReduce(Ref n) {
  const Op op = n->arg.reduce().op;
  const LaneShape to = plan_.ShapeOf(n);
  LaneShape from = plan_.ShapeOf(n->src(0));  // Lanes that it lacks count as often as there are.
  for (int i = 1; i < n->num_src; ++i) from = from | lanes_.ShapeOf(n->src(i));
  std::vector<std::vector<Value*>> groups(static_cast<size_t>(lanes_.Count(to.axes)));
  for (int c = 0; c < lanes_.Count(from.axes); ++c) {
    groups[static_cast<size_t>(lanes_.Project(c, from.axes, to.axes))].push_back(
        Get(n->src(0), from, c));
  }
  std::vector<Value*> results;
  for (std::vector<Value*>& group : groups) {
    while (group.size() > 1) {
      const size_t half = group.size() / 2;
      for (size_t i = 0; i < half; ++i)
        group[i] = Combine(op, n->dtype, group[2 * i], group[2 * i + 1]);
      if (group.size() % 2 != 0)
        group[half - 1] = Combine(op, n->dtype, group[half - 1], group.back());
      group.resize(half);
    }
    const bool across = from.vector && !to.vector;
    results.push_back(across ? ReduceVector(op, n->dtype, group[0]) : group[0]);
  }
  NewNode(n).values = std::move(results);
}

absl::Status Emitter::Emit(Ref n) {
  switch (n->op) {
    case Op::kRange:
      OpenLoop(n);
      return absl::OkStatus();
    case Op::kEnd:
      CloseLoop();
      return absl::OkStatus();
    case Op::kIf:
      OpenIf(n);
      return absl::OkStatus();
    case Op::kEndIf:
      CloseIf();
      return absl::OkStatus();
    case Op::kStore:
      return EmitStore(n);
    case Op::kIndex:  // Its parts are computed for loads and stores.
    case Op::kAfter:
      return absl::OkStatus();
    default:
      break;
  }
  if (!plan_.IsNeeded(n) || codegen::IsLane(n) || n->dtype == DType::kVoid) return absl::OkStatus();
  switch (n->op) {
    case Op::kSpecial: {
      Value* core = b_.CreateTrunc(core_, values_.RegisterType(n->dtype));
      NewNode(n).values = {core};
      return absl::OkStatus();
    }
    case Op::kVariable: {
      const std::string_view name = uop::VariableOf(n).name;
      for (size_t i = 0; i < program_.variables.size(); ++i) {
        if (program_.variables[i].name != name) continue;
        Value* value = b_.CreateTrunc(variables_[i], values_.RegisterType(n->dtype));
        NewNode(n).values = {value};
        return absl::OkStatus();
      }
      return absl::InternalError(
          absl::StrCat("no variable \"", std::string(name), "\" in the signature"));
    }
    case Op::kLoad:
      return EmitLoad(n);
    case Op::kReduce:
      EmitReduce(n);
      return absl::OkStatus();
    default:
      return EmitAlu(n);
  }
}

// ** control **

template <typename F>
void Emitter::ForEachStored(Ref region, F f) {
  for (const int64_t number : plan_.StoredIn(region)) {
    for (Value*& value : accumulators_[number].current) f(value);
  }
}

void Emitter::EnterRegion(Region region) {
  for (const int64_t number : plan_.StoredIn(region.node)) {
    region.num_slots.push_back(accumulators_[number].current.size());
  }
  regions_.push_back(std::move(region));
  addresses_.emplace_back();
}

// What was first stored to in the region ends with it.
Emitter::Region Emitter::LeaveRegion() {
  Region region = std::move(regions_.back());
  regions_.pop_back();
  addresses_.pop_back();
  size_t i = 0;
  for (const int64_t number : plan_.StoredIn(region.node)) {
    const size_t kept = region.num_slots[i++];
    Accumulator& accumulator = accumulators_[number];
    accumulator.current.resize(kept);
    std::erase_if(accumulator.slots, [kept](const auto& slot) { return slot.second >= kept; });
  }
  return region;
}

void Emitter::OpenLoop(Ref n) {
  Region r;
  r.node = n;
  r.may_skip = plan_.LeastEnd(n) < 1;
  Value* end = Get(n->src(0), {}, 0);
  r.end = b_.CreateSExt(end, b_.getInt64Ty());
  r.before = b_.GetInsertBlock();
  r.body = BasicBlock::Create(context_, "loop", function_);
  r.exit = BasicBlock::Create(context_, "done", function_);
  if (r.may_skip) {
    b_.CreateCondBr(b_.CreateICmpSGT(r.end, b_.getInt64(0)), r.body, r.exit);
  } else {
    b_.CreateBr(r.body);
  }
  b_.SetInsertPoint(r.body);
  r.counter = b_.CreatePHI(b_.getInt64Ty(), 2);
  r.counter->addIncoming(b_.getInt64(0), r.before);
  ForEachStored(n, [&](Value*& value) {
    PHINode* phi = b_.CreatePHI(value->getType(), 2);
    phi->addIncoming(value, r.before);
    r.saved.emplace_back(value, phi);
    value = phi;
  });
  EnterRegion(std::move(r));
  // The counter is less than its end, which the dtype holds.
  Value* counter = b_.CreateTrunc(regions_.back().counter, values_.RegisterType(n->dtype));
  NewNode(n).values = {counter};
}

void Emitter::CloseLoop() {
  const Region r = LeaveRegion();
  BasicBlock* latch = b_.GetInsertBlock();
  Value* next = b_.CreateAdd(r.counter, b_.getInt64(1), "", /*HasNUW=*/true, /*HasNSW=*/true);
  r.counter->addIncoming(next, latch);
  b_.CreateCondBr(b_.CreateICmpSLT(next, r.end), r.body, r.exit);
  b_.SetInsertPoint(r.exit);
  size_t i = 0;
  ForEachStored(r.node, [&](Value*& value) {
    const auto [before, phi] = r.saved[i++];
    phi->addIncoming(value, latch);
    if (!r.may_skip) return;
    PHINode* after = b_.CreatePHI(value->getType(), 2);
    after->addIncoming(before, r.before);
    after->addIncoming(value, latch);
    value = after;
  });
}

void Emitter::OpenIf(Ref n) {
  Region r;
  r.node = n;
  Value* condition = Get(n->src(0), {}, 0);
  r.before = b_.GetInsertBlock();
  r.body = BasicBlock::Create(context_, "then", function_);
  r.exit = BasicBlock::Create(context_, "endif", function_);
  b_.CreateCondBr(condition, r.body, r.exit);
  b_.SetInsertPoint(r.body);
  ForEachStored(n, [&](Value*& value) { r.saved.emplace_back(value, nullptr); });
  EnterRegion(std::move(r));
}

void Emitter::CloseIf() {
  const Region r = LeaveRegion();
  BasicBlock* last = b_.GetInsertBlock();
  b_.CreateBr(r.exit);
  b_.SetInsertPoint(r.exit);
  size_t i = 0;
  ForEachStored(r.node, [&](Value*& value) {
    PHINode* merged = b_.CreatePHI(value->getType(), 2);
    merged->addIncoming(r.saved[i++].first, r.before);
    merged->addIncoming(value, last);
    value = merged;
  });
}

}  // namespace kiln::backend_llvm
