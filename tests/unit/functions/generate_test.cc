// A decoder that generates token by token with a cache of keys and values, made of library functions:
// one graph for every position, which is a variable, gives what the whole sequence at once gives.
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "backends/cpu/cpu.h"
#include "core/runtime/engine.h"
#include "core/tensor/graph_builder.h"
#include "tests/support/random.h"
#include "tests/support/status_matchers.h"

namespace kiln::tensor::functions {
namespace {

constexpr int64_t kVocabulary = 31, kWidth = 16, kHeads = 4, kKvHeads = 2, kLayers = 2, kMax = 128;
constexpr int64_t kHead = kWidth / kHeads;
constexpr DType kF32 = DType::kFloat32;
using Node = absl::StatusOr<Value>;

template <typename T>
absl::Span<const std::byte> BytesOf(const std::vector<T>& v) {
  return {reinterpret_cast<const std::byte*>(v.data()), v.size() * sizeof(T)};
}

// Inputs by slot: tokens, then weights and caches in the order in which they are asked for.
class Decoder {
 public:
  Decoder(GraphBuilder& b, bool with_cache) : b_(b), with_cache_(with_cache) {}

  // tokens: [count] -> logits [count, vocabulary]; the first one is at `position`.
  Node Logits(int64_t count, const Dim& position) {
    const Node tokens = b_.Input(slot_++, DType::kInt32, {count});
    const Node embedding = Weight({kVocabulary, kWidth});
    Node x = Call("embedding", {tokens, embedding});
    for (int64_t layer = 0; layer < kLayers; ++layer) {
      x = Call("add", {x, Attention(Normed(x), count, position)});
      const Node up = Weight({4 * kWidth, kWidth}), down = Weight({kWidth, 4 * kWidth});
      const Node inner = Call("gelu", {Call("linear", {Normed(x), up})});
      x = Call("add", {x, Call("linear", {inner, down})});
    }
    return Call("linear", {Normed(x), embedding});
  }
  const std::vector<std::vector<int64_t>>& weights() const { return weights_; }
  // Slots of caches, and what is written to them.
  const std::vector<int64_t>& caches() const { return caches_; }
  const std::vector<Source>& writes() const { return writes_; }

 private:
  Node Call(const std::string& f, std::vector<std::optional<Source>> in,
            std::vector<Attribute> attributes = {}) {
    const auto made = b_.Call(f, in, attributes);
    if (!made.ok()) return made.status();
    return (*made)[0];
  }
  Node Weight(std::vector<int64_t> shape) {
    weights_.push_back(shape);
    return b_.Input(100 + static_cast<int64_t>(weights_.size()) - 1, kF32,
                    std::vector<Dim>(shape.begin(), shape.end()));
  }
  Node Normed(const Node& x) { return Call("rms_norm", {x, Weight({kWidth})}); }
  Node Split(const Node& x, int64_t count, int64_t heads) {  // [heads, count, head]
    const Node split = Call("reshape", {x}, {{"shape", std::vector<int64_t>{count, heads, kHead}}});
    return Call("moveaxis", {split}, {{"from", 1}, {"to", 0}});
  }
  Node Attention(const Node& x, int64_t count, const Dim& position) {
    const Node p =
        position.node().has_value() ? position.node()->value() : Node(b_.Index(position.size()));
    const Node places = Call("add", {Call("iota", {}, {{"shape", std::vector<int64_t>{count}}}),
                                     b_.Cast(p, DType::kInt64)});
    const Node q = Split(Call("linear", {x, Weight({kWidth, kWidth})}), count, kHeads);
    Node k = Split(Call("linear", {x, Weight({kKvHeads * kHead, kWidth})}), count, kKvHeads);
    Node v = Split(Call("linear", {x, Weight({kKvHeads * kHead, kWidth})}), count, kKvHeads);
    k = Call("rope", {k, places});
    if (with_cache_) {
      k = Cached(k, count, p);
      v = Cached(v, count, p);
    }
    const Node y = Call("attention", {Call("rope", {q, places}), k, v}, {{"causal", true}});
    const Node joined = Call("reshape", {Call("moveaxis", {y}, {{"from", 0}, {"to", 1}})},
                             {{"shape", std::vector<int64_t>{count, kWidth}}});
    return Call("linear", {joined, Weight({kWidth, kWidth})});
  }
  // Writes to the cache at the position; what is before it, and the new ones.
  Node Cached(const Node& x, int64_t count, const Node& p) {
    caches_.push_back(slot_);
    const Node cache = b_.Input(slot_++, kF32, {kKvHeads, kMax, kHead});
    const Node end = b_.Alu(Op::kAdd, {p, b_.Index(count)});
    const Node place = b_.Shrink(cache, {0, kKvHeads, p, end, 0, kHead});
    writes_.emplace_back(b_.Assign(place, x));
    const Node before = Call("slice", {cache},
                             {{"begin", std::vector<Dim>{Dim(0)}},
                              {"end", std::vector<Dim>{Dim(p)}},
                              {"axes", std::vector<int64_t>{1}}});
    return Call("concat", {before, x}, {{"axis", 1}});
  }

