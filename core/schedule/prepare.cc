#include "core/schedule/prepare.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include "core/dtype/status.h"
#include "core/schedule/storage.h"
#include "core/tensor/movement.h"
#include "core/uop/facts.h"
#include "core/uop/text.h"
#include "core/uop/walk.h"

namespace kiln::schedule::internal {
namespace {

// A reduction of at least so many elements to each of at most so many is done in two steps, the first
// of which gives each of them about this many parts.
constexpr int64_t kMinSplitElems = 32768;
constexpr int64_t kMaxSplitResults = 16;
constexpr int64_t kParts = 32;

class Preparer {
 public:
  Preparer(Graph& g, const ScheduleOptions& options) : g_(g), options_(options) {}

  absl::StatusOr<Prepared> Run(Ref sink) {
    out_.default_device = DeviceNumber(options_.default_device);
    for (Ref n : uop::Toposort(sink)) {
      std::vector<Ref> src;
      for (Ref s : n->src()) src.push_back(now_.Get(s));
      if (n->op == Op::kSink || n->op == Op::kCopy) {
        for (Ref& s : src) s = InMemoryForm(s);
      }
      KILN_ASSIGN_OR_RETURN(now_[n], Replacement(n, absl::MakeSpan(src)));
    }
    out_.sink = now_.Get(sink);
    return std::move(out_);
  }

 private:
  int32_t DeviceNumber(std::string_view name) {
    const auto it = std::find(out_.devices.begin(), out_.devices.end(), name);
    if (it != out_.devices.end()) return static_cast<int32_t>(it - out_.devices.begin());
    out_.devices.emplace_back(name);
    return static_cast<int32_t>(out_.devices.size() - 1);
  }

  // Part of an input, written in place: its elements in order exist only through a kernel that reads them.
  Ref InMemoryForm(Ref n) {
    Ref base = SkipReshapes(n);
    if (base->op != Op::kAssign || AssignsWhole(base)) return n;
    Ref copy = g_.Make(Op::kContiguous, n->dtype, {n});
    out_.device[copy] = out_.device.Get(n);
    return copy;
  }

  absl::StatusOr<Ref> Replacement(Ref n, absl::Span<Ref> src) {
    if (n->op == Op::kDetach) return src[0];
    if (n->op == Op::kContiguous) {
      Ref base = SkipReshapes(src[0]);
      const bool whole = base->op == Op::kInput || (base->op == Op::kAssign && AssignsWhole(base));
      // What can be computed anywhere is stored only where someone asks for it.
      if (whole || out_.device.Get(src[0]) == 0 || base->op == Op::kContiguous ||
          base->op == Op::kCopy)
        return src[0];
    }
    if (n->op == Op::kAssign) {
      // Its kernel puts the value where it belongs: no need to have it elsewhere before.
      while (src[1]->op == Op::kContiguous) src[1] = src[1]->src(0);
      // To write once more what has just been written there changes nothing.
      if (src[1]->op == Op::kAssign && src[1]->src(0) == src[0]) return src[1];
    }
    int32_t device = 0;
    if (n->op == Op::kCopy) {
      const std::string_view name = n->arg.payload().text;
      device = (name.empty() ? out_.default_device : DeviceNumber(name)) + 1;
      const int32_t from = out_.device.Get(src[0]);
      if (from == device || from == 0) return src[0];
    } else if (n->op == Op::kInput) {
      const auto slot = static_cast<size_t>(n->arg.integer());
      const bool named =
          slot < options_.input_devices.size() && !options_.input_devices[slot].empty();
      device = (named ? DeviceNumber(options_.input_devices[slot]) : out_.default_device) + 1;
    } else if (n->op != Op::kSink) {
      KILN_ASSIGN_OR_RETURN(device, CommonDevice(n, src));
    }
    Ref m = g_.WithSources(n, src);
    out_.device[m] = device;
    if (n->op == Op::kReduce && device != 0) return SplitReduce(m);
    return m;
  }

