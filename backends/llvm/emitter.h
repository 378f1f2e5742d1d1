// From a program to LLVM IR: one function, written so that no pass is needed afterwards. Includes
// LLVM headers: for the .cc files of this folder.
//
// A value is one LLVM value for each combination of its lane axes, a vector if it depends on the
// vector axis. Loops have their test at the end; addresses are computed where their parts are known,
// outside of inner loops; accumulators are SSA values that loops pass around as phis.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"

#include "llvm/IR/Module.h"

#include "backends/llvm/plan.h"
#include "backends/llvm/value_builder.h"

namespace kiln::backend_llvm {

// Name of the function that EmitProgram makes: void(void* const* buffers, const int64_t* variables,
// int64_t core).
inline constexpr char kEntryName[] = "kiln_kernel";

// Confined to the compile job.
class Emitter {
 public:
  // All borrowed.
  Emitter(const codegen::Program& program, const Plan& plan, const HostCpu& cpu,
          llvm::Module& module);
  // Once.
  absl::Status Run();

 private:
  // ** emitter.cc: functions, control, values **
  struct Node {
    std::vector<llvm::Value*> values;  // One for each combination; scalars or vectors.
    std::vector<llvm::Value*> splats;  // Vectors of scalars, made when asked for.
    int depth = 0;                     // Regions that were open around it.
  };
  struct Accumulator {
    bool vector = false;
    std::map<int64_t, size_t> slots;    // By element (of the first lane).
    std::vector<llvm::Value*> current;  // By slot.
  };
  // An open loop or IF.
  struct Region {
    Ref node = nullptr;
    llvm::BasicBlock* before = nullptr;  // Ends in the branch to the region.
    llvm::BasicBlock* exit = nullptr;
    llvm::BasicBlock* body = nullptr;
    llvm::PHINode* counter = nullptr;  // Of a loop: i64.
    llvm::Value* end = nullptr;
    bool may_skip = false;
    // Slots of the accumulators stored to inside: what they were before, and their phis in a loop;
    // and how many there were, for each accumulator.
    std::vector<std::pair<llvm::Value*, llvm::PHINode*>> saved;
    std::vector<size_t> num_slots;
  };
  using AddressKey = std::tuple<llvm::Value*, llvm::Value*, int64_t>;

  void MakeFunction();
  absl::Status Emit(Ref n);
  absl::Status EmitAlu(Ref n);
  void EmitReduce(Ref n);
  void OpenLoop(Ref n);
  void CloseLoop();
  void OpenIf(Ref n);
  void CloseIf();
  void EnterRegion(Region region);
  Region LeaveRegion();
  // Calls f(current value) for each slot of each accumulator stored to inside of the region.
  template <typename F>
  void ForEachStored(Ref region, F f);
  Node& NewNode(Ref n);
  // The value of `n` for a combination of `at`, as a vector if `at` has it. Pre: at contains its
  // shape.
  llvm::Value* Get(Ref n, LaneShape at, int combination);
  llvm::Value* Leaf(Ref n, LaneShape at, int combination);
  llvm::Value* Splat(llvm::Value* v);
  llvm::Value* Combine(Op op, DType d, llvm::Value* x, llvm::Value* y);
  llvm::Value* ReduceVector(Op op, DType d, llvm::Value* v);
  int depth() const { return static_cast<int>(regions_.size()); }

  // ** access.cc: memory **
  absl::Status EmitLoad(Ref n);
  absl::Status EmitStore(Ref n);
  absl::Status LoadAccumulator(Ref n, const Place& p);
  absl::Status StoreAccumulator(Ref n, const Place& p);
  llvm::Value* LoadOne(Ref n, const Place& p, LaneShape at, int combination);
  llvm::Value* LoadUniform(const Place& p, LaneShape at, int combination, llvm::Value* gate);
  llvm::Value* LoadVector(const Place& p, LaneShape at, int combination, llvm::Value* gate,
                          llvm::Value* other);
  absl::Status StoreOne(Ref n, const Place& p, int combination);
  llvm::Value* LoadStrided(const Place& p, llvm::Type* element, llvm::Value* address);
  // Element index of an access to an accumulator.
  int64_t SlotOf(const Place& p, LaneShape at, int combination) const;
  // Where the element (of the first lane) is.
  llvm::Value* Address(const Place& p, LaneShape at, int combination);
  llvm::Value* Addresses(const Place& p, LaneShape at, int combination);
  // base + value * bytes, computed where both are known.
  llvm::Value* Advance(llvm::Value* base, int* base_depth, Ref atom, llvm::Value* value,
                       int64_t bytes);
  // `value` as i64, next to where it is defined.
  llvm::Value* Widen(Ref atom, llvm::Value* value, int atom_depth);
  // The memory of the program, or some that may be touched at will where the gate is off.
  llvm::Value* Guard(llvm::Value* gate, llvm::Value* address);
  llvm::Value* Gate(const Place& p, LaneShape at, int combination);
  // Runs `make` with the builder where code of this depth belongs.
  template <typename F>
  llvm::Value* AtDepth(int at, F make);
  llvm::Align AlignOf(const Place& p) const;
  bool Streams(const Place& p) const;

  const codegen::Program& program_;
  const Plan& plan_;
  const Lanes& lanes_;
  const HostCpu& cpu_;
  llvm::Module& module_;
  llvm::LLVMContext& context_;
  Builder b_;
  ValueBuilder values_;

  llvm::Function* function_ = nullptr;
  llvm::BasicBlock* prologue_ = nullptr;
  llvm::Value* scratch_ = nullptr;  // Memory for accesses that are gated off; made when needed.
  std::vector<llvm::Value*> buffers_;
  std::vector<llvm::Value*> variables_;  // i64, by number.
  llvm::Value* core_ = nullptr;          // i64.
  bool has_streams_ = false;             // Some stores go past the caches.

  std::vector<Node> nodes_;
  uop::NodeMap<uint32_t> node_index_;            // Plus 1.
  std::map<int64_t, Accumulator> accumulators_;  // By number of the PARAM.
  std::vector<Region> regions_;
  // What Advance and Widen have made, by depth.
  std::vector<std::map<AddressKey, llvm::Value*>> addresses_;
};

}  // namespace kiln::backend_llvm
