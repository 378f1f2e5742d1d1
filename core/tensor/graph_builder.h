// How tensor graphs are built, by code and from what strangers send: each call adds one node of the
// wire's op table, infers its dtype and shape, and refuses what is wrong.
//
//   GraphBuilder b;
//   auto n = b.Variable("n", 1, 64);
//   auto x = b.Input(0, DType::kFloat32, {n, 8});              // [n, 8]
//   auto sum = b.Reduce(Op::kAdd, b.Alu(Op::kMul, {x, x}), {1});  // [n, 1]
//   KILN_ASSIGN_OR_RETURN(TensorGraph graph, std::move(b).Finish({sum}));
//
// A source may be the result of a call, checked or not: an error that it holds is passed on as it
// is, so that a chain of calls needs one check at its end.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

#include "core/dtype/scalar.h"
#include "core/tensor/movement.h"
#include "core/tensor/tensor_graph.h"

namespace kiln::tensor {

namespace internal {
class BuilderState;
}

// A node of a builder: the number of the call that made it, 0, 1, ... Calls that fail count too, so
// that the node k of a message is its k-th call. (A CALL has a number for each of its outputs.)
struct Value {
  uint32_t node = 0;
  friend constexpr bool operator==(Value, Value) = default;
};

// Immutable. A node as a source: a value, or the result of a call.
class Source {
 public:
  Source(Value v) : value_(v) {}                             // NOLINT: implicit.
  Source(absl::StatusOr<Value> v) : value_(std::move(v)) {}  // NOLINT: implicit.
  const absl::StatusOr<Value>& value() const { return value_; }

 private:
  absl::StatusOr<Value> value_;
};

// Immutable. A size, offset or padding: a number, or a node of dtype index that depends on
// constants and variables only.
class Dim {
 public:
  Dim(int64_t size) : size_(size) {}                           // NOLINT: implicit.
  Dim(Value node) : node_(node) {}                             // NOLINT: implicit.
  Dim(absl::StatusOr<Value> node) : node_(std::move(node)) {}  // NOLINT: implicit.
  const std::optional<Source>& node() const { return node_; }
  int64_t size() const { return size_; }  // Pre: !node().

 private:
  int64_t size_ = 0;
  std::optional<Source> node_;
};

// An attribute of a library function. Sizes may be given where integers are asked for, and the other
// way round, as long as they are constant.
using AttributeValue =
    std::variant<int64_t, double, bool, std::string, DType, std::vector<int64_t>, std::vector<Dim>>;
struct Attribute {
  std::string name;
  AttributeValue value;
};

// What a builder accepts before it answers ResourceExhausted, naming the limit.
struct GraphLimits {
  int64_t nodes = 1 << 18;            // Calls, and what library functions consist of.
  int64_t constants = 1 << 17;        // CONST nodes.
  int64_t rank = kMaxRank;            // Axes of a tensor; kMaxRank at most.
  int64_t elems = int64_t{1} << 42;   // Of one tensor, for the largest values of its variables.
  int64_t dims = 1 << 21;             // Sizes, offsets and paddings given to nodes, in all.
  int64_t dim_terms = 256;            // Of one symbolic size, written out as a tree.
  int64_t dim_work = 1 << 21;         // Terms of the symbolic sizes that calls look at, in all.
  int64_t conditions = 1 << 12;       // On variables.
  int64_t slot = (1 << 20) - 1;       // The largest number of an input slot.
  int64_t devices = 256;              // Of one SHARD.
  int64_t name_bytes = 256;           // Of the name of a variable or device, or a label.
  int64_t assign_work = 1 << 26;      // Nodes visited to see that the writes to inputs are right.
  int64_t gradient_visits = 1 << 24;  // Nodes that are differentiated, all gradients together.
  int64_t gradient_nodes = 1 << 20;   // Nodes that gradients consist of.
};

// Confined to one thread. Owns the graph until Finish.
//
// Every method that makes a node returns its Value, or an error: InvalidArgument where the request
// is wrong, ResourceExhausted where it is beyond a limit. The message names the node (number, label,
// op) and the field. A node that failed is poisoned: to use it as a source is the error that it
// failed with.
//
// Values of dtype index are sizes in the making: scalars that depend on constants and variables
// only. CAST turns them into data. Shapes are simplified, and sizes are equal if they are the same
// node then; where a size depends on variables, what must hold for a call to be right and can't be
// decided goes to TensorGraph::conditions.
class GraphBuilder {
 public:
  explicit GraphBuilder(const GraphLimits& limits = {});
  ~GraphBuilder();
  GraphBuilder(GraphBuilder&&) noexcept;
  GraphBuilder& operator=(GraphBuilder&&) noexcept;

  // Names the next node, for messages and profiles. Cut off at the limit.
  GraphBuilder& Label(absl::string_view label);
  // What messages call the next node, instead of the number of its call: for graphs whose nodes are
  // not one call each. A CALL's outputs all have it.
  GraphBuilder& Number(uint32_t number);

