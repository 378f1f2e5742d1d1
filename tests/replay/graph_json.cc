#include "tests/replay/graph_json.h"

#include <limits>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

#include "core/dtype/alu.h"
#include "core/dtype/cast.h"
#include "core/dtype/status.h"
#include "tests/replay/value.h"

namespace kiln::replay {
namespace {

absl::Status Bad(absl::string_view message) { return absl::InvalidArgumentError(message); }

// One node on its way from JSON to Graph: what the functions per op share.
class NodeBuilder {
 public:
  NodeBuilder(Graph& g, const std::vector<Ref>& nodes, const std::vector<FixtureDType>& dtypes)
      : g_(g), nodes_(nodes), dtypes_(dtypes) {}

  absl::StatusOr<Ref> Build(const Json& json);
  const FixtureDType& dtype() const { return dtype_; }

 private:
  absl::Status ReadSources(const Json& src);
  absl::Status ReadTag(const Json& json);

  absl::StatusOr<Ref> Elementwise(Op op);
  absl::StatusOr<Ref> Constant();
  absl::StatusOr<Ref> Lanes();
  absl::StatusOr<Ref> Take();
  absl::StatusOr<Ref> Variable();
  absl::StatusOr<Ref> Bind();
  absl::StatusOr<Ref> Range();
  absl::StatusOr<Ref> Special();
  absl::StatusOr<Ref> Param(AddressSpace space);
  absl::StatusOr<Ref> Index();
  absl::StatusOr<Ref> Load();
  absl::StatusOr<Ref> LoadLane(int lane);
  absl::StatusOr<Ref> Effect(Op op);

  Ref Make(Op op, absl::Span<const Ref> src, Arg arg = {}) {
    return g_.Make(op, dtype_.scalar, src, arg, tag_);
  }
  bool HasValue(size_t i) const {
    return !src_dtypes_[i].is_pointer && src_dtypes_[i].scalar != DType::kVoid;
  }

  Graph& g_;
  const std::vector<Ref>& nodes_;
  const std::vector<FixtureDType>& dtypes_;

