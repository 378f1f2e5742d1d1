// What the methods of GraphBuilder share. For the graph_builder*.cc files.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"

#include "core/dtype/status.h"
#include "core/tensor/gradient/gradient.h"
#include "core/tensor/graph_builder.h"
#include "core/tensor/placement.h"
#include "core/uop/node_map.h"

namespace kiln::tensor::internal {

class BuilderState;

// Confined to one thread. One call of a method, in the making. Methods name the field of the message that they look at.
class BuilderCall {
 public:
  BuilderCall(BuilderState& impl, Op op);

  template <typename... Parts>
  absl::Status Wrong(std::string_view field, const Parts&... parts) const {
    return absl::InvalidArgumentError(Message(field, absl::StrCat(parts...)));
  }
  absl::Status BeyondLimit(std::string_view field, std::string_view limit, int64_t most) const;
  // `status` as the fault of `field`.
  absl::Status In(std::string_view field, const absl::Status& status) const;

  // ** sources **: of any dtype; a tensor, which index is not.
  absl::StatusOr<Ref> Any(std::string_view field, const Source& source) const;
  absl::StatusOr<Ref> Tensor(std::string_view field, const Source& source) const;
  absl::StatusOr<std::vector<Ref>> All(absl::Span<const Source> sources) const;

  // ** fields **
  absl::StatusOr<std::vector<Ref>> Dims(std::string_view field, absl::Span<const Dim> dims,
                                        int64_t per_axis);
  absl::Status CheckAxis(std::string_view field, int64_t axis, size_t rank) const;
  // Bit i: axis i. Each at most once.
  absl::StatusOr<uint32_t> AxisMask(std::string_view field, absl::Span<const int64_t> axes,
                                    size_t rank) const;
  absl::Status CheckName(std::string_view field, std::string_view name) const;
  absl::Status CheckDevice(std::string_view field, std::string_view name) const;
  absl::Status CheckStorable(std::string_view field, DType dtype) const;
  absl::Status CheckFloat(std::string_view field, Ref n) const;

  // ** elementwise **
  // The dtype that the operands share and the op is defined on. Pre: as many as the op takes.
  absl::StatusOr<DType> OperandDType(absl::Span<const Ref> refs) const;
  // The op on sizes, with dtype `result`.
  absl::StatusOr<Ref> IndexAlu(DType result, absl::Span<const Ref> refs);
  // Whether nothing that a PAD of the last `steps` movements adds is left in `target`.
  absl::Status CheckCutOff(Ref target, uint32_t steps);

  // ** shapes **
  absl::Span<const Ref> Shape(Ref n) const;  // Pre: n is of an entry that did not fail.
  // Keeps conditions; charges the work on symbolic sizes.
  absl::StatusOr<std::vector<Ref>> Accept(std::string_view field,
                                          absl::StatusOr<CheckedShape> checked);
  absl::Status Require(std::string_view field, Ref condition);
  absl::Status Charge(std::string_view field, absl::Span<const Ref> dims);
  // `x` after `step`, reshaped to the simplified form of its shape.
  absl::StatusOr<Ref> Move(std::string_view field, Ref x, const Movement& step);
  // `x` with the shape of `like`, if it is equal.
  absl::StatusOr<Ref> WithShapeOf(std::string_view field, Ref x, Ref like) const;

 private:
  std::string Message(std::string_view field, std::string_view what) const;

  BuilderState& impl_;
  Op op_;
  uint32_t number_;
};

// Confined to one thread.
class BuilderState {
 public:
  explicit BuilderState(const GraphLimits& limits)
      : limits_(limits),
        graph_(std::make_unique<Graph>()),
        gradient_budget_{.visits = limits.gradient_visits, .nodes = limits.gradient_nodes} {}

  // Runs `make` as the next call, looks over the node that it returns, and keeps it.
  absl::StatusOr<Value> Add(Op op, absl::FunctionRef<absl::StatusOr<Ref>(BuilderCall&)> make);

  // Runs `make` as the next call, of a library function: nodes that are added meanwhile are its own,
  // and their Values end with it. What it returns is kept, a node for each.
  absl::StatusOr<std::vector<Value>> AddCall(
      absl::string_view function, absl::FunctionRef<absl::StatusOr<std::vector<Value>>()> make);
  // "node 7 (call softmax)". Pre: within AddCall.
  std::string CallName() const;
  // A node of the graph as a Value. Pre: within AddCall; the node was made by a call.
  Value Inner(Ref n);

