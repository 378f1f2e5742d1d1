#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include "core/uop/bottom_up.h"
#include "core/uop/dim.h"
#include "core/uop/facts.h"
#include "core/uop/interval.h"
#include "core/uop/text.h"

namespace kiln::uop {
namespace {

using Dims = absl::Span<const Ref>;
using DimsOrError = absl::StatusOr<Dims>;

Dims KnownShape(Ref n) { return {n->facts->shape, n->facts->rank}; }

template <typename... Parts>
absl::Status Bad(Ref n, const Parts&... parts) {
  return absl::InvalidArgumentError(
      absl::StrCat(std::string(Name(n->op)), " (node ", n->id, ") ", parts..., ": ", Excerpt(n)));
}

std::string DimText(Ref dim) { return Excerpt(dim, /*max_chars=*/40); }

std::string Text(Dims dims) {
  std::string s = "[";
  for (Ref d : dims) absl::StrAppend(&s, s.size() == 1 ? "" : ", ", DimText(d));
  return s + "]";
}

Dims Keep(Graph& g, const std::vector<Ref>& dims) {
  Ref* copy = g.side_memory().AllocateArray<Ref>(dims.size());
  std::copy(dims.begin(), dims.end(), copy);
  return {copy, dims.size()};
}

// The sources whose shape the shape of `n` depends on.
Dims Needs(Ref n) {
  if (IsAlu(n->op)) return n->src();
  switch (n->op) {
    case Op::kReshape:
    case Op::kExpand:
    case Op::kPermute:
    case Op::kFlip:
    case Op::kPad:
    case Op::kShrink:
    case Op::kReduce:
    case Op::kContiguous:
    case Op::kDetach:
    case Op::kCopy:
    case Op::kShard:
    case Op::kUnshard:
    case Op::kAllReduce:
    case Op::kUnstack:
    case Op::kAfter:
      return n->src().subspan(0, 1);
    case Op::kStack:
    case Op::kAssign:
      return n->src();
    case Op::kIndex:
      return n->src().subspan(1);
    case Op::kLoad:
      return n->src().subspan(0, n->num_src < 2 ? 1 : 2);
    case Op::kGradient: {
      const int64_t x = n->arg.integer();
      return x < 0 || x >= n->num_src - 2 ? Dims()
                                          : n->src().subspan(static_cast<size_t>(x) + 2, 1);
    }
    default:
      return {};
  }
}

// The one shape of `sources`; with `scalars`, those without dims go with any.
DimsOrError Common(Ref n, Dims sources, bool scalars) {
  Dims common = KnownShape(sources[0]);
  for (Ref s : sources.subspan(1)) {
    const Dims next = KnownShape(s);
    if (next == common || (scalars && next.empty())) continue;
    if (!(scalars && common.empty())) {
      return Bad(n, "needs sources of one shape, got ", Text(common), " and ", Text(next));
    }
    common = next;
  }
  return common;
}

absl::Status CheckDims(Ref n, Dims dims) {
  for (Ref d : dims) {
    if (d->dtype != DType::kIndex) {
      return Bad(n, "needs dims of dtype index, got ", std::string(dtype::Name(d->dtype)));
    }
    if (IsIntConst(d) && d->IntValue() < 0) return Bad(n, "has a dim of ", d->IntValue());
  }
  return absl::OkStatus();
}

// The number of elements, saturating; null if a dim is symbolic.
std::optional<Int128> NumElements(Dims dims) {
  Int128 count = 1;
  bool empty = false;
  for (Ref d : dims) {
    if (!IsIntConst(d)) return std::nullopt;
    empty = empty || d->IntValue() == 0;
    count = internal::SaturatingMul(count, d->IntValue());
  }
  return empty ? 0 : count;
}

DimsOrError ReshapeShape(Ref n) {
  const Dims from = KnownShape(n->src(0)), to = n->src().subspan(1);
  if (absl::Status s = CheckDims(n, to); !s.ok()) return s;
  const std::optional<Int128> have = NumElements(from), want = NumElements(to);
  if (have.has_value() && want.has_value() && *have != *want) {
    return Bad(n, "to ", Text(to), " does not have the ", kiln::ToString(*have), " elements of ",
               Text(from));
  }
  return to;
}

absl::Status CheckRank(Ref n, size_t have, size_t want) {
  if (have == want) return absl::OkStatus();
  return Bad(n, "of ", Text(KnownShape(n->src(0))), " needs ", want, " entries, got ", have);
}

DimsOrError ExpandShape(Ref n) {
  const Dims from = KnownShape(n->src(0)), to = n->src().subspan(1);
  if (absl::Status s = CheckDims(n, to); !s.ok()) return s;
  if (absl::Status s = CheckRank(n, to.size(), from.size()); !s.ok()) return s;
  for (size_t i = 0; i < to.size(); ++i) {
    if (to[i] != from[i] && !IsIntConst(from[i], 1)) {
      return Bad(n, "to ", Text(to), " changes axis ", i, " of ", Text(from),
                 ", whose size is not 1");
    }
  }
  return to;
}

DimsOrError PermuteShape(Graph& g, Ref n) {
  const Dims from = KnownShape(n->src(0));
  const absl::Span<const int64_t> order = n->arg.payload().ints;
  if (absl::Status s = CheckRank(n, order.size(), from.size()); !s.ok()) return s;
  std::vector<Ref> to;
  std::vector<bool> seen(from.size());
  for (int64_t axis : order) {
    const auto i = static_cast<size_t>(axis);
    if (i >= from.size() || seen[i]) {
      return Bad(n, "of rank ", from.size(), " does not take axis ", axis, " once");
    }
    seen[i] = true;
    to.push_back(from[i]);
  }
  return Keep(g, to);
}

// PAD adds (before, after) to each axis, SHRINK keeps [begin, end) of it.
DimsOrError PadOrShrinkShape(Graph& g, Ref n) {
  const Dims from = KnownShape(n->src(0)), pairs = n->src().subspan(1);
  if (absl::Status s = CheckDims(n, pairs); !s.ok()) return s;
  if (absl::Status s = CheckRank(n, pairs.size(), from.size() * 2); !s.ok()) return s;
  std::vector<Ref> to;
  for (size_t i = 0; i < from.size(); ++i) {
    Ref a = pairs[2 * i], b = pairs[2 * i + 1], dim = nullptr;
    if (n->op == Op::kPad) {
      dim = internal::DimSum(g, from[i], a);
      if (dim != nullptr) dim = internal::DimSum(g, dim, b);
    } else {
      dim = internal::DimDifference(g, b, a);
      const bool outside =
          IsIntConst(b) && IsIntConst(from[i]) && b->IntValue() > from[i]->IntValue();
      if (outside || (dim != nullptr && IsIntConst(dim) && dim->IntValue() < 0)) {
        return Bad(n, "to [", DimText(a), ", ", DimText(b), ") on axis ", i, " of ", Text(from));
      }
    }
    if (dim == nullptr) {
      return Bad(n, "makes axis ", i, " of ", Text(from), " larger than an int64");
    }
    to.push_back(dim);
  }
  return Keep(g, to);
}

DimsOrError FlipShape(Ref n) {
  const Dims from = KnownShape(n->src(0));
  if (from.size() < 64 && n->arg.bits() >> from.size() != 0) {
    return Bad(n, "has an axis beyond ", Text(from));
  }
  return from;
}

DimsOrError ReduceShape(Graph& g, Ref n) {
  const Dims from = KnownShape(n->src(0));
  const uint32_t axes = n->arg.reduce().axes;
  if (from.size() < 32 && axes >> from.size() != 0) {
    return Bad(n, "has an axis beyond ", Text(from));
  }
  if (axes == 0) return from;
  std::vector<Ref> to(from.begin(), from.end());
  for (size_t i = 0; i < to.size() && i < 32; ++i) {
    if ((axes >> i & 1) != 0) to[i] = g.Index(1);
  }
  return Keep(g, to);
}

// Where element sizes differ, the last axis is scaled.
DimsOrError BitcastShape(Graph& g, Ref n) {
  const Dims from = KnownShape(n->src(0));
  const int have = dtype::SizeBytes(n->src(0)->dtype), want = dtype::SizeBytes(n->dtype);
  if (have == 0 || want == 0) {
    return Bad(n, "between ", std::string(dtype::Name(n->src(0)->dtype)), " and ",
               std::string(dtype::Name(n->dtype)));
  }
  if (have == want) return from;
  Ref last = from.empty() ? nullptr : internal::DimScaled(g, from.back(), have, want);
  if (last == nullptr) {
    return Bad(n, "of ", Text(from), " from elements of ", have, " bytes to ", want, " bytes");
  }
  std::vector<Ref> to(from.begin(), from.end());
  to.back() = last;
  return Keep(g, to);
}

DimsOrError StackShape(Graph& g, Ref n) {
  DimsOrError each = Common(n, n->src(), /*scalars=*/false);
  if (!each.ok()) return each;
  std::vector<Ref> to = {g.Index(n->num_src)};
  to.insert(to.end(), each->begin(), each->end());
  return Keep(g, to);
}

DimsOrError UnstackShape(Ref n) {
  const Dims from = KnownShape(n->src(0));
  const int64_t i = n->arg.integer();
  if (from.empty() || i < 0 || (IsIntConst(from[0]) && i >= from[0]->IntValue())) {
    return Bad(n, "takes element ", i, " of ", Text(from));
  }
  return from.subspan(1);
}

DimsOrError Compute(Graph& g, Ref n) {
  switch (n->op) {
    case Op::kReshape:
      return ReshapeShape(n);
    case Op::kExpand:
      return ExpandShape(n);
    case Op::kPermute:
      return PermuteShape(g, n);
    case Op::kPad:
    case Op::kShrink:
      return PadOrShrinkShape(g, n);
    case Op::kFlip:
      return FlipShape(n);
    case Op::kReduce:
      return ReduceShape(g, n);
    case Op::kBitcast:
      return BitcastShape(g, n);
    case Op::kStack:
      return StackShape(g, n);
    case Op::kUnstack:
      return UnstackShape(n);
    case Op::kAssign:
      return Common(n, n->src(), /*scalars=*/false);
    case Op::kInput:
    case Op::kBuffer: {
      if (absl::Status s = CheckDims(n, n->src()); !s.ok()) return s;
      return n->src();
    }
    case Op::kIota: {
      if (absl::Status s = CheckDims(n, n->src()); !s.ok()) return s;
      if (n->arg.bits() >= n->num_src) {
        return Bad(n, "along axis ", n->arg.integer(), " of ", Text(n->src()));
      }
      return n->src();
    }
    case Op::kGradient:
      if (Needs(n).empty()) {
        return Bad(n, "with respect to source ", n->arg.integer(), " of ", n->num_src - 2);
      }
      break;
    case Op::kCall:
      return absl::FailedPreconditionError(absl::StrCat(
          "call (node ", n->id, ") has no shape before its function is expanded: ", Excerpt(n)));
    default:
      break;
  }
  return Needs(n).empty() ? DimsOrError(Dims()) : Common(n, Needs(n), /*scalars=*/true);
}

}  // namespace

absl::StatusOr<absl::Span<const Ref>> ShapeOf(Graph& g, Ref root) {
  if (internal::Has(root, Facts::kHaveShape)) return KnownShape(root);
  absl::Status error;
  internal::ComputeBottomUp(root, Facts::kHaveShape, Needs, [&g, &error](Ref n) {
    const DimsOrError shape = Compute(g, n);
    if (!shape.ok()) {
      error = shape.status();
      return false;
    }
    Facts* f = g.MutableFacts(n);
    f->shape = shape->data();
    f->rank = static_cast<uint16_t>(shape->size());
    f->have |= Facts::kHaveShape;
    return true;
  });
  if (!error.ok()) return error;
  return KnownShape(root);
}

}  // namespace kiln::uop
