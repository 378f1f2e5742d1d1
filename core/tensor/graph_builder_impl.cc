// Bookkeeping of the builder: calls, sources, what is kept per node.
#include "core/tensor/graph_builder_impl.h"

#include <algorithm>
#include <utility>

#include "core/symbolic/render.h"
#include "core/symbolic/simplify.h"
#include "core/tensor/index_math.h"
#include "core/uop/facts.h"

namespace kiln::tensor::internal {

namespace {

absl::string_view View(std::string_view s) { return {s.data(), s.size()}; }

absl::Status NoSuchNode(Value v, size_t num_nodes) {
  return absl::InvalidArgumentError(absl::StrCat("no node ", v.node, ", there are ", num_nodes));
}

constexpr uint32_t kManyTerms = uint32_t{1} << 30;

}  // namespace

// ** calls **

BuilderCall::BuilderCall(BuilderState& impl, Op op)
    : impl_(impl), op_(op), number_(impl.NextNumber()) {}

std::string BuilderCall::Message(std::string_view field, std::string_view what) const {
  std::string label;
  if (!impl_.label_.empty()) label = absl::StrCat(" \"", impl_.label_, "\"");
  std::string function;
  if (impl_.in_call()) function = absl::StrCat("call ", impl_.function_, ": ");
  return absl::StrCat("node ", number_, label, " (", function, View(uop::Name(op_)), "), ",
                      View(field), ": ", View(what));
}

absl::Status BuilderCall::BeyondLimit(std::string_view field, std::string_view limit,
                                      int64_t most) const {
  return absl::ResourceExhaustedError(
      Message(field, absl::StrCat("more than the limit of ", most, " ", View(limit))));
}

absl::Status BuilderCall::In(std::string_view field, const absl::Status& status) const {
  if (status.ok()) return status;
  return absl::Status(status.code(), Message(field, std::string_view(status.message().data(),
                                                                     status.message().size())));
}

absl::StatusOr<Value> BuilderState::Add(Op op,
                                        absl::FunctionRef<absl::StatusOr<Ref>(BuilderCall&)> make) {
  if (num_calls() + num_inner_ >= limits_.nodes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("node ", NextNumber(), ": more than the limit of ", limits_.nodes, " nodes"));
  }
  BuilderCall call(*this, op);
  absl::StatusOr<Ref> made = make(call);
  absl::Status status = made.ok() ? Note(call, *made) : made.status();
  if (const std::string& label = label_.empty() ? function_ : label_;
      status.ok() && !label.empty()) {
    labels_.try_emplace((*made)->id, label);
  }
  if (in_call()) {
    KILN_RETURN_IF_ERROR(status);
    return Inner(*made);
  }
  const Value v{static_cast<uint32_t>(entries_.size())};
  entries_.push_back({status.ok() ? *made : nullptr, status, NextNumber()});
  label_.clear();
  number_.reset();
  if (!status.ok()) return status;
  return v;
}

Value BuilderState::Inner(Ref n) {
  ++num_inner_;
  inner_.push_back({n, absl::OkStatus(), 0});
  return {static_cast<uint32_t>(inner_.size() - 1) | kInner};
}

std::string BuilderState::CallName() const {
  return absl::StrCat("node ", NextNumber(), label_.empty() ? "" : " \"", label_,
                      label_.empty() ? "" : "\"", " (call ", function_, ")");
}

absl::StatusOr<std::vector<Value>> BuilderState::AddCall(
    absl::string_view function, absl::FunctionRef<absl::StatusOr<std::vector<Value>>()> make) {
  function_ = std::string(function);
  const auto made = make();
  const uint32_t number = NextNumber();
  std::vector<Value> values;
  if (made.ok()) {
    for (Value v : *made) {
      values.push_back({static_cast<uint32_t>(entries_.size())});
      entries_.push_back({*Get(v), absl::OkStatus(), number});
    }
  } else {
    entries_.push_back({nullptr, made.status(), number});
  }
  function_.clear();
  label_.clear();
  number_.reset();
  inner_.clear();
  if (!made.ok()) return made.status();
  return values;
}

void BuilderState::Label(absl::string_view label) {
  label_ = std::string(label.substr(0, static_cast<size_t>(limits_.name_bytes)));
}

absl::StatusOr<Ref> BuilderState::Get(Value v) const {
  const bool inner = (v.node & kInner) != 0;
  const std::vector<Entry>& entries = inner ? inner_ : entries_;
  const uint32_t number = v.node & ~kInner;
  if (number >= entries.size()) return NoSuchNode(v, entries_.size());
  const Entry& entry = entries[number];
  if (entry.ref == nullptr) return entry.error;
  return entry.ref;
}

