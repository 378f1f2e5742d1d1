// Loads and stores.
#include <algorithm>

#include "absl/strings/str_cat.h"

#include "backends/llvm/emitter.h"
#include "core/dtype/check.h"
#include "core/uop/text.h"

namespace kiln::backend_llvm {

using llvm::Value;

namespace {

// Outputs from this size on do not stay in the caches.
constexpr int64_t kStreamedBytes = int64_t{32} << 20;
// So many vectors are stored lane by lane, which is quickest; more, as after a reduction of a tile of
// many, by scatters: LLVM takes its time over thousands of instructions.
constexpr int kMaxSpreadStores = 2;
// What runtime::MemoryLimits promises to kernels.
constexpr int64_t kBufferAlignment = 64;

absl::Status Unimplemented(Ref n, absl::string_view why) {
  return absl::UnimplementedError(absl::StrCat("node ", n->id, ", ", uop::Excerpt(n), ": ", why));
}

}  // namespace

// ** accumulators **

int64_t Emitter::SlotOf(const Place& p, LaneShape at, int combination) const {
  int64_t slot = p.constant;
  for (int i = 0; i < lanes_.num_axes(); ++i) {
    if ((p.index_shape.axes >> i & 1) == 0) continue;
    slot += p.factors[static_cast<size_t>(i)] * lanes_.Digit(combination, at.axes, i);
  }
  return slot;
}

absl::Status Emitter::LoadAccumulator(Ref n, const Place& p) {
  const LaneShape at = plan_.ShapeOf(n);
  const Accumulator& accumulator = accumulators_[uop::ParamOf(p.param).number];
  std::vector<Value*> results;
  for (int c = 0; c < lanes_.Count(at.axes); ++c) {
    const auto slot = accumulator.slots.find(SlotOf(p, at, c));
    if (slot == accumulator.slots.end()) return Unimplemented(n, "nothing was stored there");
    if (accumulator.vector != at.vector) return Unimplemented(n, "stored with other lanes");
    results.push_back(accumulator.current[slot->second]);
  }
  NewNode(n).values = std::move(results);
  return absl::OkStatus();
}

absl::Status Emitter::StoreAccumulator(Ref n, const Place& p) {
  const LaneShape at = plan_.ShapeOf(n);
  Accumulator& accumulator = accumulators_[uop::ParamOf(p.param).number];
  if (accumulator.slots.empty()) accumulator.vector = at.vector;
  if (accumulator.vector != at.vector) return Unimplemented(n, "stored with other lanes before");
  for (int c = 0; c < lanes_.Count(at.axes); ++c) {
    const auto [slot, is_new] =
        accumulator.slots.emplace(SlotOf(p, at, c), accumulator.current.size());
    if (is_new) accumulator.current.push_back(nullptr);
    accumulator.current[slot->second] = Get(n->src(1), at, c);
  }
  return absl::OkStatus();
}

// ** addresses **

template <typename F>
Value* Emitter::AtDepth(int at, F make) {
  if (at == depth()) return make();
  llvm::IRBuilderBase::InsertPointGuard guard(b_);
  b_.SetInsertPoint(regions_[static_cast<size_t>(at)].before->getTerminator());
  return make();
}

Value* Emitter::Widen(Ref atom, Value* value, int atom_depth) {
  if (atom->Is(Op::kRange)) {
    for (const Region& region : regions_) {
      if (region.node == atom) return region.counter;
    }
  }
  Value*& wide = addresses_[static_cast<size_t>(atom_depth)][{value, nullptr, 0}];
  if (wide == nullptr) {
    wide = AtDepth(atom_depth, [&] { return b_.CreateSExt(value, b_.getInt64Ty()); });
  }
  return wide;
}

Value* Emitter::Advance(Value* base, int* base_depth, Ref atom, Value* value, int64_t bytes) {
  const uint32_t node = node_index_.Get(WithoutOrder(atom));
  const int atom_depth = node == 0 ? 0 : nodes_[node - 1].depth;
  Value* wide = Widen(WithoutOrder(atom), value, atom_depth);
  *base_depth = std::max(*base_depth, atom_depth);
  Value*& sum = addresses_[static_cast<size_t>(*base_depth)][{base, wide, bytes}];
  if (sum == nullptr) {
    sum = AtDepth(*base_depth, [&] {
      Value* offset = b_.CreateMul(wide, b_.getInt64(static_cast<uint64_t>(bytes)));
      return b_.CreateGEP(b_.getInt8Ty(), base, offset);
    });
  }
  return sum;
}

Value* Emitter::Address(const Place& p, LaneShape at, int combination) {
  const int64_t bytes = dtype::SizeBytes(p.param->dtype);
  Value* address = buffers_[static_cast<size_t>(uop::ParamOf(p.param).number)];
  // What is known first comes first; what differs from lane to lane last.
  std::vector<IndexForm::Term> terms = p.terms;
  const auto rank = [this](const IndexForm::Term& term) {
    const uint32_t node = node_index_.Get(WithoutOrder(term.atom));
    const int depth_of_atom = node == 0 ? 0 : nodes_[node - 1].depth;
    return std::pair(plan_.ShapeOf(term.atom).axes != 0, depth_of_atom);
  };
  std::stable_sort(terms.begin(), terms.end(),
                   [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  int known_at = 0;
  for (const IndexForm::Term& term : terms) {
    Value* value = Get(term.atom, {at.axes, false}, combination);
    address = Advance(address, &known_at, term.atom, value, term.factor * bytes);
  }
  const int64_t offset = SlotOf(p, at, combination) * bytes;
  if (offset == 0) return address;
  return b_.CreateConstGEP1_64(b_.getInt8Ty(), address, static_cast<uint64_t>(offset));
}

// Of each lane of the vector.
Value* Emitter::Addresses(const Place& p, LaneShape at, int combination) {
  llvm::Type* element = values_.MemoryType(p.param->dtype);
  if (p.along == Along::kIndexed) {
    Value* base = buffers_[static_cast<size_t>(uop::ParamOf(p.param).number)];
    return b_.CreateGEP(element, base, Get(p.index, {at.axes, true}, combination));
  }
  std::vector<llvm::Constant*> offsets;
  for (int i = 0; i < lanes_.width(); ++i) {
    offsets.push_back(b_.getInt64(static_cast<uint64_t>(p.stride * i)));
  }
  return b_.CreateGEP(element, Address(p, at, combination), llvm::ConstantVector::get(offsets));
}

llvm::Align Emitter::AlignOf(const Place& p) const {
  return llvm::Align(static_cast<uint64_t>(dtype::SizeBytes(p.param->dtype)));
}

// Whether to store past the caches: to an output that is larger than they are and not read here, the
// lines of which would else be fetched first and throw out what is needed. Source: Intel, "64 and
// IA-32 Architectures Optimization Reference Manual", 7.4.
bool Emitter::Streams(const Place& p) const {
  if (module_.getTargetTriple().rfind("x86_64", 0) != 0) return false;
  const codegen::ProgramBuffer& buffer =
      program_.buffers[static_cast<size_t>(uop::ParamOf(p.param).number)];
  const int64_t bytes = dtype::SizeBytes(p.param->dtype);
  const int64_t vector = lanes_.width() * bytes;
  if (buffer.is_read || p.gate != nullptr || buffer.elems < kStreamedBytes / bytes) return false;
  if (vector > kBufferAlignment || kBufferAlignment % vector != 0) return false;
  const auto aligned = [&](int64_t elems) { return elems * bytes % vector == 0; };
  for (const IndexForm::Term& term : p.terms) {
    if (!aligned(term.factor)) return false;
  }
  for (int64_t factor : p.factors) {
    if (!aligned(factor)) return false;
  }
  return aligned(p.constant);
}

Value* Emitter::Gate(const Place& p, LaneShape at, int combination) {
  return p.gate == nullptr ? nullptr : Get(p.gate, at, combination);
}

Value* Emitter::Guard(Value* gate, Value* address) {
  if (gate == nullptr) return address;
  if (scratch_ == nullptr) {
    llvm::IRBuilderBase::InsertPointGuard guard(b_);
    b_.SetInsertPoint(prologue_, prologue_->begin());
    const uint64_t bytes = static_cast<uint64_t>(std::max(1, lanes_.width())) * 8;
    llvm::AllocaInst* memory = b_.CreateAlloca(llvm::ArrayType::get(b_.getInt8Ty(), bytes));
    memory->setAlignment(llvm::Align(64));
    scratch_ = memory;
  }
  return values_.Select(gate, address, scratch_);
}

// ** loads **

Value* Emitter::LoadStrided(const Place& p, llvm::Type* element, Value* address) {
  const int64_t bytes = dtype::SizeBytes(p.param->dtype);
  Value* result = llvm::PoisonValue::get(
      llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes_.width())));
  for (int i = 0; i < lanes_.width(); ++i) {
    Value* at =
        b_.CreateConstGEP1_64(b_.getInt8Ty(), address, static_cast<uint64_t>(p.stride * bytes * i));
    Value* lane = b_.CreateAlignedLoad(element, at, AlignOf(p));
    result = b_.CreateInsertElement(result, lane, static_cast<uint64_t>(i));
  }
  return result;
}

// One element for all lanes. Where only some have their gate on, it is there.
Value* Emitter::LoadUniform(const Place& p, LaneShape at, int combination, Value* gate) {
  Value* any = gate != nullptr && gate->getType()->isVectorTy() ? b_.CreateOrReduce(gate) : gate;
  llvm::Type* element = values_.MemoryType(p.param->dtype);
  Value* address = Guard(any, Address(p, at, combination));
  Value* loaded =
      values_.FromMemory(b_.CreateAlignedLoad(element, address, AlignOf(p)), p.param->dtype);
  return at.vector ? Splat(loaded) : loaded;
}

// An element for each lane; `other` (in memory's form, may be null) where a gate with lanes is off.
Value* Emitter::LoadVector(const Place& p, LaneShape at, int combination, Value* gate,
                           Value* other) {
  llvm::Type* element = values_.MemoryType(p.param->dtype);
  llvm::Type* type = llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes_.width()));
  if (other == nullptr) other = llvm::Constant::getNullValue(type);
  if (p.along == Along::kStrided && p.stride == 1) {
    Value* address = Address(p, at, combination);
    if (gate != nullptr && gate->getType()->isVectorTy()) {
      return b_.CreateMaskedLoad(type, address, AlignOf(p), gate, other);
    }
    return b_.CreateAlignedLoad(type, Guard(gate, address), AlignOf(p));
  }
  if (p.along == Along::kStrided && gate == nullptr) {
    return LoadStrided(p, element, Address(p, at, combination));
  }
  if (gate != nullptr && !gate->getType()->isVectorTy()) gate = Splat(gate);
  return b_.CreateMaskedGather(type, Addresses(p, at, combination), AlignOf(p), gate, other);
}