  absl::StatusOr<Ref> Get(Value v) const;
  absl::StatusOr<TensorGraph> Finish(absl::Span<const Source> outputs);

  int64_t num_calls() const { return static_cast<int64_t>(entries_.size()); }
  // What messages call the next node, and one that there is.
  uint32_t NextNumber() const { return number_.value_or(static_cast<uint32_t>(entries_.size())); }
  uint32_t NumberOf(Value v) const {
    return v.node < entries_.size() ? entries_[v.node].number : v.node;
  }
  Graph& graph() { return *graph_; }
  const GraphLimits& limits() const { return limits_; }
  // Whether a node depends on constants and variables only.
  // All of dtype index do, also those that simplifying has made.
  bool IsDim(Ref n) const { return n->dtype == DType::kIndex || is_dim_.Get(n); }

  struct Entry {
    Ref ref;  // Null if it failed.
    absl::Status error;
    uint32_t number = 0;
  };
  // How a node denotes elements of an input; slot_plus_1 of 0: not at all.
  struct Target {
    uint32_t slot_plus_1 = 0;
    uint32_t steps = 0;  // Movements since the INPUT or ASSIGN.
    bool pads = false;   // One of them is a PAD.
  };
  Target TargetOf(Ref n) const { return targets_.Get(n); }

  absl::Status AddInput(const BuilderCall& call, Ref input, absl::string_view device);
  absl::Status AddVariable(const BuilderCall& call, Ref variable);
  absl::Status AddConstant(const BuilderCall& call);
  absl::Status SpendAssignWork(int64_t nodes);
  void Label(absl::string_view label);
  void Number(uint32_t number) { number_ = number; }
  // The adjoint of `x`: d(sum(y * seed)) / dx.
  absl::StatusOr<Ref> Gradient(BuilderCall& call, Ref y, Ref seed, Ref x);

 private:
  friend class BuilderCall;
  static constexpr uint32_t kInner = uint32_t{1} << 31;  // In Value::node: an index into inner_.
  bool in_call() const { return !function_.empty(); }
  absl::StatusOr<Adjoints*> AdjointsOf(Ref y, Ref seed);
  // Notes what a call made below `root`, which may be deep.
  absl::Status NoteBelow(BuilderCall& call, Ref root);
  // Derives what is kept per node.
  absl::Status Note(BuilderCall& call, Ref n);
  absl::Status NotePlacement(BuilderCall& call, Ref n);
  void NoteTarget(Ref n);
  uint32_t Terms(Ref dim);
  // Of the writes below the sink, no two to one input are independent.
  absl::Status CheckAssignOrder(absl::Span<const Ref> nodes);
  absl::Status CheckReaches(Ref later, Ref earlier);
  void Collect(absl::Span<const Ref> nodes, TensorGraph& out);

  GraphLimits limits_;
  std::unique_ptr<Graph> graph_;
  std::vector<Entry> entries_;
  std::string function_;                    // The library function that is being expanded.
  std::vector<Entry> inner_;                // Its nodes.
  int64_t num_inner_ = 0;                   // Of all functions.
  std::string label_;                       // Of the next call.
  std::optional<uint32_t> number_;          // The same.
  std::map<uint32_t, std::string> labels_;  // By node id.
  uop::NodeMap<bool> noted_, is_dim_;
  uop::NodeMap<uint32_t> terms_;  // 0: not known yet.
  uop::NodeMap<Target> targets_;
  uop::NodeMap<Ref> shards_;                // Placement: the SHARD, and
  uop::NodeMap<int8_t> shard_axis_plus_1_;  // its axis.
  struct Slot {
    Ref input;
    std::string device;
  };
  absl::flat_hash_map<int64_t, Slot> slots_;
  absl::flat_hash_map<std::string, Ref> variables_;
  std::vector<Ref> conditions_;
  uop::NodeMap<bool> is_condition_;
  uop::NodeMap<bool> reached_;
  GradientBudget gradient_budget_;
  std::vector<std::unique_ptr<Adjoints>> adjoints_;  // Of the last few gradients, newest last.
  int64_t num_constants_ = 0, num_dims_ = 0, dim_work_ = 0, assign_work_ = 0;
};

}  // namespace kiln::tensor::internal
