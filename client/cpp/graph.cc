#include "client/cpp/graph.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <utility>

#include "client/cpp/internal/seen_graphs.h"

namespace kiln {
namespace {

// The same graph gives the same bytes, also with maps in it.
std::string Serialise(const v1::Graph& graph) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  graph.SerializeToCodedStream(&coded);
  coded.Trim();
  return bytes;
}

}  // namespace

EncodedGraph::EncodedGraph(const v1::Graph& graph) : EncodedGraph(Serialise(graph)) {}

EncodedGraph::EncodedGraph(std::string bytes) {
  std::string hash = client::Sha256(bytes);
  state_ = std::make_shared<const State>(State{std::move(bytes), std::move(hash)});
}

}  // namespace kiln
