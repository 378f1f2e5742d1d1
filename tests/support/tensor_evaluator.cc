#include "tests/support/tensor_evaluator.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/dtype/cast.h"
#include "core/dtype/status.h"
#include "core/symbolic/evaluate.h"
#include "core/tensor/placement.h"
#include "core/uop/facts.h"
#include "core/uop/node_map.h"
#include "core/uop/text.h"
#include "core/uop/walk.h"
#include "tests/support/tensor_alu.h"
#include "tests/support/tensor_movement.h"

namespace kiln::support {
namespace {

using Shape = std::vector<int64_t>;

// Immutable once made; a reshape shares its source's bytes.
struct Tensor {
  Shape shape;
  std::shared_ptr<const Bytes> bytes;
};

// Which elements of an input a node denotes, row-major; -1: none.
struct Places {
  int64_t slot = 0;
  Shape shape;
  std::vector<int64_t> at;
};

// One run. Confined to one thread.
class Evaluator {
 public:
  Evaluator(const tensor::TensorGraph& graph, const TensorRun& run, int64_t max_elems)
      : graph_(graph), g_(*graph.graph), run_(run), max_elems_(max_elems) {}

  absl::StatusOr<TensorResults> Run() {
    KILN_RETURN_IF_ERROR(Bind());
    const std::vector<Ref> nodes = uop::Toposort(graph_.sink);
    for (Ref n : nodes) {
      for (Ref s : n->src()) ++uses_[s];
    }
    for (Ref n : nodes) {
      if (n->Is(Op::kSink) || n->dtype == DType::kIndex) continue;
      KILN_ASSIGN_OR_RETURN(values_[n->id], Value(n), _ << "in " << uop::Excerpt(n));
      for (Ref s : n->src()) {
        if (--uses_[s] == 0) values_.erase(s->id);
      }
    }
    TensorResults results;
    for (Ref n : graph_.sink->src()) {
      const Tensor& t = values_.at(n->id);
      results.outputs.push_back({n->dtype, t.shape, *t.bytes});
    }
    results.assigned = std::move(assigned_);
    return results;
  }

 private:
  // ** what the run gives **