  // ** leaves **
  // A tensor bound to `slot` at run time. Inputs of one slot agree on everything. `device`: where it
  // lives; empty: the default device.
  absl::StatusOr<Value> Input(int64_t slot, DType dtype, absl::Span<const Dim> dims,
                              absl::string_view device = {});
  // A scalar of dtype bool, integer, float or index, in canonical form.
  absl::StatusOr<Value> Const(DType dtype, Scalar value);
  absl::StatusOr<Value> Index(int64_t value) { return Const(DType::kIndex, Scalar::Int(value)); }
  // A size that each run gives, min <= value <= max. Variables of one name are one variable.
  absl::StatusOr<Value> Variable(absl::string_view name, int64_t min, int64_t max);
  // The index along `axis`, of a fixed-width integer dtype (wraps).
  absl::StatusOr<Value> Iota(DType dtype, absl::Span<const Dim> dims, int64_t axis);

  // ** movement **
  absl::StatusOr<Value> Reshape(const Source& x, absl::Span<const Dim> dims);
  absl::StatusOr<Value> Expand(const Source& x, absl::Span<const Dim> dims);
  // Axis i of the result is axis axes[i] of x.
  absl::StatusOr<Value> Permute(const Source& x, absl::Span<const int64_t> axes);
  // Reverses these axes; each is named at most once.
  absl::StatusOr<Value> Flip(const Source& x, absl::Span<const int64_t> axes);
  // before, after of each axis; begin, end of each axis.
  absl::StatusOr<Value> Pad(const Source& x, absl::Span<const Dim> pairs);
  absl::StatusOr<Value> Shrink(const Source& x, absl::Span<const Dim> pairs);

  // ** elementwise **
  // Any op of ALU kind but CAST and BITCAST; sources of one shape. Also on index values.
  absl::StatusOr<Value> Alu(Op op, absl::Span<const Source> src);
  // From index: to any dtype. To index: from index values and booleans of them only.
  absl::StatusOr<Value> Cast(const Source& x, DType to);
  // If element sizes differ, the last axis is scaled.
  absl::StatusOr<Value> Bitcast(const Source& x, DType to);

  // ** tensors **
  // ADD, MUL or MAX over `axes` (at least one, each once), which keep size 1.
  absl::StatusOr<Value> Reduce(Op op, const Source& x, absl::Span<const int64_t> axes);
  absl::StatusOr<Value> Contiguous(const Source& x);
  absl::StatusOr<Value> Detach(const Source& x);
  // Writes `value` to the elements of an input that `target` denotes: an INPUT, another ASSIGN
  // (which stands for its own target), or a chain of movements over one of them that finds each
  // element at most once and adds none (no EXPAND; what PAD adds is cut off again). The value of the
  // node is `value`. Who reads the INPUT itself reads what it held before the run. Two writes to one
  // input are carried out in the order in which they depend on each other; Finish refuses a graph
  // where neither does.
  absl::StatusOr<Value> Assign(const Source& target, const Source& value);

  // ** devices **
  absl::StatusOr<Value> Copy(const Source& x, absl::string_view device);
  // On each of `devices` (two or more, different) an equal piece of x along `axis`, in their order;
  // or without axis all of x on each. The shape is still that of the whole.
  absl::StatusOr<Value> Shard(const Source& x, absl::Span<const std::string> devices,
                              std::optional<int64_t> axis);
  // Back to one tensor, on the first device. Pre-condition checked: x is sharded.
  absl::StatusOr<Value> Unshard(const Source& x);
  // Combines the pieces elementwise; each device gets the result as its piece.
  absl::StatusOr<Value> AllReduce(Op op, const Source& x);

  // ** the function library **
  // What the function (core/tensor/functions) makes of `inputs`: its outputs, in order. It is
  // expanded into primitives at once, which count against the limits. Inputs are given in the order
  // of the schema; an optional one that is left out in the middle is nullopt. NotFound: no such
  // function. InvalidArgument: an argument is wrong; the message names function and argument.
  absl::StatusOr<std::vector<Value>> Call(absl::string_view function,
                                          absl::Span<const std::optional<Source>> inputs,
                                          absl::Span<const Attribute> attributes = {});
  // d(sum(y * seed)) / d(xs[which]), as nodes of the same graph (core/tensor/gradient): of x's dtype
  // and shape, zeros where no path leads from y to x. No seed: ones. The gradients of one y and seed
  // cost one pass, in whatever calls they are asked for. InvalidArgument: y or x is no float, the
  // seed has not y's dtype and shape.
  absl::StatusOr<Value> Gradient(const Source& y, const std::optional<Source>& seed,
                                 absl::Span<const Source> xs, int64_t which);

  // ** questions **: InvalidArgument if there is no such node; the error of one that failed.
  absl::StatusOr<DType> DTypeOf(Value v) const;
  // Dims are simplified nodes of the builder's graph, borrowed until it dies.
  absl::StatusOr<absl::Span<const Ref>> ShapeOf(Value v) const;
  int64_t num_nodes() const;

  // The graph that computes `outputs`, at least one, none of dtype index; verified (kTensorSpec).
  absl::StatusOr<TensorGraph> Finish(absl::Span<const Source> outputs) &&;

 private:
  std::unique_ptr<internal::BuilderState> impl_;
};

}  // namespace kiln::tensor
