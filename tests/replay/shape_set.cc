// Chains of movement ops and what they read: tests core/tensor/movement.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/dtype/status.h"
#include "core/symbolic/evaluate.h"
#include "core/symbolic/render.h"
#include "core/tensor/invert.h"
#include "core/tensor/movement.h"
#include "core/uop/facts.h"
#include "core/uop/walk.h"
#include "tests/replay/chain_json.h"
#include "tests/replay/graph_json.h"
#include "tests/replay/graph_view.h"
#include "tests/replay/render_check.h"
#include "tests/replay/sets.h"
#include "tests/replay/strided.h"

namespace kiln::replay {
namespace {

using symbolic::Bindings;
using tensor::Access;
using tensor::Movement;

absl::Status Bad(absl::string_view message) { return absl::InvalidArgumentError(message); }
absl::Status Wrong(absl::string_view message) { return absl::FailedPreconditionError(message); }

std::string ToText(const Access& access) {
  return absl::StrCat(symbolic::Render(access.index, 300), " if ",
                      symbolic::Render(access.valid, 300));
}

absl::StatusOr<int64_t> EvaluateInt(Graph& g, Ref n, const Bindings& bindings) {
  KILN_ASSIGN_OR_RETURN(const Scalar v, symbolic::Evaluate(g, n, bindings));
  return v.AsInt();
}

// The element that `access` reads, or -1.
absl::StatusOr<int64_t> OffsetOf(Graph& g, const Access& access, const Bindings& bindings) {
  KILN_ASSIGN_OR_RETURN(const int64_t valid, EvaluateInt(g, access.valid, bindings));
  if (valid == 0) return -1;
  return EvaluateInt(g, access.index, bindings);
}

// Whether `access` over RANGEs with the axes as ids reads what the record says, at every element.
absl::Status CheckOffsets(Graph& g, const Access& access, const Elements& elements,
                          Bindings& bindings) {
  for (size_t e = 0; e < elements.offsets.size(); ++e) {
    for (size_t axis = 0; axis < elements.shape.size(); ++axis) {
      bindings.ranges[static_cast<int32_t>(axis)] = elements.coordinates[e][axis];
    }
    const absl::StatusOr<int64_t> got = OffsetOf(g, access, bindings);
    if (got.ok() && *got == elements.offsets[e]) continue;
    return Wrong(absl::StrCat("at (", absl::StrJoin(elements.coordinates[e], ", "), ") reads ",
                              got.ok() ? absl::StrCat(*got) : std::string(got.status().message()),
                              ", want ", elements.offsets[e]));
  }
  return absl::OkStatus();
}

absl::Status CheckShape(Graph& g, absl::Span<const Ref> dims, absl::Span<const int64_t> want,
                        const Bindings& bindings) {
  std::vector<int64_t> got;
  for (Ref dim : dims) {
    KILN_ASSIGN_OR_RETURN(const int64_t size, EvaluateInt(g, dim, bindings));
    got.push_back(size);
  }
  if (got == want) return absl::OkStatus();
  return Wrong(absl::StrCat("shape (", absl::StrJoin(got, ", "), "), want (",
                            absl::StrJoin(want, ", "), ")"));
}

// What the records of a file have shown about plain strided views.
struct StridedCount {
  int64_t plain = 0;
  std::vector<std::string> missed;
};

class ChainCheck {
 public:
  ChainCheck(const Record& record, RecordGraph& nodes)
      : record_(record), nodes_(nodes), g_(nodes.graph()) {}

