#include "tests/replay/graphs_import.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/uop/text.h"
#include "tests/support/status_matchers.h"

namespace kiln::replay {
namespace {

using ::kiln::support::StatusIs;
using ::testing::HasSubstr;

absl::StatusOr<ImportedGraph> Import(std::string_view text) {
  return ImportGraph(*ParseJson(text));
}

TEST(GraphsImport, TranslatesNodes) {
  KILN_ASSERT_OK_AND_ASSIGN(const ImportedGraph g, Import(R"({"nodes": [
    {"op": "BUFFER", "dtype": "float32", "src": [], "arg": 6, "device": "HOST"},
    {"op": "COPY", "dtype": "float32", "src": [0], "arg": "CPU"},
    {"op": "RESHAPE", "dtype": "float32", "src": [1], "arg": [2, 3]},
    {"op": "REDUCE_AXIS", "dtype": "float32", "src": [2], "arg": ["ADD", [1]]}], "outputs": [3]})"));
  EXPECT_EQ(uop::ToText(g.graph.sink),
            "sink(reduce{add, 1}(reshape(copy{\"CPU\"}(input{0}(6):float32), 2, 3)))");
  ASSERT_EQ(g.inputs.size(), 1);
  EXPECT_EQ(g.inputs[0].node, 0);
  EXPECT_EQ(g.graph.inputs[0].device, "HOST");
}

TEST(GraphsImport, AnAssignToNoPlaceIsItsValue) {
  KILN_ASSERT_OK_AND_ASSIGN(const ImportedGraph g, Import(R"({"nodes": [
    {"op": "BUFFER", "dtype": "int8", "src": [], "arg": 6},
    {"op": "CONTIGUOUS", "dtype": "int8", "src": [0], "arg": null},
    {"op": "BUFFER", "dtype": "int8", "src": [], "arg": 6},
    {"op": "ASSIGN", "dtype": "int8", "src": [1, 2], "arg": null}], "outputs": [3]})"));
  EXPECT_EQ(uop::ToText(g.graph.sink), "sink(input{1}(6):int8)");
}

TEST(GraphsImport, NodesOnSeveralDevicesAreANodeOnEach) {
  KILN_ASSERT_OK_AND_ASSIGN(const ImportedGraph g, Import(R"({"nodes": [
    {"op": "BUFFER", "dtype": "int8", "src": [], "arg": 4},
    {"op": "COPY", "dtype": "int8", "src": [0], "arg": ["CPU", "CPU:1"]},
    {"op": "DEFINE_VAR", "dtype": "index", "src": [], "arg": ["_device_num", 0, 1]},
    {"op": "CONST", "dtype": "index", "src": [], "arg": 2},
    {"op": "MUL", "dtype": "index", "src": [2, 3], "arg": null},
    {"op": "ADD", "dtype": "index", "src": [4, 3], "arg": null},
    {"op": "SHRINK", "dtype": "int8", "src": [1], "arg": [[{"node": 4}, {"node": 5}]]},
    {"op": "MULTI", "dtype": "int8", "src": [6], "arg": 0},
    {"op": "REDUCE_AXIS", "dtype": "int8", "src": [7], "arg": ["ADD", [0]]}],
    "outputs": [7, 8]})"));
  ASSERT_EQ(g.outputs.size(), 2);
  EXPECT_EQ(g.outputs[0].count, 2);  // The shards.
  EXPECT_EQ(g.outputs[1].count, 1);
  EXPECT_EQ(g.graph.sink->num_src, 3);
  EXPECT_THAT(uop::ToText(g.graph.sink), HasSubstr("copy{\"CPU:1\"}(%0)"));
}

TEST(GraphsImport, NamesTheNodeThatIsWrong) {
  EXPECT_THAT(Import(R"({"nodes": [
    {"op": "BUFFER", "dtype": "int8", "src": [], "arg": 6},
    {"op": "RESHAPE", "dtype": "int8", "src": [0], "arg": [5]}], "outputs": [1]})"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("node 1 of the record")));
  EXPECT_THAT(Import(R"({"nodes": [{"op": "NEG", "dtype": "int8", "src": [0], "arg": null}],
                         "outputs": [0]})"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no node 0 precedes")));
  EXPECT_THAT(Import(R"({"nodes": [
    {"op": "BUFFER", "dtype": "int8", "src": [], "arg": 6},
    {"op": "CAST", "dtype": "index", "src": [0], "arg": null}], "outputs": [1]})"),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace kiln::replay