  // REDUCE of axis [.., parts * rest, ..] as one over [.., parts, rest, ..] that keeps the parts, and another
  // of those.
  absl::StatusOr<Ref> SplitReduce(Ref n) {
    KILN_ASSIGN_OR_RETURN(const absl::Span<const Ref> shape, uop::ShapeOf(g_, n->src(0)));
    const ReduceArg arg = n->arg.reduce();
    int64_t elems = 1, results = 1, axis = -1, parts = 1;
    for (size_t i = 0; i < shape.size(); ++i) {
      if (!shape[i]->IsConst()) return n;
      const int64_t size = shape[i]->IntValue();
      const bool reduced = (arg.axes >> i & 1) != 0;
      int64_t& product = reduced ? elems : results;
      if (size == 0 || product > INT64_MAX / size) return n;
      product *= size;
      const int64_t divisor = reduced ? LargestDivisor(size) : 1;
      if (divisor > parts) {
        parts = divisor;
        axis = static_cast<int64_t>(i);
      }
    }
    if (elems < kMinSplitElems || results > kMaxSplitResults || axis < 0) return n;
    if (shape.size() == tensor::kMaxRank) return n;
    std::vector<Ref> split = {n->src(0)};
    split.insert(split.end(), shape.begin(), shape.end());
    split[static_cast<size_t>(axis) + 1] =
        g_.Index(shape[static_cast<size_t>(axis)]->IntValue() / parts);
    split.insert(split.begin() + axis + 1, g_.Index(parts));
    Ref x = g_.Make(Op::kReshape, n->dtype, split);
    // The axes before stay, the new one is kept, the others move up by one.
    const uint32_t low = (uint32_t{1} << axis) - 1;
    const uint32_t axes = (arg.axes & low) | (arg.axes & ~low) << 1;
    Ref partial = Make(Op::kReduce, n, {x}, Arg::Of(ReduceArg{arg.op, axes}));
    Ref stored = Make(Op::kContiguous, n, {partial});
    Ref whole = Make(Op::kReduce, n, {stored}, Arg::Of(ReduceArg{arg.op, uint32_t{1} << axis}));
    KILN_ASSIGN_OR_RETURN(const absl::Span<const Ref> shape_out, uop::ShapeOf(g_, n));
    std::vector<Ref> src = {whole};
    src.insert(src.end(), shape_out.begin(), shape_out.end());
    return Make(Op::kReshape, n, src, {});
  }
  // With the device of `like`.
  Ref Make(Op op, Ref like, absl::Span<const Ref> src, Arg arg = {}) {
    Ref n = g_.Make(op, like->dtype, src, arg);
    out_.device[n] = out_.device.Get(like);
    return n;
  }
  static int64_t LargestDivisor(int64_t size) {
    int64_t d = std::min(size, kParts);
    while (size % d != 0) --d;
    return d;
  }

  absl::StatusOr<int32_t> CommonDevice(Ref n, absl::Span<const Ref> src) {
    int32_t device = 0;
    for (Ref s : src) {
      const int32_t of_s = out_.device.Get(s);
      if (of_s == 0 || of_s == device) continue;
      if (device != 0) {
        return absl::InvalidArgumentError(absl::StrCat(
            "node ", n->id, ", ", uop::Excerpt(n), ", has operands on ", out_.devices[device - 1],
            " and ", out_.devices[of_s - 1], ": copy one first"));
      }
      device = of_s;
    }
    return device;
  }

  Graph& g_;
  const ScheduleOptions& options_;
  Prepared out_;
  uop::NodeMap<Ref> now_;
};

}  // namespace

bool AssignsWhole(Ref n) {
  while (n->op == Op::kAssign || n->op == Op::kReshape) n = n->src(0);
  return n->op == Op::kInput;
}

absl::StatusOr<Prepared> Prepare(Graph& g, Ref sink, const ScheduleOptions& options) {
  return Preparer(g, options).Run(sink);
}

}  // namespace kiln::schedule::internal