  const Json* arg_ = nullptr;
  FixtureDType dtype_;
  uint8_t tag_ = 0;
  std::vector<Ref> src_;
  std::vector<FixtureDType> src_dtypes_;
};

absl::Status NodeBuilder::ReadSources(const Json& src) {
  if (!src.is_array()) return Bad("src is not a list");
  if (src.size() > static_cast<size_t>(uop::kMaxSources)) return Bad("too many sources");
  for (const Json& index : src) {
    KILN_ASSIGN_OR_RETURN(const int64_t i, ParseInt64(index));
    if (i < 0 || i >= static_cast<int64_t>(nodes_.size())) {
      return Bad(absl::StrCat("source ", i, " does not come before it"));
    }
    src_.push_back(nodes_[static_cast<size_t>(i)]);
    src_dtypes_.push_back(dtypes_[static_cast<size_t>(i)]);
  }
  return absl::OkStatus();
}

absl::Status NodeBuilder::ReadTag(const Json& json) {
  const auto tag = json.find("tag");
  if (tag == json.end() || tag->is_null()) return absl::OkStatus();
  KILN_ASSIGN_OR_RETURN(const int64_t value, ParseInt64(*tag));
  if (value < 0 || value > std::numeric_limits<uint8_t>::max()) {
    return Bad(absl::StrCat("tag ", value, " is not in 0..255"));
  }
  tag_ = static_cast<uint8_t>(value);
  return absl::OkStatus();
}

// Operands have one dtype, that of the result unless it is a comparison or a cast.
absl::StatusOr<Ref> NodeBuilder::Elementwise(Op op) {
  if (src_.size() != uop::Info(op).min_src) {
    return Bad(absl::StrCat("has ", src_.size(), " sources"));
  }
  for (size_t i = 0; i < src_.size(); ++i) {
    if (!HasValue(i)) return Bad("an operand without a value");
  }
  FixtureDType want = dtype_;
  if (op == Op::kCast || op == Op::kBitcast) {
    if (src_dtypes_[0].lanes != dtype_.lanes) {
      if (op == Op::kCast) return Bad("changes the number of lanes");
      return NotInOurIr("BITCAST that changes the number of lanes");
    }
    want = src_dtypes_[0];
    const int from_bits = dtype::SizeBits(want.scalar), to_bits = dtype::SizeBits(dtype_.scalar);
    if (op == Op::kBitcast && from_bits != to_bits) return Bad("changes the number of bits");
  } else if (uop::IsComparison(op)) {
    if (dtype_.scalar != DType::kBool) return Bad("a comparison that is not a bool");
    want.scalar = src_dtypes_[0].scalar;
  }
  if (dtype_.is_pointer || dtype_.scalar == DType::kVoid) return Bad("not of a value dtype");
  for (size_t i = 0; i < src_.size(); ++i) {
    const FixtureDType condition{.scalar = DType::kBool, .lanes = dtype_.lanes};
    if (src_dtypes_[i] != (op == Op::kWhere && i == 0 ? condition : want)) {
      return Bad(absl::StrCat("operand ", i, " is ", ToText(src_dtypes_[i])));
    }
  }
  return Make(op, src_);
}

absl::StatusOr<Ref> NodeBuilder::Constant() {
  if (dtype_.is_pointer || dtype_.scalar == DType::kVoid) return Bad("not of a value dtype");
  KILN_ASSIGN_OR_RETURN(const Scalar value, ParseConstant(*arg_, dtype_.scalar));
  if (dtype_.lanes == 1) return Make(Op::kConst, {}, Arg::Of(value));
  const std::vector<Ref> lanes(static_cast<size_t>(dtype_.lanes), g_.Const(dtype_.scalar, value));
  return Make(Op::kStack, lanes);
}

// VECTORIZE and VCONST.
absl::StatusOr<Ref> NodeBuilder::Lanes() {
  std::vector<Ref> lanes = src_;
  if (arg_->is_array()) {
    if (!lanes.empty()) return Bad("both sources and an argument");
    for (const Json& value : *arg_) {
      KILN_ASSIGN_OR_RETURN(const Scalar scalar, ParseConstant(value, dtype_.scalar));
      lanes.push_back(g_.Const(dtype_.scalar, scalar));
    }
  }
  if (dtype_.is_pointer || dtype_.scalar == DType::kVoid) return Bad("not of a value dtype");
  if (src_.size() == 1 && src_dtypes_[0] == dtype_) return src_[0];
  if (lanes.size() != static_cast<size_t>(dtype_.lanes)) {
    return Bad(absl::StrCat("has ", lanes.size(), " lanes"));
  }
  for (const FixtureDType& lane : src_dtypes_) {
    if (lane != FixtureDType{.scalar = dtype_.scalar}) {
      return Bad(absl::StrCat("a lane is ", ToText(lane)));
    }
  }
  return lanes.size() == 1 ? lanes[0] : Make(Op::kStack, lanes);
}

// GEP.
absl::StatusOr<Ref> NodeBuilder::Take() {
  if (src_.size() != 1 || !HasValue(0)) return Bad("does not have one vector as its source");
  if (!arg_->is_array() || arg_->size() != static_cast<size_t>(dtype_.lanes)) {
    return Bad("the argument does not list one lane for each of the result");
  }
  if (dtype_.is_pointer || dtype_.scalar != src_dtypes_[0].scalar) return Bad("changes the dtype");
  std::vector<Ref> lanes;
  for (const Json& index : *arg_) {
    KILN_ASSIGN_OR_RETURN(const int64_t i, ParseInt64(index));
    if (i < 0 || i >= src_dtypes_[0].lanes) return Bad(absl::StrCat("no lane ", i));
    lanes.push_back(src_dtypes_[0].lanes == 1
                        ? src_[0]
                        : g_.Make(Op::kUnstack, dtype_.scalar, {src_[0]}, Arg::Int(i)));
  }
  return lanes.size() == 1 ? lanes[0] : Make(Op::kStack, lanes);
}

absl::StatusOr<Ref> NodeBuilder::Variable() {
  if (!src_.empty() || dtype_.is_pointer || dtype_.lanes != 1 || dtype_.scalar == DType::kVoid) {
    return Bad("a variable has no sources and a scalar dtype");
  }
  std::string name;
  Scalar min, max;
  if (arg_->is_null()) {
    const DType d = dtype_.scalar;
    if (dtype::IsFloat(d)) {
      min = Scalar::Float(-std::numeric_limits<double>::infinity());
      max = Scalar::Float(std::numeric_limits<double>::infinity());
    } else if (d == DType::kIndex) {
      min = Scalar::Int(std::numeric_limits<int64_t>::min());
      max = Scalar::Int(std::numeric_limits<int64_t>::max());
    } else {
      min = *dtype::WrapInteger(dtype::MinValue(d), d);
      max = *dtype::WrapInteger(dtype::MaxValue(d), d);
    }
  } else {
    if (!arg_->is_array() || arg_->size() != 3) return Bad("the argument is not [name, min, max]");
    name = arg_->at(0).get<std::string>();
    KILN_ASSIGN_OR_RETURN(min, ParseConstant(arg_->at(1), dtype_.scalar));
    KILN_ASSIGN_OR_RETURN(max, ParseConstant(arg_->at(2), dtype_.scalar));
    const bool empty = dtype::IsFloat(dtype_.scalar)
                           ? !(min.AsFloat() <= max.AsFloat())
                           : min.AsWide(dtype_.scalar) > max.AsWide(dtype_.scalar);
    if (empty) return Bad("min is not at most max");
  }
  Ref n = g_.Variable(dtype_.scalar, name, min, max);
  return tag_ == 0 ? n : Make(Op::kVariable, {}, n->arg);
}

absl::StatusOr<Ref> NodeBuilder::Bind() {
  if (src_.size() != 2 || !src_[0]->Is(Op::kVariable) || !src_[1]->IsConst() ||
      src_[0]->dtype != dtype_.scalar || src_[1]->dtype != dtype_.scalar) {
    return Bad("sources are not a variable and a constant of its dtype");
  }
  return Make(Op::kBind, src_);
}

absl::StatusOr<Ref> NodeBuilder::Range() {
  if (src_.size() != 1 || !HasValue(0) || src_dtypes_[0] != dtype_) {
    return Bad("does not have an end of its dtype as its source");
  }
  if (!dtype::IsInteger(dtype_.scalar)) return Bad("not an integer");
  if (!arg_->is_array() || arg_->size() != 2) return Bad("the argument is not [axis id, type]");
  KILN_ASSIGN_OR_RETURN(const int64_t id, ParseInt64(arg_->at(0)));
  if (id != static_cast<int32_t>(id)) return Bad(absl::StrCat("axis id ", id, " is too large"));
  const std::string type = absl::AsciiStrToLower(arg_->at(1).get<std::string>());
  for (int i = 0; i < uop::kNumAxisTypes; ++i) {
    if (uop::kAxisTypeNames[i] == type) {
      return Make(Op::kRange, src_,
                  Arg::Of(RangeArg{static_cast<int32_t>(id), static_cast<AxisType>(i)}));
    }
  }
  return Bad(absl::StrCat("unknown axis type ", type));
}

absl::StatusOr<Ref> NodeBuilder::Special() {
  if (src_.size() != 1 || !HasValue(0) || src_dtypes_[0] != dtype_) {
    return Bad("does not have an end of its dtype as its source");
  }
  if (!dtype::IsInteger(dtype_.scalar)) return Bad("not an integer");
  return Make(Op::kSpecial, src_, g_.PayloadArg(arg_->get_ref<const std::string&>(), {}));
}

absl::StatusOr<Ref> NodeBuilder::Param(AddressSpace space) {
  if (!src_.empty() || !dtype_.is_pointer)
    return Bad("a buffer has no sources and a pointer dtype");
  std::string name;
  int64_t number = 0;
  if (arg_->is_string()) {
    name = arg_->get<std::string>();
  } else {
    KILN_ASSIGN_OR_RETURN(number, ParseInt64(*arg_));
  }
  if (dtype_.space != AddressSpace::kRegister) dtype_.space = space;
  Ref n = g_.Param(dtype_.scalar, name, number, dtype_.elems, dtype_.space);
  return tag_ == 0 ? n : Make(Op::kParam, {}, n->arg);
}

absl::StatusOr<Ref> NodeBuilder::Index() {
  if (src_.size() < 2 || src_.size() > 3) return Bad("has neither two nor three sources");
  if (!src_dtypes_[0].is_pointer || src_dtypes_[0] != dtype_) {
    return Bad("source 0 is not a buffer of its dtype");
  }
  if (!HasValue(1) || !dtype::IsInteger(src_dtypes_[1].scalar)) {
    return Bad("source 1 is not an integer");
  }
  if (src_dtypes_[1].lanes != 1) return NotInOurIr("vectors of pointers are not in our IR");
  if (src_.size() == 3 && src_dtypes_[2] != FixtureDType{.scalar = DType::kBool}) {
    return Bad("the gate is not a bool");
  }
  return Make(Op::kIndex, src_);
}

absl::StatusOr<Ref> NodeBuilder::Load() {
  if (src_.empty() || src_.size() > 3) return Bad("has not one to three sources");
  if (!src_[0]->Is(Op::kIndex)) return Bad("source 0 is not an INDEX");
  if (dtype_.is_pointer || dtype_.scalar != src_dtypes_[0].scalar) {
    return Bad(absl::StrCat("reads from ", ToText(src_dtypes_[0])));
  }
  for (size_t i = 1; i < src_.size(); ++i) {
    const bool is_order = src_[i]->dtype == DType::kVoid;
    if (!is_order && (i != 1 || src_dtypes_[i] != dtype_)) {
      return Bad(absl::StrCat("source ", i, " is ", ToText(src_dtypes_[i])));
    }
    if (is_order && i + 1 != src_.size()) return Bad("the order is not the last source");
  }
  if (dtype_.lanes == 1) return LoadLane(0);
  std::vector<Ref> lanes;
  for (int i = 0; i < dtype_.lanes; ++i) {
    KILN_ASSIGN_OR_RETURN(Ref lane, LoadLane(i));
    lanes.push_back(lane);
  }
  return Make(Op::kStack, lanes);
}

absl::StatusOr<Ref> NodeBuilder::LoadLane(int lane) {
  std::vector<Ref> src = {src_[0]};
  if (lane != 0) {
    std::vector<Ref> place(src_[0]->src().begin(), src_[0]->src().end());
    Ref i = place[1];
    if (i->IsConst()) {
      const auto shifted = dtype::WrapInteger(i->arg.scalar().AsWide(i->dtype) + lane, i->dtype);
      if (!shifted.has_value()) return Bad("the index leaves int64");
      place[1] = g_.Const(i->dtype, *shifted);
    } else {
      place[1] = g_.Add(i, g_.Int(i->dtype, lane));
    }
    src[0] = g_.WithSources(src_[0], place);
  }
  for (size_t i = 1; i < src_.size(); ++i) {
    Ref s = src_[i];
    const bool is_order = s->dtype == DType::kVoid;
    if (is_order && src.size() == 1) src.push_back(g_.Const(dtype_.scalar, Scalar()));
    if (!is_order && dtype_.lanes > 1) {
      s = s->Is(Op::kStack) ? s->src(lane) : g_.Make(Op::kUnstack, s->dtype, {s}, Arg::Int(lane));
    }
    src.push_back(s);
  }
  return Make(Op::kLoad, src);
}

// STORE, BARRIER, IF, SINK.
absl::StatusOr<Ref> NodeBuilder::Effect(Op op) {
  if (dtype_ != FixtureDType{}) return Bad("an effect that is not void");
  const uop::OpInfo& info = uop::Info(op);
  if (src_.size() < info.min_src || src_.size() > static_cast<size_t>(uop::MaxSources(op))) {
    return Bad(absl::StrCat("has ", src_.size(), " sources"));
  }
  if (op == Op::kStore) {
    if (!src_dtypes_[0].is_pointer) return Bad("source 0 is not a place");
    if (!HasValue(1)) return Bad("source 1 is not a value");
  }
  if (op == Op::kIf && src_dtypes_[0] != FixtureDType{.scalar = DType::kBool}) {
    return Bad("the condition is not a bool");
  }
  return Make(op, src_);
}

absl::StatusOr<Ref> NodeBuilder::Build(const Json& json) {
  if (!json.is_object()) return Bad("not an object");
  const std::string& op = json.at("op").get_ref<const std::string&>();
  arg_ = &json.at("arg");
  if (op == "UNROLL" || op == "CONTRACT") {
    return NotInOurIr("UNROLL and CONTRACT: lanes that belong to a numbered axis");
  }
  KILN_ASSIGN_OR_RETURN(dtype_, ParseFixtureDType(json.at("dtype")));
  KILN_RETURN_IF_ERROR(ReadSources(json.at("src")));
  KILN_RETURN_IF_ERROR(ReadTag(json));
  if (const absl::StatusOr<Op> alu = ParseElementwiseOp(json.at("op")); alu.ok()) {
    return Elementwise(*alu);
  }
  if (op == "CONST") return Constant();
  if (op == "VCONST" || op == "VECTORIZE") return Lanes();
  if (op == "GEP") return Take();
  if (op == "DEFINE_VAR") return Variable();
  if (op == "BIND") return Bind();
  if (op == "RANGE") return Range();
  if (op == "SPECIAL") return Special();
  if (op == "DEFINE_GLOBAL") return Param(AddressSpace::kGlobal);
  if (op == "DEFINE_LOCAL") return Param(AddressSpace::kLocal);
  if (op == "INDEX") return Index();
  if (op == "LOAD") return Load();
  if (op == "STORE") return Effect(Op::kStore);
  if (op == "BARRIER") return Effect(Op::kBarrier);
  if (op == "IF") return Effect(Op::kIf);
  if (op == "SINK") return Effect(Op::kSink);
  return Bad("unknown op");
}

}  // namespace

absl::Status RecordGraph::Load(const Json& nodes) {
  if (!nodes.is_array()) return Bad("nodes is not a list");
  std::vector<FixtureDType> dtypes;
  for (const Json& node : nodes) {
    NodeBuilder builder(graph_, nodes_, dtypes);
    const absl::StatusOr<Ref> built = builder.Build(node);
    if (!built.ok()) {
      if (IsReasonToSkip(built.status())) return built.status();
      return StatusBuilder(built.status()) << "node " << nodes_.size() << " " << Shorten(node);
    }
    nodes_.push_back(*built);
    dtypes.push_back(builder.dtype());
  }
  return absl::OkStatus();
}

absl::Status RecordGraph::RequireDefined() const {
  for (size_t i = 0; i < nodes_.size(); ++i) {
    Ref n = nodes_[i];
    if (!uop::IsAlu(n->op) || n->Is(Op::kCast) || n->Is(Op::kBitcast)) continue;
    if (!dtype::IsDefined(uop::ToAlu(n->op), n->src(n->num_src - 1)->dtype)) {
      return Bad(absl::StrCat("node ", i, ": ", std::string(uop::Name(n->op)), " has no value on ",
                              std::string(dtype::Name(n->src(n->num_src - 1)->dtype))));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Ref> RecordGraph::At(const Json& index) const {
  KILN_ASSIGN_OR_RETURN(const int64_t i, ParseInt64(index));
  if (i < 0 || i >= static_cast<int64_t>(nodes_.size())) return Bad(absl::StrCat("no node ", i));
  return nodes_[static_cast<size_t>(i)];
}

}  // namespace kiln::replay
