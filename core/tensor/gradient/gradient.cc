#include "core/tensor/gradient/gradient.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include "core/dtype/status.h"
#include "core/tensor/gradient/rules.h"
#include "core/uop/facts.h"
#include "core/uop/text.h"

namespace kiln::tensor {
namespace {

absl::string_view View(std::string_view s) { return {s.data(), s.size()}; }

// Whether the adjoint of `v` may go on to its sources.
bool Passes(Ref v) {
  return dtype::IsFloat(v->dtype) && v->num_src > 0 && !v->Is(Op::kDetach) && !v->Is(Op::kBitcast);
}

absl::Status NoGradientOf(Ref v, std::string_view why) {
  return absl::UnimplementedError(
      absl::StrCat("no gradient of node ", v->id, ", ", uop::Excerpt(v), ": ", View(why)));
}

absl::Status CheckFloat(Ref n, std::string_view what) {
  if (dtype::IsFloat(n->dtype)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      View(what), " has dtype ", View(dtype::Name(n->dtype)), ", and gradients are of floats"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Adjoints>> Adjoints::Make(Graph& g, Ref y, Ref seed,
                                                         GradientOptions options) {
  KILN_RETURN_IF_ERROR(CheckFloat(y, "y"));
  KILN_ASSIGN_OR_RETURN(const absl::Span<const Ref> shape, uop::ShapeOf(g, y));
  if (seed == nullptr) {
    seed = OnesLike(g, y);
  } else {
    KILN_ASSIGN_OR_RETURN(const absl::Span<const Ref> seed_shape, uop::ShapeOf(g, seed));
    if (seed->dtype != y->dtype || seed_shape != shape) {
      return absl::InvalidArgumentError(
          absl::StrCat("the seed, ", uop::Excerpt(seed), ", has not dtype and shape of y"));
    }
  }
  auto made = std::unique_ptr<Adjoints>(new Adjoints(g, y, seed, std::move(options)));
  int64_t visits = 0;
  uop::Visit(y, [&](Ref n) {
    ++visits;
    made->has_shards_ = made->has_shards_ || n->Is(Op::kShard);
    return true;
  });
  KILN_RETURN_IF_ERROR(made->Spend(visits));
  return made;
}

Adjoints::Adjoints(Graph& g, Ref y, Ref seed, GradientOptions options)
    : g_(g),
      y_(y),
      seed_(seed),
      options_(std::move(options)),
      users_(absl::MakeConstSpan(&y_, 1)) {}

absl::Status Adjoints::Spend(int64_t visits) {
  if (options_.budget == nullptr) return absl::OkStatus();
  if ((options_.budget->visits -= visits) >= 0) return absl::OkStatus();
  return absl::ResourceExhaustedError("gradients visit more nodes than the limit");
}

std::vector<Ref> Adjoints::Pending(Ref x) {
  std::vector<Ref> pending;
  const auto ask = [&](Ref n) {
    if (state_.Get(n) != State::kUnknown) return;
    state_[n] = State::kPending;
    pending.push_back(n);
  };
  ask(x);
  for (size_t i = 0; i < pending.size(); ++i) {
    for (Ref user : users_.Of(pending[i])) {
      if (Passes(user)) ask(user);
    }
  }
  std::sort(pending.begin(), pending.end(), [](Ref a, Ref b) { return a->id > b->id; });
  return pending;
}

absl::StatusOr<Ref> Adjoints::Of(Ref x) {
  KILN_RETURN_IF_ERROR(CheckFloat(x, "x"));
  KILN_RETURN_IF_ERROR(uop::ShapeOf(g_, x));
  const std::vector<Ref> pending = Pending(x);
  absl::Status status = Spend(static_cast<int64_t>(pending.size()));
  for (Ref n : pending) {
    if (status.ok()) status = Compute(n);
    state_[n] = status.ok() ? State::kDone : State::kUnknown;
  }
  if (!status.ok()) return status;
  Ref adjoint = adjoint_.Get(x);
  if (adjoint == nullptr) return internal::Terms(g_).Zeros(x);
  return has_shards_ ? PlacedLike(adjoint, x) : adjoint;
}

absl::Status Adjoints::Compute(Ref n) {
  const uint32_t before = g_.size();
  std::vector<Ref> parts;
  if (n == y_) parts.push_back(seed_);
  for (Ref v : users_.Of(n)) {
    if (!Passes(v) || adjoint_.Get(v) == nullptr) continue;
    for (int i = 0; i < v->num_src; ++i) {
      if (v->src(i) != n) continue;
      KILN_ASSIGN_OR_RETURN(Ref part, Part(v, i));
      if (part != nullptr) parts.push_back(part);
    }
  }
  adjoint_[n] = parts.empty() ? nullptr : internal::Terms(g_).Sum(parts);
  if (options_.budget == nullptr) return absl::OkStatus();
  if ((options_.budget->nodes -= g_.size() - before) >= 0) return absl::OkStatus();
  return absl::ResourceExhaustedError("gradients make more nodes than the limit");
}

absl::StatusOr<Ref> Adjoints::Part(Ref v, int i) {
  internal::Terms terms(g_);
  Ref d = adjoint_.Get(v);
  if (uop::IsAlu(v->op)) return internal::ElementwiseGradient(terms, v, i, d);
  if (uop::IsMovement(v->op)) return internal::MovementGradient(terms, v, d);
  switch (v->op) {
    case Op::kReduce:
      return internal::ReduceGradient(terms, v, d);
    case Op::kContiguous:
      return d;
    case Op::kAssign:
      return i == 1 ? d : nullptr;
    case Op::kCopy:
    case Op::kShard:
    case Op::kUnshard:
    case Op::kAllReduce:
      return DeviceGradient(v, d);
    default:
      return NoGradientOf(v, "it must be expanded first");
  }
}

Ref OnesLike(Graph& g, Ref y) { return internal::Terms(g).Ones(y); }

absl::StatusOr<std::vector<Ref>> Gradients(Graph& g, Ref y, Ref seed, absl::Span<const Ref> xs) {
  KILN_ASSIGN_OR_RETURN(const std::unique_ptr<Adjoints> adjoints, Adjoints::Make(g, y, seed));
  std::vector<Ref> gradients;
  for (Ref x : xs) {
    KILN_ASSIGN_OR_RETURN(gradients.emplace_back(), adjoints->Of(x));
  }
  return gradients;
}

// ** devices **

absl::StatusOr<Ref> Adjoints::DeviceGradient(Ref v, Ref d) {
  Ref x = v->src(0);
  switch (v->op) {
    case Op::kCopy: {
      if (has_shards_) {
        KILN_ASSIGN_OR_RETURN(d, PlacedLike(d, v));
      }
      const std::string* device = DeviceOf(x);
      if (device == nullptr || internal::UniformValue(d).has_value()) return d;
      return g_.Make(Op::kCopy, d->dtype, {d}, g_.PayloadArg(*device, {}));
    }
    case Op::kAllReduce: {
      KILN_ASSIGN_OR_RETURN(d, PlacedLike(d, v));
      internal::Terms terms(g_);
      return internal::AllReduceGradient(terms, v, d);
    }
    default:
      return PlacedLike(d, x);
  }
}

absl::StatusOr<Placement> Adjoints::PlacementOf(Ref root) {
  std::vector<Ref> stack = {root};
  while (!stack.empty()) {
    Ref n = stack.back();
    if (placements_.Get(n).known) {
      stack.pop_back();
      continue;
    }
    const size_t depth = stack.size();
    for (Ref s : n->src()) {
      if (!placements_.Get(s).known) stack.push_back(s);
    }
    if (stack.size() != depth) continue;
    std::vector<Placement> sources;
    for (Ref s : n->src()) sources.push_back(placements_.Get(s).placement);
    KILN_ASSIGN_OR_RETURN(const PlacementResult result, tensor::PlacementOf(g_, n, sources),
                          _ << "in the gradient: " << uop::Excerpt(n));
    placements_[n] = {true, result.placement};
    stack.pop_back();
  }
  return placements_.Get(root).placement;
}

absl::StatusOr<Ref> Adjoints::PlacedLike(Ref n, Ref like) {
  KILN_ASSIGN_OR_RETURN(const Placement have, PlacementOf(n));
  KILN_ASSIGN_OR_RETURN(const Placement want, PlacementOf(like));
  const bool same_devices =
      have.is_sharded() == want.is_sharded() &&
      (!have.is_sharded() || have.shard->arg.payload().text == want.shard->arg.payload().text);
  if (same_devices && have.axis == want.axis) return n;
  if (have.is_sharded()) n = g_.Unary(Op::kUnshard, n);
  if (!want.is_sharded()) return n;
  std::vector<int64_t> axis;
  if (want.axis.has_value()) axis.push_back(*want.axis);
  return g_.Make(Op::kShard, n->dtype, {n}, g_.PayloadArg(want.shard->arg.payload().text, axis));
}

const std::string* Adjoints::DeviceOf(Ref root) {
  const auto number = [this](std::string name) {
    size_t i = 0;
    while (i < devices_.size() && *devices_[i] != name) ++i;
    if (i == devices_.size()) devices_.push_back(std::make_unique<std::string>(std::move(name)));
    return static_cast<uint32_t>(i + 2);
  };
  std::vector<Ref> stack = {root};
  while (!stack.empty()) {
    Ref n = stack.back();
    uint32_t device = device_plus_2_.Get(n);
    const size_t depth = stack.size();
    if (device == 0) {
      if (n->Is(Op::kInput)) {
        device = number(options_.device_of ? options_.device_of(n) : std::string());
      } else if (n->Is(Op::kCopy)) {
        device = number(std::string(n->arg.payload().text));
      } else if (n->Is(Op::kShard)) {
        device = number(DevicesOf(n)[0]);  // Where UNSHARD puts it together.
      } else {
        device = 1;
        for (Ref s : n->src()) {
          const uint32_t of_s = device_plus_2_.Get(s);
          if (of_s == 0) stack.push_back(s);
          device = std::max(device, of_s);
        }
      }
    }
    if (stack.size() != depth) continue;
    device_plus_2_[n] = device;
    stack.pop_back();
  }
  const uint32_t device = device_plus_2_.Get(root);
  return device == 1 ? nullptr : devices_[device - 2].get();
}

}  // namespace kiln::tensor