  absl::Status Bind() {
    for (Ref variable : graph_.variables) {
      const std::string name(uop::VariableOf(variable).name);
      const auto it = run_.var_vals.find(name);
      if (it == run_.var_vals.end()) {
        return absl::InvalidArgumentError(absl::StrCat("no value for variable \"", name, "\""));
      }
      bindings_.variables.emplace(name, Scalar::Int(it->second));
    }
    for (Ref condition : graph_.conditions) {
      KILN_ASSIGN_OR_RETURN(const Scalar holds, symbolic::Evaluate(g_, condition, bindings_));
      if (!holds.AsBool()) {
        return absl::InvalidArgumentError(
            absl::StrCat("the variables do not satisfy ", uop::Excerpt(condition)));
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Shape> Evaluated(absl::Span<const Ref> dims) {
    Shape shape;
    for (Ref d : dims) {
      KILN_ASSIGN_OR_RETURN(const Scalar v, symbolic::Evaluate(g_, d, bindings_));
      shape.push_back(v.AsInt());
    }
    return shape;
  }

  absl::StatusOr<Shape> ShapeOf(Ref n) {
    KILN_ASSIGN_OR_RETURN(const absl::Span<const Ref> dims, uop::ShapeOf(g_, n));
    KILN_ASSIGN_OR_RETURN(Shape shape, Evaluated(dims));
    int64_t elems = 1;
    for (int64_t size : shape) {
      if (size < 0) return absl::InvalidArgumentError(absl::StrCat("a size of ", size));
      elems *= size;
      if (elems > max_elems_) return absl::ResourceExhaustedError("too many elements to evaluate");
    }
    return shape;
  }

  // ** values **

  const Tensor& Of(Ref n) const { return values_.at(n->id); }

  static Tensor Make(Shape shape, Bytes bytes) {
    return {std::move(shape), std::make_shared<const Bytes>(std::move(bytes))};
  }
  static int64_t Count(const Shape& shape) {
    int64_t n = 1;
    for (int64_t size : shape) n *= size;
    return n;
  }

  absl::StatusOr<Tensor> Value(Ref n) {
    KILN_ASSIGN_OR_RETURN(Shape shape, ShapeOf(n));
    if (uop::IsMovement(n->op)) return Moved(n, std::move(shape));
    if (n->Is(Op::kBitcast)) return Bitcast(n, std::move(shape));
    if (uop::IsAlu(n->op)) return Alu(n, std::move(shape));
    switch (n->op) {
      case Op::kConst: {
        Bytes bytes(static_cast<size_t>(dtype::SizeBytes(n->dtype)));
        StoreElement(bytes, n->dtype, 0, n->arg.scalar());
        return Make(std::move(shape), std::move(bytes));
      }
      case Op::kInput:
        return Input(n, std::move(shape));
      case Op::kIota: {
        Bytes bytes = EvaluateIota(n->dtype, shape, n->arg.integer());
        return Make(std::move(shape), std::move(bytes));
      }
      case Op::kReduce: {
        const ReduceArg arg = n->arg.reduce();
        const Tensor& x = Of(n->src(0));
        return Make(std::move(shape),
                    EvaluateReduce(arg.op, n->dtype, arg.axes, x.shape, *x.bytes));
      }
      case Op::kContiguous:
      case Op::kDetach:
      case Op::kCopy:
      case Op::kShard:
      case Op::kUnshard:
        return Of(n->src(0));
      case Op::kAllReduce:
        return AllReduce(n);
      case Op::kAssign:
        return Assign(n);
      default:
        return absl::UnimplementedError(absl::StrCat("no value of ", std::string(Name(n->op))));
    }
  }

  absl::StatusOr<Tensor> Input(Ref n, Shape shape) {
    const int64_t slot = n->arg.integer();
    const auto it = run_.inputs.find(slot);
    const auto want = static_cast<size_t>(Count(shape) * dtype::SizeBytes(n->dtype));
    if (it == run_.inputs.end() || it->second.size() != want) {
      return absl::InvalidArgumentError(absl::StrCat("no ", want, " bytes for slot ", slot));
    }
    return Make(std::move(shape), it->second);
  }

  absl::StatusOr<Tensor> Alu(Ref n, Shape shape) {
    if (n->src(n->Is(Op::kWhere) ? 1 : 0)->dtype == DType::kIndex) {
      KILN_ASSIGN_OR_RETURN(const Scalar v, symbolic::Evaluate(g_, n, bindings_));
      Bytes bytes(static_cast<size_t>(dtype::SizeBytes(n->dtype)));
      StoreElement(bytes, n->dtype, 0, v);
      return Make(std::move(shape), std::move(bytes));
    }
    std::vector<const Bytes*> src;
    for (Ref s : n->src()) src.push_back(Of(s).bytes.get());
    KILN_ASSIGN_OR_RETURN(Bytes bytes, EvaluateAlu(n, src, Count(shape)));
    return Make(std::move(shape), std::move(bytes));
  }

  absl::StatusOr<Tensor> Bitcast(Ref n, Shape shape) {
    if (n->dtype != DType::kBool) return Tensor{std::move(shape), Of(n->src(0)).bytes};
    Bytes bytes = *Of(n->src(0)).bytes;
    for (std::byte& b : bytes) b = std::byte{b != std::byte{0}};
    return Make(std::move(shape), std::move(bytes));
  }

  absl::StatusOr<Tensor> Moved(Ref n, Shape shape) {
    const Tensor& x = Of(n->src(0));
    if (n->Is(Op::kReshape)) return Tensor{std::move(shape), x.bytes};
    KILN_ASSIGN_OR_RETURN(const Shape dims, Evaluated(n->src().subspan(1)));
    const MovementPlan plan = PlanMovement(n, x.shape, dims);
    Bytes out(static_cast<size_t>(Count(plan.out) * dtype::SizeBytes(n->dtype)));
    const auto copy = [&](auto element) {
      using T = decltype(element);
      CopyElements(plan.copied, reinterpret_cast<T*>(out.data()), plan.to,
                   reinterpret_cast<const T*>(x.bytes->data()), plan.from);
    };
    switch (dtype::SizeBytes(n->dtype)) {
      case 1:
        copy(uint8_t{});
        break;
      case 2:
        copy(uint16_t{});
        break;
      case 4:
        copy(uint32_t{});
        break;
      default:
        copy(uint64_t{});
    }
    return Make(std::move(shape), std::move(out));
  }

  // ** several devices **

  // Where nodes live, worked out when first asked for.
  absl::StatusOr<tensor::Placement> PlacementOf(Ref root) {
    for (Ref n : uop::Toposort(root)) {
      if (placements_.contains(n->id)) continue;
      std::vector<tensor::Placement> sources;
      for (Ref s : n->src()) sources.push_back(placements_.at(s->id));
      KILN_ASSIGN_OR_RETURN(const tensor::PlacementResult result,
                            tensor::PlacementOf(g_, n, sources));
      placements_[n->id] = result.placement;
    }
    return placements_.at(root->id);
  }

  absl::StatusOr<Tensor> AllReduce(Ref n) {
    KILN_ASSIGN_OR_RETURN(const tensor::Placement placement, PlacementOf(n->src(0)));
    const auto pieces = static_cast<int64_t>(tensor::DevicesOf(placement.shard).size());
    const Tensor& x = Of(n->src(0));
    const Op by = n->arg.reduce().op;
    if (!placement.axis.has_value()) {
      Bytes sum = *x.bytes;
      for (int64_t i = 1; i < pieces; ++i) sum = Combine(by, n->dtype, sum, *x.bytes);
      return Make(x.shape, std::move(sum));
    }
    // Each piece as an array of its own, then the combination in the place of each.
    const auto axis = static_cast<size_t>(*placement.axis);
    Shape piece = x.shape;
    piece[axis] /= pieces;
    Walk whole{0, RowMajorStrides(x.shape)};
    const Walk part{0, RowMajorStrides(piece)};
    const auto elem = static_cast<size_t>(dtype::SizeBytes(n->dtype));
    const auto walk = [&](Bytes& to, const Bytes& from, bool to_part) {
      ForEachPair(piece, whole, part, [&](int64_t i, int64_t j) {
        const auto w = static_cast<size_t>(i) * elem, p = static_cast<size_t>(j) * elem;
        std::copy_n(&from[to_part ? w : p], elem, &to[to_part ? p : w]);
      });
    };
    Bytes sum, out(x.bytes->size());
    for (int64_t i = 0; i < pieces; ++i) {
      Bytes next(static_cast<size_t>(Count(piece)) * elem);
      whole.offset = i * piece[axis] * whole.strides[axis];
      walk(next, *x.bytes, /*to_part=*/true);
      sum = i == 0 ? next : Combine(by, n->dtype, sum, next);
    }
    for (int64_t i = 0; i < pieces; ++i) {
      whole.offset = i * piece[axis] * whole.strides[axis];
      walk(out, sum, /*to_part=*/false);
    }
    return Make(x.shape, std::move(out));
  }

  // ** assign **

  absl::StatusOr<Places> PlacesOf(Ref target) {
    std::vector<Ref> chain;
    Ref base = target;
    for (; !base->Is(Op::kInput); base = base->src(0)) {
      if (!base->Is(Op::kAssign)) chain.push_back(base);
    }
    Places places{.slot = base->arg.integer(), .shape = {}, .at = {}};
    KILN_ASSIGN_OR_RETURN(places.shape, ShapeOf(base));
    places.at.resize(static_cast<size_t>(Count(places.shape)));
    for (size_t i = 0; i < places.at.size(); ++i) places.at[i] = static_cast<int64_t>(i);
    for (; !chain.empty(); chain.pop_back()) {
      Ref n = chain.back();
      KILN_ASSIGN_OR_RETURN(Shape shape, ShapeOf(n));
      if (!n->Is(Op::kReshape)) {
        KILN_ASSIGN_OR_RETURN(const Shape dims, Evaluated(n->src().subspan(1)));
        const MovementPlan plan = PlanMovement(n, places.shape, dims);
        std::vector<int64_t> out(static_cast<size_t>(Count(plan.out)), -1);
        CopyElements(plan.copied, out.data(), plan.to, places.at.data(), plan.from);
        places.at = std::move(out);
      }
      places.shape = std::move(shape);
    }
    return places;
  }

  absl::StatusOr<Tensor> Assign(Ref n) {
    KILN_ASSIGN_OR_RETURN(const Places places, PlacesOf(n->src(0)));
    const auto it = run_.inputs.find(places.slot);
    if (it == run_.inputs.end()) {
      return absl::InvalidArgumentError(absl::StrCat("nothing for slot ", places.slot));
    }
    Bytes& memory = assigned_.try_emplace(places.slot, it->second).first->second;
    const Tensor& value = Of(n->src(1));
    const auto elem = static_cast<size_t>(dtype::SizeBytes(n->dtype));
    for (size_t i = 0; i < places.at.size(); ++i) {
      const auto at = static_cast<size_t>(places.at[i]) * elem;
      if (places.at[i] < 0 || at + elem > memory.size()) {
        return absl::InternalError("an assign writes outside of its input");
      }
      std::copy_n(&(*value.bytes)[i * elem], elem, &memory[at]);
    }
    return value;
  }

  const tensor::TensorGraph& graph_;
  Graph& g_;
  const TensorRun& run_;
  const int64_t max_elems_;
  symbolic::Bindings bindings_;
  uop::NodeMap<uint32_t> uses_;
  std::map<uint32_t, Tensor> values_;  // By node id; only what is still needed.
  std::map<uint32_t, tensor::Placement> placements_;
  std::map<int64_t, Bytes> assigned_;
};

}  // namespace

absl::StatusOr<TensorResults> EvaluateTensors(const tensor::TensorGraph& graph,
                                              const TensorRun& run, int64_t max_elems) {
  return Evaluator(graph, run, max_elems).Run();
}

}  // namespace kiln::support
