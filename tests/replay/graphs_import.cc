#include "tests/replay/graphs_import.h"

#include <utility>

#include "absl/strings/str_cat.h"

#include "core/dtype/cast.h"
#include "core/dtype/status.h"
#include "core/tensor/graph_builder.h"
#include "tests/replay/fixture_dtype.h"
#include "tests/replay/graphs_pieces.h"
#include "tests/replay/value.h"

namespace kiln::replay {
namespace {

using tensor::Dim;
using tensor::Value;

constexpr char kDefaultDevice[] = "CPU";
constexpr char kDeviceNumber[] = "_device_num";
constexpr int64_t kMaxDevices = 64;

absl::Status Bad(std::string what) { return absl::InvalidArgumentError(std::move(what)); }

std::vector<std::string> DeviceList(const Json& json) {
  if (json.is_string()) return {json.get<std::string>()};
  return json.get<std::vector<std::string>>();
}

// One record. Confined to the main thread.
class Importer {
 public:
  absl::StatusOr<ImportedGraph> Import(const Json& record) {
    for (const Json& node : record.at("nodes")) {
      const size_t k = nodes_.size();
      KILN_ASSIGN_OR_RETURN(Imported imported, ImportNode(node),
                            _ << "node " << k << " of the record, " << Shorten(node));
      nodes_.push_back(std::move(imported));
    }
    std::vector<tensor::Source> outputs;
    for (const Json& output : record.at("outputs")) {
      KILN_ASSIGN_OR_RETURN(const Imported* n, At(output));
      const Pieces& x = n->pieces;
      const size_t count = x.axis.has_value() ? x.on.size() : 1;
      result_.outputs.push_back({outputs.size(), count, x.axis.value_or(0)});
      outputs.insert(outputs.end(), x.on.begin(), x.on.begin() + static_cast<long>(count));
    }
    KILN_ASSIGN_OR_RETURN(result_.graph, std::move(b_).Finish(outputs));
    return std::move(result_);
  }

 private:
  struct Imported {
    Pieces pieces;
    bool is_place = false;  // Denotes elements of a buffer: ASSIGN can write there.
  };

  absl::StatusOr<const Imported*> At(const Json& index) const {
    KILN_ASSIGN_OR_RETURN(const int64_t k, ParseInt64(index));
    if (k < 0 || k >= static_cast<int64_t>(nodes_.size())) {
      return Bad(absl::StrCat("no node ", k, " precedes this one"));
    }
    return &nodes_[static_cast<size_t>(k)];
  }

  absl::StatusOr<Imported> ImportNode(const Json& node) {
    const auto& op = node.at("op").get_ref<const std::string&>();
    KILN_ASSIGN_OR_RETURN(const DType dtype, ParseScalarDType(node.at("dtype")));
    std::vector<const Imported*> src;
    for (const Json& s : node.at("src")) {
      KILN_ASSIGN_OR_RETURN(src.emplace_back(), At(s));
    }
    KILN_RETURN_IF_ERROR(CheckArity(op, src.size()));
    KILN_ASSIGN_OR_RETURN(Imported result, Translate(op, dtype, node, src));
    for (Value v : result.pieces.on) {
      KILN_ASSIGN_OR_RETURN(const DType got, b_.DTypeOf(v));
      if (got != dtype)
        return Bad(absl::StrCat("dtype ", std::string(dtype::Name(got)), " results"));
    }
    return result;
  }

  static absl::Status CheckArity(const std::string& op, size_t num_src) {
    const auto alu = dtype::ParseAluOp(op);
    size_t want = 1;
    if (alu.has_value()) want = static_cast<size_t>(dtype::NumOperands(*alu));
    if (op == "BUFFER" || op == "CONST" || op == "DEFINE_VAR") want = 0;
    if (op == "BIND" || op == "ASSIGN") want = 2;
    if (op == "MSTACK" ? num_src > 0 : num_src == want) return absl::OkStatus();
    return Bad(absl::StrCat(num_src, " sources"));
  }

  using Sources = absl::Span<const Imported* const>;