// What is in memory, in register form, or the alternative; with the lanes of `at`.
Value* Emitter::LoadOne(Ref n, const Place& p, LaneShape at, int combination) {
  const DType d = p.param->dtype;
  const bool has_vector_gate = p.gate != nullptr && plan_.ShapeOf(p.gate).vector;
  Value* gate = Gate(p, {at.axes, has_vector_gate}, combination);
  const bool has_other = gate != nullptr && n->num_src > 1 && !uop::IsEffect(n->src(1)->op);
  Value* other = has_other ? Get(n->src(1), at, combination) : nullptr;
  Value* loaded;
  if (p.along == Along::kUniform) {
    loaded = LoadUniform(p, at, combination, gate);
  } else {
    const bool is_masked = has_other && has_vector_gate;
    Value* instead = is_masked ? values_.ToMemory(other, d) : nullptr;
    loaded = values_.FromMemory(LoadVector(p, at, combination, gate, instead), d);
    if (is_masked) return loaded;
  }
  if (!has_other) return loaded;
  return values_.Select(at.vector && !has_vector_gate ? Splat(gate) : gate, loaded, other);
}

absl::Status Emitter::EmitLoad(Ref n) {
  const Place& p = plan_.PlaceOf(n->src(0));
  if (IsAccumulator(p.param)) return LoadAccumulator(n, p);
  const LaneShape at = plan_.ShapeOf(n);
  std::vector<Value*> results;
  for (int c = 0; c < lanes_.Count(at.axes); ++c) results.push_back(LoadOne(n, p, at, c));
  NewNode(n).values = std::move(results);
  return absl::OkStatus();
}