  absl::Status CheckChain(RenderCheck& renders, StridedCount& strided) {
    KILN_RETURN_IF_ERROR(Read());
    KILN_ASSIGN_OR_RETURN(const std::vector<Ref> ranges, Ranges());
    KILN_ASSIGN_OR_RETURN(const Access plain, tensor::AccessOf(g_, base_, chain_, ranges));
    KILN_ASSIGN_OR_RETURN(const Access access, tensor::SimplifyAccess(g_, plain));
    const Json& cases = record_.json.at("cases");
    if (!cases.is_array() || cases.empty()) return Bad("no cases");
    bool is_affine = true, is_empty = true;
    for (const Json& json : cases) {
      KILN_ASSIGN_OR_RETURN(const Elements elements, ParseElements(json));
      KILN_RETURN_IF_ERROR(CheckCase(json, elements, plain, access));
      is_affine = is_affine && IsAffine(elements);
      is_empty = is_empty && elements.offsets.empty();
    }
    if (is_affine && !is_empty && !MayBeByChance()) CountStrided(access, strided);
    KILN_RETURN_IF_ERROR(CheckMaskedAxes(access));
    return CheckTexts(access, renders);
  }

  absl::Status CheckInvert() {
    KILN_RETURN_IF_ERROR(Read());
    KILN_ASSIGN_OR_RETURN(const std::optional<std::vector<Movement>> inverse,
                          tensor::Invert(g_, base_, chain_));
    const Json& expect = record_.json.at("expect");
    if (inverse.has_value() != expect.at("invertible").get<bool>()) {
      return Wrong(inverse.has_value() ? "got an inverse, want none" : "got no inverse");
    }
    if (!inverse.has_value()) return absl::OkStatus();
    KILN_ASSIGN_OR_RETURN(const std::vector<Ref> out_shape,
                          ParseSizes(nodes_, record_.json.at("out_shape")));
    const std::vector<Ref> final_shape = shape_;
    KILN_ASSIGN_OR_RETURN(const tensor::CheckedShape back,
                          tensor::ShapeAfter(g_, final_shape, *inverse));
    if (back.dims != out_shape) return Wrong("the inverse gives another shape");
    KILN_ASSIGN_OR_RETURN(Access access, tensor::AccessOf(g_, final_shape, *inverse,
                                                          tensor::RangesOver(g_, back.dims)));
    KILN_ASSIGN_OR_RETURN(access, tensor::SimplifyAccess(g_, access));
    KILN_ASSIGN_OR_RETURN(const Elements elements, ParseElements(expect));
    Bindings bindings;
    KILN_RETURN_IF_ERROR(CheckOffsets(g_, access, elements, bindings)) << ToText(access);
    return absl::OkStatus();
  }

 private:
  absl::Status Read() {
    KILN_ASSIGN_OR_RETURN(base_, ParseSizes(nodes_, record_.json.at("base")));
    KILN_ASSIGN_OR_RETURN(chain_, ParseChain(nodes_, record_.json.at("ops")));
    KILN_ASSIGN_OR_RETURN(tensor::CheckedShape checked, tensor::ShapeAfter(g_, base_, chain_));
    shape_ = std::move(checked.dims);
    conditions_ = std::move(checked.conditions);
    return absl::OkStatus();
  }

  // One per axis of the result. An axis of size 1 may be a range here, too: sizes that are 1 only
  // for some values of the variables are.
  absl::StatusOr<std::vector<Ref>> Ranges() {
    KILN_ASSIGN_OR_RETURN(const std::vector<Ref> want,
                          ParseSizes(nodes_, record_.json.at("shape")));
    if (want.size() != shape_.size()) {
      return Wrong(absl::StrCat(shape_.size(), " axes, want ", want.size()));
    }
    return tensor::RangesOver(g_, shape_);
  }

  absl::Status CheckCase(const Json& json, const Elements& elements, const Access& plain,
                         const Access& access) {
    Bindings bindings;
    if (json.contains("var_vals")) {
      KILN_ASSIGN_OR_RETURN(bindings, ParseBindings(json.at("var_vals"), nodes_.nodes()));
    }
    KILN_RETURN_IF_ERROR(CheckShape(g_, shape_, elements.shape, bindings));
    for (Ref condition : conditions_) {
      KILN_ASSIGN_OR_RETURN(const int64_t holds, EvaluateInt(g_, condition, bindings));
      if (holds == 0) return Wrong(absl::StrCat("refused: ", symbolic::Render(condition, 300)));
    }
    const absl::Status status = CheckOffsets(g_, access, elements, bindings);
    if (status.ok()) return status;
    const absl::Status before = CheckOffsets(g_, plain, elements, bindings);
    return StatusBuilder(status) << ToText(access) << "; before simplification "
                                 << (before.ok() ? "right" : "wrong: ") << before.message() << ": "
                                 << ToText(plain);
  }