  GraphBuilder& b_;
  const bool with_cache_;
  int64_t slot_ = 0;
  std::vector<std::vector<int64_t>> weights_;
  std::vector<int64_t> caches_;
  std::vector<Source> writes_;
};

TEST(Generate, OneGraphServesEveryPosition) {
  runtime::Registry registry;
  KILN_ASSERT_OK(cpu::RegisterCpuBackend(registry, {}));
  const auto made = runtime::Engine::Create(registry, {});
  KILN_ASSERT_OK(made);
  runtime::Engine& engine = **made;

  GraphBuilder whole_builder, step_builder;
  Decoder whole(whole_builder, false), step(step_builder, true);
  const Node all = whole.Logits(kMax, Dim(0));
  const Node next = step.Logits(1, Dim(step_builder.Variable("start_pos", 0, kMax - 1)));
  KILN_ASSERT_OK(all);
  KILN_ASSERT_OK(next);
  std::vector<Source> outputs = {*next};
  outputs.insert(outputs.end(), step.writes().begin(), step.writes().end());
  const auto whole_graph = std::move(whole_builder).Finish({*all});
  const auto step_graph = std::move(step_builder).Finish(outputs);
  KILN_ASSERT_OK(whole_graph);
  KILN_ASSERT_OK(step_graph);
  ASSERT_EQ(whole.weights(), step.weights());

  support::Random random(7);
  std::vector<runtime::Binding> weights;
  for (size_t i = 0; i < step.weights().size(); ++i) {
    size_t size = 1;
    for (int64_t n : step.weights()[i]) size *= static_cast<size_t>(n);
    std::vector<float> w(size);
    for (float& v : w) v = static_cast<float>(random.Uniform(-1000, 1000)) / 2000;
    auto buffer = engine.Upload("cpu:0", BytesOf(w));
    KILN_ASSERT_OK(buffer);
    weights.push_back({100 + static_cast<int64_t>(i), *std::move(buffer)});
  }
  std::vector<int32_t> tokens(kMax);
  for (int32_t& t : tokens) t = static_cast<int32_t>(random.Uniform(0, kVocabulary - 1));

  const auto run = [&](const TensorGraph& graph, const std::vector<int32_t>& given,
                       const std::vector<runtime::Binding>& caches,
                       const runtime::VarVals& variables) -> std::vector<float> {
    auto slot = engine.Upload("cpu:0", BytesOf(given));
    KILN_EXPECT_OK(slot);
    std::vector<runtime::Binding> inputs = {{0, *std::move(slot)}};
    inputs.insert(inputs.end(), caches.begin(), caches.end());
    inputs.insert(inputs.end(), weights.begin(), weights.end());
    const auto result = engine.Run(graph, {.inputs = inputs, .variables = variables});
    KILN_EXPECT_OK(result);
    if (!result.ok()) return {};
    std::vector<float> logits(given.size() * kVocabulary);
    KILN_EXPECT_OK(engine.Read(result->outputs[0],
                               {reinterpret_cast<std::byte*>(logits.data()), logits.size() * 4}));
    return logits;
  };
  const std::vector<float> want = run(*whole_graph, tokens, {}, {});
  ASSERT_FALSE(want.empty());
  std::vector<runtime::Binding> caches;
  for (int64_t slot : step.caches()) {
    auto buffer = engine.Upload("cpu:0", BytesOf(std::vector<float>(kKvHeads * kMax * kHead)));
    KILN_ASSERT_OK(buffer);
    caches.push_back({slot, *std::move(buffer)});
  }
  for (int64_t p = 0; p < kMax; ++p) {
    const std::vector<float> got =
        run(*step_graph, {tokens[static_cast<size_t>(p)]}, caches, {{"start_pos", p}});
    ASSERT_EQ(got.size(), kVocabulary);
    for (size_t i = 0; i < got.size(); ++i) {
      ASSERT_NEAR(got[i], want[static_cast<size_t>(p * kVocabulary) + i], 2e-4)
          << "position " << p << ", token " << i;
    }
  }
  EXPECT_EQ(engine.counters().plans_built, 2);
}

}  // namespace
}  // namespace kiln::tensor::functions
