// A graph in a file, and what a command line says about it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "client/cpp/ctl/npy.h"
#include "kiln/v1/graph.pb.h"

namespace kiln::ctl {

// Proto3 JSON of kiln.v1.Graph. InvalidArgument names the file and what is wrong in it.
absl::StatusOr<v1::Graph> ReadGraph(const std::string& path);

// "name=value" at its first '='; both sides not empty. `what`: the flag and its form, for the message.
absl::StatusOr<std::pair<std::string, std::string>> SplitPair(const std::string& text,
                                                              std::string_view what);

// The INPUT node of a slot; NotFound lists the slots there are.
absl::StatusOr<const v1::Node*> InputOfSlot(const v1::Graph& graph, uint32_t slot);
// Slots that some node reads.
std::map<uint32_t, const v1::Node*> SlotsOf(const v1::Graph& graph);

// A node by its number, or by its label if no other has the same.
absl::StatusOr<uint32_t> FindNode(const v1::Graph& graph, const std::string& name);

// Whether an array is what an INPUT node asks for. Sizes that are computed, other than from a constant or
// a variable as such, are left to the server.
absl::Status CheckInput(const v1::Graph& graph, const v1::Node& input, const NpyHeader& array,
                        const std::map<std::string, int64_t>& var_vals);

}  // namespace kiln::ctl