  absl::StatusOr<Imported> Translate(const std::string& op, DType dtype, const Json& node,
                                     Sources src) {
    if (op == "BUFFER") return Buffer(dtype, node);
    if (op == "CONST") return Plain(Constant(dtype, node));
    if (op == "DEFINE_VAR") return Plain(Variable(dtype, node.at("arg")));
    if (op == "BIND" || op == "CONTIGUOUS_BACKWARD" || op == "FUSE") return Plain(src[0]->pieces);
    if (op == "ASSIGN") return Assign(*src[0], *src[1]);
    if (op == "MULTI" || op == "MSTACK" || op == "MSELECT") return Regroup(op, node.at("arg"), src);
    if (op == "COPY") return Plain(Copy(src[0]->pieces, node.at("arg")));
    if (op == "ALLREDUCE") return Plain(AllReduce(src[0]->pieces, node.at("arg")));
    if (op == "REDUCE_AXIS") return Plain(Reduce(src[0]->pieces, node.at("arg")));
    if (op == "CONTIGUOUS" || op == "DETACH" || op == "CAST" || op == "BITCAST") {
      return Plain(One(op, dtype, src[0]->pieces));
    }
    if (dtype::ParseAluOp(op).has_value()) return Plain(Alu(op, src));
    KILN_ASSIGN_OR_RETURN(Pieces moved, Move(op, node.at("arg"), src[0]->pieces));
    return Imported{std::move(moved), src[0]->is_place && op != "EXPAND"};
  }

  static absl::StatusOr<Imported> Plain(absl::StatusOr<Pieces> pieces) {
    KILN_RETURN_IF_ERROR(pieces.status());
    return Imported{*std::move(pieces)};
  }

  // ** leaves **

  absl::StatusOr<Imported> Buffer(DType dtype, const Json& node) {
    KILN_ASSIGN_OR_RETURN(const int64_t elems, ParseInt64(node.at("arg")));
    const bool is_list = node.contains("device") && node.at("device").is_array();
    const std::vector<std::string> devices = node.contains("device")
                                                 ? DeviceList(node.at("device"))
                                                 : std::vector<std::string>{kDefaultDevice};
    Imported result{.pieces = {.on = {}, .devices = devices, .axis = {}}, .is_place = true};
    for (size_t i = 0; i < devices.size(); ++i) {
      const auto slot = static_cast<int64_t>(result_.inputs.size());
      KILN_ASSIGN_OR_RETURN(const Value v, b_.Input(slot, dtype, {elems}, devices[i]));
      result.pieces.on.push_back(v);
      result_.inputs.push_back({nodes_.size(), {}, dtype, elems});
      if (is_list) result_.inputs.back().shard = i;
    }
    if (devices.empty()) return Bad("no device");
    return result;
  }

  absl::StatusOr<Pieces> Constant(DType dtype, const Json& node) {
    KILN_ASSIGN_OR_RETURN(const Scalar value, ParseConstant(node.at("arg"), dtype));
    KILN_ASSIGN_OR_RETURN(const Value v, b_.Const(dtype, value));
    if (!node.contains("device")) return Pieces{.on = {v}, .devices = {""}, .axis = {}};
    const std::vector<std::string> devices = DeviceList(node.at("device"));
    if (devices.empty()) return Bad("no device");
    return Pieces{.on = std::vector<Value>(devices.size(), v), .devices = devices, .axis = {}};
  }

  absl::StatusOr<Pieces> Variable(DType dtype, const Json& arg) {
    const auto& name = arg.at(0).get_ref<const std::string&>();
    KILN_ASSIGN_OR_RETURN(const int64_t min, ParseInt64(arg.at(1)));
    KILN_ASSIGN_OR_RETURN(const int64_t max, ParseInt64(arg.at(2)));
    Pieces result;
    if (name != kDeviceNumber) {
      KILN_ASSIGN_OR_RETURN(result.on.emplace_back(), b_.Variable(name, min, max));
    } else if (min != 0 || max < 0 || max >= kMaxDevices) {
      return Bad("not the number of a device");
    }
    for (int64_t i = 0; name == kDeviceNumber && i <= max; ++i) {
      KILN_ASSIGN_OR_RETURN(result.on.emplace_back(), b_.Index(i));
    }
    result.devices.resize(result.on.size());
    if (dtype == DType::kIndex) return result;
    return One("CAST", dtype, result);
  }

  // ** movement **

  // The sizes of `json`, an array of them or of pairs, on device i.
  absl::StatusOr<PieceOps::Sizes> SizesOf(const Json& json, size_t i) const {
    PieceOps::Sizes sizes;
    for (const Json& entry : json) {
      const Json pair = entry.is_array() ? entry : Json::array({entry});
      if (entry.is_array() && entry.size() != 2) return Bad("not a pair");
      for (const Json& size : pair) {
        if (!size.is_object()) {
          KILN_ASSIGN_OR_RETURN(const int64_t v, ParseInt64(size));
          sizes.emplace_back(v);
          continue;
        }
        KILN_ASSIGN_OR_RETURN(const Imported* n, At(size.at("node")));
        sizes.emplace_back(n->pieces.on[i < n->pieces.on.size() ? i : 0]);
      }
    }
    return sizes;
  }