// ** sources **

absl::StatusOr<Ref> BuilderCall::Any(std::string_view field, const Source& source) const {
  if (!source.value().ok()) return source.value().status();
  const Value v = *source.value();
  const uint32_t number = v.node & ~BuilderState::kInner;
  const auto& entries = number == v.node ? impl_.entries_ : impl_.inner_;
  if (number >= entries.size()) return In(field, NoSuchNode(v, impl_.entries_.size()));
  return impl_.Get(v);
}

absl::StatusOr<Ref> BuilderCall::Tensor(std::string_view field, const Source& source) const {
  KILN_ASSIGN_OR_RETURN(Ref n, Any(field, source));
  if (n->dtype != DType::kIndex) return n;
  return Wrong(field, "node ", impl_.NumberOf(*source.value()),
               " has dtype index, which is for sizes: cast it first");
}

absl::StatusOr<std::vector<Ref>> BuilderCall::All(absl::Span<const Source> sources) const {
  std::vector<Ref> refs;
  for (const Source& s : sources) {
    KILN_ASSIGN_OR_RETURN(refs.emplace_back(), Any(absl::StrCat("src ", refs.size()), s));
  }
  return refs;
}

// ** fields **

absl::StatusOr<std::vector<Ref>> BuilderCall::Dims(std::string_view field,
                                                   absl::Span<const Dim> dims, int64_t per_axis) {
  const GraphLimits& limits = impl_.limits_;
  const auto size = static_cast<int64_t>(dims.size());
  if (size > std::min<int64_t>(limits.rank, kMaxRank) * per_axis) {
    return BeyondLimit(field, "axes", std::min<int64_t>(limits.rank, kMaxRank));
  }
  if ((impl_.num_dims_ += size) > limits.dims) {
    return BeyondLimit(field, "sizes, offsets and paddings in all", limits.dims);
  }
  std::vector<Ref> refs;
  refs.reserve(dims.size());
  for (const Dim& dim : dims) {
    if (!dim.node().has_value()) {
      refs.push_back(impl_.graph_->Index(dim.size()));
      continue;
    }
    const std::string entry = absl::StrCat(View(field), "[", refs.size(), "]");
    KILN_ASSIGN_OR_RETURN(Ref n, Any(entry, *dim.node()));
    if (n->dtype != DType::kIndex) {
      return Wrong(entry, "node ", impl_.NumberOf(*dim.node()->value()), " has dtype ",
                   View(dtype::Name(n->dtype)), ", a size has dtype index");
    }
    refs.push_back(n);
  }
  KILN_RETURN_IF_ERROR(Charge(field, refs));
  return refs;
}

absl::Status BuilderCall::CheckAxis(std::string_view field, int64_t axis, size_t rank) const {
  if (axis >= 0 && axis < static_cast<int64_t>(rank)) return absl::OkStatus();
  return Wrong(field, "no axis ", axis, ", there are ", rank);
}

absl::StatusOr<uint32_t> BuilderCall::AxisMask(std::string_view field,
                                               absl::Span<const int64_t> axes, size_t rank) const {
  uint32_t mask = 0;
  for (int64_t axis : axes) {
    KILN_RETURN_IF_ERROR(CheckAxis(field, axis, rank));
    const uint32_t bit = uint32_t{1} << axis;
    if ((mask & bit) != 0) return Wrong(field, "axis ", axis, " is named twice");
    mask |= bit;
  }
  return mask;
}

absl::Status BuilderCall::CheckName(std::string_view field, std::string_view name) const {
  if (name.empty()) return Wrong(field, "it is empty");
  if (static_cast<int64_t>(name.size()) > impl_.limits_.name_bytes) {
    return BeyondLimit(field, "bytes of a name", impl_.limits_.name_bytes);
  }
  return absl::OkStatus();
}

absl::Status BuilderCall::CheckDevice(std::string_view field, std::string_view name) const {
  KILN_RETURN_IF_ERROR(CheckName(field, name));
  if (name.find(',') == std::string_view::npos) return absl::OkStatus();
  return Wrong(field, "a comma is in \"", View(name), "\"");
}