// ** stores **

absl::Status Emitter::StoreOne(Ref n, const Place& p, int combination) {
  const LaneShape at = p.shape;
  const DType d = p.param->dtype;
  Value* value = values_.ToMemory(Get(n->src(1), at, combination), d);
  if (p.along == Along::kUniform) {
    if (at.vector) return Unimplemented(n, "all lanes are stored to one element");
    Value* gate = Gate(p, at, combination);
    b_.CreateAlignedStore(value, Guard(gate, Address(p, at, combination)), AlignOf(p));
    return absl::OkStatus();
  }
  const bool has_vector_gate = p.gate != nullptr && plan_.ShapeOf(p.gate).vector;
  Value* gate = Gate(p, {at.axes, has_vector_gate}, combination);
  if (p.along == Along::kStrided && p.stride == 1) {
    Value* address = Address(p, at, combination);
    if (has_vector_gate) {
      b_.CreateMaskedStore(value, address, AlignOf(p), gate);
    } else if (Streams(p)) {
      const auto align = llvm::Align(value->getType()->getPrimitiveSizeInBits() / 8);
      llvm::StoreInst* store = b_.CreateAlignedStore(value, address, align);
      llvm::Metadata* one = llvm::ConstantAsMetadata::get(b_.getInt32(1));
      store->setMetadata(llvm::LLVMContext::MD_nontemporal, llvm::MDNode::get(context_, one));
      has_streams_ = true;
    } else {
      b_.CreateAlignedStore(value, Guard(gate, address), AlignOf(p));
    }
    return absl::OkStatus();
  }
  if (p.along == Along::kStrided && gate == nullptr && lanes_.Count(at.axes) <= kMaxSpreadStores) {
    const int64_t bytes = dtype::SizeBytes(d);
    Value* address = Address(p, at, combination);
    for (int i = 0; i < lanes_.width(); ++i) {
      Value* to = b_.CreateConstGEP1_64(b_.getInt8Ty(), address,
                                        static_cast<uint64_t>(p.stride * bytes * i));
      b_.CreateAlignedStore(b_.CreateExtractElement(value, static_cast<uint64_t>(i)), to,
                            AlignOf(p));
    }
    return absl::OkStatus();
  }
  if (gate != nullptr && !has_vector_gate) gate = Splat(gate);
  if (gate == nullptr)
    gate = llvm::ConstantInt::getTrue(llvm::VectorType::get(
        b_.getInt1Ty(), static_cast<unsigned>(lanes_.width()), /*Scalable=*/false));
  b_.CreateMaskedScatter(value, Addresses(p, at, combination), AlignOf(p), gate);
  return absl::OkStatus();
}

absl::Status Emitter::EmitStore(Ref n) {
  const Place& p = plan_.PlaceOf(n->src(0));
  if (IsAccumulator(p.param)) return StoreAccumulator(n, p);
  for (int c = 0; c < lanes_.Count(p.shape.axes); ++c) {
    if (absl::Status status = StoreOne(n, p, c); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace kiln::backend_llvm