  absl::StatusOr<Pieces> Move(const std::string& op, const Json& arg, const Pieces& x) {
    const auto sizes = [&](size_t i) { return SizesOf(arg, i); };
    if (op == "RESHAPE") return ops_.Reshape(x, sizes);
    if (op == "EXPAND") return ops_.Expand(x, sizes);
    if (op == "PAD") return ops_.Pad(x, sizes);
    if (op == "SHRINK") return ops_.Shrink(x, sizes);
    if (op == "PERMUTE") return ops_.Permute(x, arg.get<std::vector<int64_t>>());
    if (op != "FLIP") return Bad("an unknown op");
    std::vector<int64_t> axes;
    for (size_t i = 0; i < arg.size(); ++i) {
      if (arg.at(i).get<int>() != 0) axes.push_back(static_cast<int64_t>(i));
    }
    return ops_.Flip(x, axes);
  }

  // ** elementwise **

  absl::StatusOr<Pieces> One(const std::string& op, DType dtype, const Pieces& x) {
    return ops_.Each({&x}, [&](size_t, absl::Span<const Value> v) {
      if (op == "CAST") return b_.Cast(v[0], dtype);
      if (op == "BITCAST") return b_.Bitcast(v[0], dtype);
      return op == "DETACH" ? b_.Detach(v[0]) : b_.Contiguous(v[0]);
    });
  }

  absl::StatusOr<Pieces> Alu(const std::string& op, Sources src) {
    std::vector<const Pieces*> operands;
    for (const Imported* s : src) operands.push_back(&s->pieces);
    const Op alu = uop::FromAlu(*dtype::ParseAluOp(op));
    return ops_.Each(operands, [&](size_t, absl::Span<const Value> v) {
      return b_.Alu(alu, std::vector<tensor::Source>(v.begin(), v.end()));
    });
  }

  // ** tensors **

  static absl::StatusOr<Op> Reduction(const Json& kind) {
    KILN_ASSIGN_OR_RETURN(const Op op, ParseElementwiseOp(kind));
    if (op == Op::kAdd || op == Op::kMul || op == Op::kMax) return op;
    return Bad("no reduction");
  }

  absl::StatusOr<Pieces> Reduce(const Pieces& x, const Json& arg) {
    KILN_ASSIGN_OR_RETURN(const Op op, Reduction(arg.at(0)));
    const auto axes = arg.at(1).get<std::vector<int64_t>>();
    if (axes.empty()) return x;
    return ops_.Reduce(op, x, axes);
  }

  absl::StatusOr<Imported> Assign(const Imported& target, const Imported& value) {
    if (!target.is_place) return Plain(value.pieces);
    KILN_ASSIGN_OR_RETURN(Pieces assigned, ops_.Assign(target.pieces, value.pieces));
    return Imported{std::move(assigned), true};
  }

  // ** devices **

  absl::StatusOr<Pieces> Copy(const Pieces& x, const Json& arg) {
    if (arg.is_string()) return ops_.CopyTo(x, arg.get<std::string>());
    return ops_.CopyTo(x, DeviceList(arg));
  }

  absl::StatusOr<Pieces> AllReduce(const Pieces& x, const Json& arg) {
    KILN_ASSIGN_OR_RETURN(const Op op, Reduction(arg.at(0)));
    KILN_ASSIGN_OR_RETURN(Pieces result, ops_.Combine(op, x, DeviceList(arg.at(1))));
    if (result.on.size() == x.on.size()) result.axis = x.axis;
    return result;
  }

  absl::StatusOr<Imported> Regroup(const std::string& op, const Json& arg, Sources src) {
    Imported result = *src[0];
    Pieces& x = result.pieces;
    if (op == "MULTI") {
      KILN_ASSIGN_OR_RETURN(const auto shape, b_.ShapeOf(x.on[0]));
      const auto axis = arg.get<size_t>();
      if (axis >= shape.size()) return Bad("no such axis");
      x.axis = axis;
    } else if (op == "MSELECT") {
      const auto i = arg.get<size_t>();
      if (i >= x.on.size()) return Bad("no such device");
      x = {.on = {x.on[i]}, .devices = {x.DeviceOf(i)}, .axis = {}};
    } else {
      x = {};
      for (const Imported* s : src) {
        x.on.push_back(s->pieces.on[0]);
        x.devices.push_back(s->pieces.DeviceOf(0));
        result.is_place = result.is_place && s->is_place;
      }
    }
    return result;
  }

  tensor::GraphBuilder b_;
  PieceOps ops_{b_};
  std::vector<Imported> nodes_;
  ImportedGraph result_;
};

}  // namespace

absl::StatusOr<ImportedGraph> ImportGraph(const Json& record) { return Importer().Import(record); }

}  // namespace kiln::replay
