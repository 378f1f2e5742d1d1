#include "core/schedule/multi.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/dtype/status.h"
#include "core/symbolic/simplify.h"
#include "core/tensor/placement.h"
#include "core/uop/facts.h"
#include "core/uop/text.h"
#include "core/uop/walk.h"

namespace kiln::schedule::internal {
namespace {

using tensor::Placement;

class ShardLowering {
 public:
  explicit ShardLowering(Graph& g) : g_(g) {}

  absl::StatusOr<Ref> Run(Ref sink) {
    for (Ref n : uop::Toposort(sink)) {
      if (n == sink) continue;
      KILN_RETURN_IF_ERROR(Lower(n));
    }
    std::vector<Ref> outputs;
    for (Ref n : sink->src()) {
      KILN_ASSIGN_OR_RETURN(Ref whole, Whole(n));
      outputs.push_back(whole);
    }
    return g_.WithSources(sink, outputs);
  }

 private:
  // What has become of a node: one tensor, or one for each device.
  struct Lowered {
    Placement placement;
    std::vector<Ref> pieces;
  };
  const Lowered& Of(Ref n) const { return lowered_[index_.Get(n) - 1]; }

  absl::Status Lower(Ref n) {
    std::vector<Placement> sources;
    for (Ref s : n->src()) sources.push_back(Of(s).placement);
    auto placed = tensor::PlacementOf(g_, n, sources);
    if (!placed.ok()) {
      return absl::Status(
          placed.status().code(),
          absl::StrCat("node ", n->id, ", ", uop::Excerpt(n), ": ", placed.status().message()));
    }
    Lowered out{.placement = placed->placement, .pieces = {}};
    KILN_ASSIGN_OR_RETURN(out.pieces, PiecesOf(n, out.placement));
    lowered_.push_back(std::move(out));
    index_[n] = static_cast<uint32_t>(lowered_.size());
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<Ref>> PiecesOf(Ref n, const Placement& p) {
    if (n->op == Op::kUnshard) {
      KILN_ASSIGN_OR_RETURN(Ref whole, Whole(n->src(0)));
      return std::vector<Ref>{whole};
    }
    if (!p.is_sharded()) {
      std::vector<Ref> src;
      for (Ref s : n->src()) src.push_back(Of(s).pieces[0]);
      return std::vector<Ref>{g_.WithSources(n, src)};
    }
    const std::vector<std::string> devices = tensor::DevicesOf(p.shard);
    std::vector<Ref> pieces;
    for (size_t i = 0; i < devices.size(); ++i) {
      if (n->op == Op::kShard || n->op == Op::kAllReduce) {
        KILN_ASSIGN_OR_RETURN(Ref piece, Piece(n->src(0), p, devices, i));
        pieces.push_back(piece);
      } else {
        KILN_ASSIGN_OR_RETURN(Ref piece, OnDevice(n, p, devices, i));
        pieces.push_back(piece);
      }
    }
    const bool joins =
        n->op == Op::kAllReduce ||
        (n->op == Op::kReduce && Of(n->src(0)).placement.axis.has_value() && !p.axis.has_value());
    return joins ? Exchange(n->arg.reduce().op, pieces, devices) : pieces;
  }

  // What device `i` computes of `n`.
  absl::StatusOr<Ref> OnDevice(Ref n, const Placement& p, absl::Span<const std::string> devices,
                               size_t i) {
    std::vector<Ref> src(n->src().begin(), n->src().end());
    if (!uop::IsMovement(n->op)) {
      for (Ref& s : src) {
        // A reduction takes the pieces as they are, whatever the placement of its result.
        const Placement& of_s = Of(s).placement;
        KILN_ASSIGN_OR_RETURN(s, Piece(s, n->op == Op::kReduce ? of_s : p, devices, i));
      }
      return g_.WithSources(n, src);
    }
    src[0] = Of(n->src(0)).pieces[i];
    if (p.axis.has_value()) {
      // RESHAPE and EXPAND have a size for each axis; PAD and SHRINK a pair, of which an end shrinks.
      const auto axis = static_cast<size_t>(*p.axis);
      const bool has_sizes = n->op == Op::kReshape || n->op == Op::kExpand;
      const size_t at = has_sizes ? axis + 1 : 2 * axis + 2;
      if (has_sizes || n->op == Op::kShrink) {
        KILN_ASSIGN_OR_RETURN(src[at], PieceSize(src[at], devices.size()));
      }
    }
    return g_.WithSources(n, src);
  }

  // The part of `n` that device `i` of placement `p` works on, there.
  absl::StatusOr<Ref> Piece(Ref n, const Placement& p, absl::Span<const std::string> devices,
                            size_t i) {
    const Lowered& of_n = Of(n);
    Ref piece = of_n.placement.is_sharded() ? of_n.pieces[i] : of_n.pieces[0];
    if (p.axis.has_value() && !of_n.placement.axis.has_value()) {
      KILN_ASSIGN_OR_RETURN(piece, Cut(piece, *p.axis, devices.size(), i));
    }
    return of_n.placement.is_sharded() ? piece : CopyTo(piece, devices[i]);
  }

  absl::StatusOr<Ref> PieceSize(Ref size, size_t pieces) {
    return symbolic::Simplify(g_, g_.IDiv(size, g_.Index(static_cast<int64_t>(pieces))));
  }

  // Piece `i` of `n` along `axis`.
  absl::StatusOr<Ref> Cut(Ref n, int axis, size_t pieces, size_t i) {
    KILN_ASSIGN_OR_RETURN(const absl::Span<const Ref> shape, uop::ShapeOf(g_, n));
    std::vector<Ref> src = {n};
    for (size_t a = 0; a < shape.size(); ++a) {
      Ref begin = g_.Index(0), end = shape[a];
      if (a == static_cast<size_t>(axis)) {
        KILN_ASSIGN_OR_RETURN(Ref size, PieceSize(end, pieces));
        begin = g_.Mul(size, g_.Index(static_cast<int64_t>(i)));
        KILN_ASSIGN_OR_RETURN(begin, symbolic::Simplify(g_, begin));
        KILN_ASSIGN_OR_RETURN(end, symbolic::Simplify(g_, g_.Add(begin, size)));
      }
      src.push_back(begin);
      src.push_back(end);
    }
    return g_.Make(Op::kShrink, n->dtype, src);
  }

  Ref CopyTo(Ref n, std::string_view device) {
    return g_.Make(Op::kCopy, n->dtype, {n}, g_.PayloadArg(device, {}));
  }

  // All pieces combined elementwise, on each device, in the same order everywhere.
  std::vector<Ref> Exchange(Op op, absl::Span<const Ref> pieces,
                            absl::Span<const std::string> devices) {
    std::vector<Ref> combined;
    for (const std::string& device : devices) {
      Ref all = CopyTo(pieces[0], device);
      for (size_t j = 1; j < pieces.size(); ++j) {
        all = g_.Binary(op, all, CopyTo(pieces[j], device));
      }
      combined.push_back(all);
    }
    return combined;
  }

  // `n` as one tensor, on the first of its devices.
  absl::StatusOr<Ref> Whole(Ref n) {
    const Lowered& of_n = Of(n);
    if (!of_n.placement.is_sharded() || !of_n.placement.axis.has_value()) return of_n.pieces[0];
    const std::string first = tensor::DevicesOf(of_n.placement.shard)[0];
    KILN_ASSIGN_OR_RETURN(const absl::Span<const Ref> shape, uop::ShapeOf(g_, n));
    const auto axis = static_cast<size_t>(*of_n.placement.axis);
    KILN_ASSIGN_OR_RETURN(Ref size, PieceSize(shape[axis], of_n.pieces.size()));
    Ref position = g_.Make(Op::kIota, DType::kInt64, shape, Arg::Int(static_cast<int64_t>(axis)));
    Ref whole = nullptr;
    for (size_t i = of_n.pieces.size(); i-- > 0;) {
      Ref begin = g_.Mul(size, g_.Index(static_cast<int64_t>(i))), end = g_.Add(begin, size);
      std::vector<Ref> pad = {CopyTo(of_n.pieces[i], first)};
      for (size_t a = 0; a < shape.size(); ++a) {
        pad.push_back(a == axis ? begin : g_.Index(0));
        pad.push_back(a == axis ? g_.Sub(shape[a], end) : g_.Index(0));
      }
      for (size_t s = 1; s < pad.size(); ++s) {
        KILN_ASSIGN_OR_RETURN(pad[s], symbolic::Simplify(g_, pad[s]));
      }
      Ref padded = g_.Make(Op::kPad, n->dtype, pad);
      whole = whole == nullptr ? padded
                               : g_.Where(g_.Lt(position, Everywhere(end, shape)), padded, whole);
    }
    return whole;
  }

  // The index expression `value` as an int64 tensor of shape `shape`.
  Ref Everywhere(Ref value, absl::Span<const Ref> shape) {
    std::vector<Ref> ones = {g_.Cast(value, DType::kInt64)};
    ones.insert(ones.end(), shape.size(), g_.Index(1));
    std::vector<Ref> expand = {g_.Make(Op::kReshape, DType::kInt64, ones)};
    expand.insert(expand.end(), shape.begin(), shape.end());
    return g_.Make(Op::kExpand, DType::kInt64, expand);
  }

  Graph& g_;
  std::vector<Lowered> lowered_;
  uop::NodeMap<uint32_t> index_;  // Into `lowered_`, plus 1.
};

}  // namespace

absl::StatusOr<Ref> LowerShards(Graph& g, Ref sink) {
  const bool has_shards = !uop::Visit(sink, [](Ref n) { return n->op != Op::kShard; });
  return has_shards ? ShardLowering(g).Run(sink) : sink;
}

}  // namespace kiln::schedule::internal
