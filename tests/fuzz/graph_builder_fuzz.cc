// Any bytes as a sequence of calls of GraphBuilder: each is refused with a status, or made; what it
// then finishes satisfies the spec of its level.
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/dtype/check.h"
#include "core/rewrite/specs.h"
#include "core/tensor/graph_builder.h"
#include "core/uop/facts.h"
#include "core/uop/text.h"

namespace {

using kiln::DType;
using kiln::Op;
using kiln::Scalar;
using namespace kiln::tensor;  // NOLINT(google-build-using-namespace)

// Fields of calls, small numbers and existing nodes being likely.
class Reader {
 public:
  Reader(const uint8_t* data, size_t size, const GraphBuilder& b)
      : data_(data), size_(size), b_(b) {}

  bool empty() const { return size_ == 0; }
  uint8_t Byte() {
    if (size_ == 0) return 0;
    --size_;
    return *data_++;
  }
  int64_t Number() {
    const uint8_t kind = Byte();
    if (kind < 240) return kind % 9;
    if (kind < 250) return static_cast<int64_t>(Byte()) - 128;
    constexpr int64_t kExtremes[] = {INT64_MAX,        INT64_MIN,        INT64_MAX / 2,
                                     int64_t{1} << 31, int64_t{1} << 41, -1};
    return kExtremes[kind - 250];
  }
  Value Node() {
    const uint8_t back = Byte();
    const auto made = static_cast<uint32_t>(b_.num_nodes());
    if (back >= 250 || made == 0) return {back};
    return {made - 1 - back % (made < 12 ? made : 12)};
  }
  DType Type() {
    const uint8_t kind = Byte();
    if (kind < 120) return DType::kFloat32;
    return static_cast<DType>(kind % (kiln::dtype::kNumDTypes + 1));
  }
  std::vector<Dim> Dims() {
    std::vector<Dim> dims;
    const uint8_t kind = Byte();
    const int n = kind < 250 ? kind % 5 : kind % 70;
    for (int i = 0; i < n; ++i) {
      const bool is_node = Byte() % 4 == 0;
      dims.push_back(is_node ? Dim(Node()) : Dim(Number()));
    }
    return dims;
  }
  std::vector<int64_t> Axes() {
    std::vector<int64_t> axes;
    const uint8_t kind = Byte();
    const int n = kind < 250 ? kind % 4 : kind % 70;
    for (int i = 0; i < n; ++i) axes.push_back(Number());
    return axes;
  }
  Op Reduction() {
    constexpr Op kOps[] = {Op::kAdd, Op::kMul, Op::kMax, Op::kSub};
    return kOps[Byte() % 4];
  }
  std::string Name() { return std::string(Byte() % 5, static_cast<char>('a' + Byte() % 4)); }

 private:
  const uint8_t* data_;
  size_t size_;
  const GraphBuilder& b_;
};

// The sources of an elementwise op, as many as it takes or nearly.
absl::StatusOr<Value> Alu(GraphBuilder& b, Reader& r) {
  const Op op = static_cast<Op>(r.Byte() % 40);
  std::vector<Source> src;
  for (int i = kiln::uop::Info(op).min_src; i > 0; --i) src.emplace_back(r.Node());
  if (r.Byte() > 250) src.emplace_back(r.Node());
  return b.Alu(op, src);
}

absl::StatusOr<Value> Call(GraphBuilder& b, Reader& r) {
  if (r.Byte() > 240) b.Label(r.Name());
  switch (r.Byte() % 22) {
    case 0:
      return b.Input(r.Number(), r.Type(), r.Dims(), r.Byte() > 200 ? r.Name() : "");
    case 1:
      return b.Const(r.Type(), r.Byte() % 2 == 0 ? Scalar::Int(r.Number())
                                                 : Scalar::Float(static_cast<double>(r.Number())));
    case 2:
      return b.Index(r.Number());
    case 3:
      return b.Variable(r.Name(), r.Number(), r.Number());
    case 4:
      return b.Iota(r.Byte() % 2 == 0 ? DType::kInt32 : r.Type(), r.Dims(), r.Number());
    case 5:
      return b.Reshape(r.Node(), r.Dims());
    case 6:
      return b.Expand(r.Node(), r.Dims());
    case 7:
      return b.Permute(r.Node(), r.Axes());
    case 8:
      return b.Flip(r.Node(), r.Axes());
    case 9:
      return b.Pad(r.Node(), r.Dims());
    case 10:
      return b.Shrink(r.Node(), r.Dims());
    case 11:
      return b.Cast(r.Node(), r.Type());
    case 12:
      return b.Bitcast(r.Node(), r.Type());
    case 13:
      return b.Reduce(r.Reduction(), r.Node(), r.Axes());
    case 14:
      return r.Byte() % 2 == 0 ? b.Contiguous(r.Node()) : b.Detach(r.Node());
    case 15:
      return b.Assign(r.Node(), r.Node());
    case 16:
      return b.Copy(r.Node(), r.Name());
    case 17:
      return b.Shard(r.Node(), std::vector<std::string>{r.Name(), r.Name()},
                     r.Byte() % 3 == 0 ? std::nullopt : std::optional<int64_t>(r.Number()));
    case 18:
      return r.Byte() % 2 == 0 ? b.Unshard(r.Node()) : b.AllReduce(r.Reduction(), r.Node());
    case 19:
      return b.Gradient(r.Node(),
                        r.Byte() % 4 == 0 ? std::optional<Source>(r.Node()) : std::nullopt,
                        {r.Node()}, r.Byte() > 250 ? 1 : 0);
    default:
      return Alu(b, r);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // Gradients of gradients grow fast: a small limit keeps runs short.
  GraphBuilder b({.gradient_nodes = 20'000});
  Reader r(data, size, b);
  std::vector<Source> outputs;
  while (!r.empty()) {
    const absl::StatusOr<Value> v = Call(b, r);
    if (!v.ok()) {
      KILN_CHECK(!v.status().message().empty());
      KILN_CHECK(!absl::IsInternal(v.status()) && !absl::IsUnknown(v.status()));
      continue;
    }
    const auto shape = b.ShapeOf(*v);
    KILN_CHECK(shape.ok());
    if (*b.DTypeOf(*v) == DType::kIndex) {
      KILN_CHECK(shape->empty());
    } else {
      outputs.emplace_back(*v);
    }
  }
  const auto graph = std::move(b).Finish(outputs);
  if (!graph.ok()) {
    KILN_CHECK(absl::IsInvalidArgument(graph.status()) ||
               absl::IsResourceExhausted(graph.status()));
    return 0;
  }
  KILN_CHECK(kiln::rewrite::Verify(*graph->graph, graph->sink, kiln::rewrite::kTensorSpec).ok());
  for (kiln::Ref condition : graph->conditions) KILN_CHECK(condition->dtype == DType::kBool);
  return 0;
}