absl::Status BuilderCall::CheckStorable(std::string_view field, DType dtype) const {
  if (static_cast<int>(dtype) < dtype::kNumDTypes && dtype::SizeBits(dtype) > 0) {
    return absl::OkStatus();
  }
  return Wrong(field, static_cast<int>(dtype) < dtype::kNumDTypes ? View(dtype::Name(dtype)) : "it",
               " is no dtype of tensors");
}

// ** what is kept per node **

// Of the tree that `dim` would be if nothing were shared; at most kManyTerms.
uint32_t BuilderState::Terms(Ref dim) {
  std::vector<Ref> stack = {dim};
  while (!stack.empty()) {
    Ref n = stack.back();
    if (terms_.Get(n) != 0) {
      stack.pop_back();
      continue;
    }
    const size_t depth = stack.size();
    uint32_t terms = 1;
    for (Ref s : n->src()) {
      const uint32_t below = terms_.Get(s);
      if (below == 0) stack.push_back(s);
      terms = std::min(terms + below, kManyTerms);
    }
    if (stack.size() != depth) continue;
    terms_[n] = terms;
    stack.pop_back();
  }
  return terms_.Get(dim);
}

absl::Status BuilderState::Note(BuilderCall& call, Ref n) {
  if (noted_.Get(n)) return absl::OkStatus();
  // Between `n` and what the call was given there is at most one node that the builder added.
  for (Ref s : n->src()) {
    if (s->dtype != DType::kIndex) {
      KILN_RETURN_IF_ERROR(Note(call, s));
    }
  }
  const auto shape = uop::ShapeOf(*graph_, n);
  if (!shape.ok()) return call.In("src", shape.status());
  if (static_cast<int64_t>(shape->size()) > limits_.rank) {
    return call.BeyondLimit("shape", "axes", limits_.rank);
  }
  Int128 elems = 1;  // At most 2^42 * 2^64.
  for (Ref d : *shape) {
    elems *= std::clamp(VMax(*graph_, d), Int128{1}, Int128{INT64_MAX});
    if (elems > limits_.elems) return call.BeyondLimit("shape", "elements", limits_.elems);
  }
  const absl::Span<const Ref> src = n->src();
  const bool is_leaf = n->Is(Op::kConst) || n->Is(Op::kVariable);
  is_dim_[n] = is_leaf || (uop::IsAlu(n->op) && std::all_of(src.begin(), src.end(), [this](Ref s) {
                             return is_dim_.Get(s);
                           }));
  NoteTarget(n);
  KILN_RETURN_IF_ERROR(NotePlacement(call, n));
  noted_[n] = true;
  return absl::OkStatus();
}

absl::Status BuilderState::NotePlacement(BuilderCall& call, Ref n) {
  bool any = n->Is(Op::kShard) || n->Is(Op::kUnshard) || n->Is(Op::kAllReduce);
  for (Ref s : n->src()) any = any || shards_.Get(s) != nullptr;
  if (!any) return absl::OkStatus();
  std::vector<Placement> sources;
  for (Ref s : n->src()) {
    Placement p{.shard = shards_.Get(s), .axis = {}};
    if (const int axis = shard_axis_plus_1_.Get(s); axis > 0) p.axis = axis - 1;
    sources.push_back(p);
  }
  const auto result = PlacementOf(*graph_, n, sources);
  if (!result.ok()) return call.In("placement", result.status());
  if (result->condition != nullptr) {
    KILN_RETURN_IF_ERROR(call.Require("placement", result->condition));
  }
  shards_[n] = result->placement.shard;
  const std::optional<int>& axis = result->placement.axis;
  shard_axis_plus_1_[n] = static_cast<int8_t>(axis.has_value() ? *axis + 1 : 0);
  return absl::OkStatus();
}

void BuilderState::NoteTarget(Ref n) {
  if (n->Is(Op::kInput)) {
    targets_[n] = {static_cast<uint32_t>(n->arg.integer()) + 1, 0, false};
  } else if (n->Is(Op::kAssign)) {
    targets_[n] = {targets_.Get(n->src(0)).slot_plus_1, 0, false};
  } else if (uop::IsMovement(n->op)) {
    Target t = targets_.Get(n->src(0));
    const bool repeats =
        n->Is(Op::kExpand) && *uop::ShapeOf(*graph_, n->src(0)) != *uop::ShapeOf(*graph_, n);
    if (t.slot_plus_1 == 0 || repeats) return;
    targets_[n] = {t.slot_plus_1, t.steps + 1, t.pads || n->Is(Op::kPad)};
  }
}

}  // namespace kiln::tensor::internal
