// Any bytes, and valid graphs with changes, as a Graph of the wire: it is refused with a message that
// can be sent, or what it becomes satisfies the spec of its level.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "google/protobuf/text_format.h"

#include "core/dtype/check.h"
#include "core/rewrite/specs.h"
#include "server/graph/import.h"
#include "tests/fuzz/mutate_message.h"

namespace {

namespace pb = kiln::v1;

constexpr const char* kWords[] = {
    "",        "n",      "m",    "cpu:0",     "cpu:1",      "cpu:0,cpu:1", "softmax",
    "sum",     "matmul", "sort", "conv2d",    "layer_norm", "gather",      "reshape",
    "one_hot", "topk",   "cat",  "axis",      "axes",       "keepdim",     "dims",
    "k",       "dim",    "size", "frobnicate"};

// Something of everything.
constexpr char kStart[] = R"pb(
  nodes {
    op: OP_VARIABLE
    variable { name: "n" min: 1 max: 64 }
  }
  nodes {
    op: OP_INPUT
    dtype: DTYPE_FLOAT32
    input {
      dims { node: 0 }
      dims { value: 6 }
    }
  }
  nodes {
    op: OP_CONST
    dtype: DTYPE_FLOAT32
    constant { float_value: 2 }
  }
  nodes {
    op: OP_RESHAPE
    src: 2
    dims {
      dims { value: 1 }
      dims { value: 1 }
    }
  }
  nodes {
    op: OP_EXPAND
    src: 3
    dims {
      dims { node: 0 }
      dims { value: 6 }
    }
  }
  nodes { op: OP_MUL src: 1 src: 4 label: "scaled" }
  nodes {
    op: OP_REDUCE
    src: 5
    reduce { op: REDUCE_OP_ADD axes: 1 }
  }
  nodes {
    op: OP_CALL
    src: 5
    call {
      function: "softmax"
      attributes {
        key: "axis"
        value { int_value: -1 }
      }
    }
  }
  nodes {
    op: OP_GRADIENT
    src: 6
    src: 1
    gradient { which: 0 }
  }
  nodes {
    op: OP_PAD
    src: 5
    dims {
      dims { value: 0 }
      dims { value: 1 }
      dims { value: 2 }
      dims { value: 0 }
    }
  }
  nodes {
    op: OP_SHRINK
    src: 9
    dims {
      dims { value: 0 }
      dims { node: 0 }
      dims { value: 2 }
      dims { value: 8 }
    }
  }
  nodes {
    op: OP_PERMUTE
    src: 10
    axes { axes: 1 axes: 0 }
  }
  nodes {
    op: OP_FLIP
    src: 11
    axes { axes: 0 }
  }
  nodes {
    op: OP_IOTA
    dtype: DTYPE_INT32
    iota {
      dims { value: 6 }
      dims { value: 4 }
      axis: 1
    }
  }
  nodes { op: OP_CAST dtype: DTYPE_INT8 src: 13 }
  nodes { op: OP_BITCAST dtype: DTYPE_UINT8 src: 14 }
  nodes { op: OP_CMPLT src: 13 src: 13 }
  nodes { op: OP_WHERE src: 16 src: 14 src: 14 }
  nodes { op: OP_ASSIGN src: 1 src: 5 }
  nodes { op: OP_COPY src: 5 device: "cpu:1" }
  nodes {
    op: OP_INPUT
    dtype: DTYPE_FLOAT32
    input {
      slot: 1
      dims { value: 4 }
      dims { value: 4 }
    }
  }
  nodes {
    op: OP_SHARD
    src: 20
    shard { devices: "cpu:0" devices: "cpu:1" axis: 0 }
  }
  nodes {
    op: OP_ALLREDUCE
    src: 21
    reduce { op: REDUCE_OP_MAX }
  }
  nodes { op: OP_UNSHARD src: 21 }
  nodes {
    op: OP_CALL
    src: 20
    call { function: "sort" output: 1 }
  }
  nodes {
    op: OP_CALL
    src: 20
    src: 23
    call { function: "matmul" }
  }
)pb";

std::string Start() {
  pb::Graph graph;
  KILN_CHECK(google::protobuf::TextFormat::ParseFromString(kStart, &graph));
  return graph.SerializeAsString();
}

// Small enough for many runs a second.
constexpr kiln::tensor::GraphLimits kLimits = {.nodes = 20'000,
                                               .dims = 20'000,
                                               .dim_work = 1 << 16,
                                               .gradient_visits = 1 << 18,
                                               .gradient_nodes = 10'000};

bool IsUtf8(std::string_view s) {
  for (size_t i = 0; i < s.size();) {
    const auto c = static_cast<uint8_t>(s[i]);
    const size_t n = c < 0x80                ? 1
                     : c >= 0xc2 && c < 0xe0 ? 2
                     : (c & 0xf0) == 0xe0    ? 3
                     : c >= 0xf0 && c < 0xf5 ? 4
                                             : 0;
    if (n == 0 || i + n > s.size()) return false;
    for (size_t k = 1; k < n; ++k) {
      if ((static_cast<uint8_t>(s[i + k]) & 0xc0) != 0x80) return false;
    }
    i += n;
  }
  return true;
}

}  // namespace

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  static const std::string* const start = new std::string(Start());
  if (seed % 16 == 0) return LLVMFuzzerMutate(data, size, max_size);
  pb::Graph graph;
  return kiln::fuzz::MutateSerialized(graph, *start, data, size, max_size, seed, kWords);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  pb::Graph graph;
  if (!graph.ParseFromArray(data, static_cast<int>(size)) || graph.nodes().empty()) return 0;
  const auto last = static_cast<uint32_t>(graph.nodes_size() - 1);
  const auto imported = kiln::server::ImportGraph(graph, {last, last / 2}, kLimits);
  if (!imported.ok()) {
    const absl::Status& status = imported.status();
    KILN_CHECK(!absl::IsInternal(status) && !absl::IsUnknown(status));
    KILN_CHECK(!status.message().empty() && status.message().size() < 2100);
    KILN_CHECK(IsUtf8({status.message().data(), status.message().size()}));
    return 0;
  }
  KILN_CHECK(
      kiln::rewrite::Verify(*imported->graph, imported->sink, kiln::rewrite::kTensorSpec).ok());
  return 0;
}