  // A few sizes may be affine by chance where the general one is not: then the reference's word
  // counts.
  bool MayBeByChance() const {
    if (!record_.json.contains("nodes")) return false;
    const Json& ref = record_.json.at("ref");
    return ref.at("views") != 1 || ref.at("valid") != "True";
  }

  void CountStrided(const Access& access, StridedCount& strided) {
    ++strided.plain;
    if (IsIntConst(access.valid, 1) && IsStridedForm(g_, access.index)) return;
    strided.missed.push_back(absl::StrCat(record_.id, ": ", ToText(access)));
  }

  absl::Status CheckMaskedAxes(const Access& access) {
    if (!record_.json.contains("masked_axes")) return absl::OkStatus();
    std::vector<int64_t> axes;
    for (Ref range : uop::RangesOf(g_, access.valid)) axes.push_back(range->arg.range().axis_id);
    std::sort(axes.begin(), axes.end());
    if (Json(axes) == record_.json.at("masked_axes")) return absl::OkStatus();
    return Wrong(absl::StrCat("masked axes are ", Json(axes).dump()));
  }

  absl::Status CheckTexts(const Access& access, RenderCheck& renders) {
    if (!record_.json.contains("expect_render")) return absl::OkStatus();
    const Json& expect = record_.json.at("expect_render");
    KILN_RETURN_IF_ERROR(
        renders.Check(record_.id, g_, access.index, Json::array({expect.at("idx")}), access.index));
    return renders.Check(record_.id, g_, access.valid, Json::array({expect.at("valid")}),
                         access.index);
  }

  const Record& record_;
  RecordGraph& nodes_;
  Graph& g_;
  std::vector<Ref> base_, shape_, conditions_;
  std::vector<Movement> chain_;
};

bool IsAboutViews(const std::string& kind) {
  return kind == "views" || kind == "merge_dims" || kind.starts_with("view_");
}

class ShapeSet final : public FixtureSet {
 public:
  std::string_view name() const override { return "shape"; }
  std::vector<std::string> files() const override { return {"shape"}; }

  Result Run(const Record& record) override {
    if (IsAboutViews(record.kind)) return Skip("view objects are not in our IR");
    if (record.kind != "chain" && record.kind != "invert") {
      return Fail(absl::StrCat("unknown kind \"", record.kind, "\""));
    }
    RecordGraph nodes;
    if (record.json.contains("nodes")) {
      if (absl::Status s = nodes.Load(record.json.at("nodes")); !s.ok()) return ResultOf(s);
      if (absl::Status s = nodes.RequireDefined(); !s.ok()) return ResultOf(s);
    }
    ChainCheck check(record, nodes);
    const absl::Status status =
        record.kind == "invert" ? check.CheckInvert() : check.CheckChain(renders_, strided_);
    return status.ok() ? Pass() : ResultOf(status);
  }

  std::vector<std::string> Summary() const override {
    std::vector<std::string> lines = renders_.Summary();
    lines.push_back(absl::StrCat(strided_.plain, " chains make a plain strided view; the index of ",
                                 strided_.plain - static_cast<int64_t>(strided_.missed.size()),
                                 " simplifies to it"));
    for (const std::string& line : strided_.missed) lines.push_back(absl::StrCat("not ", line));
    return lines;
  }

 private:
  RenderCheck renders_;
  StridedCount strided_;
};

}  // namespace

std::unique_ptr<FixtureSet> MakeShapeSet() { return std::make_unique<ShapeSet>(); }

}  // namespace kiln::replay
