// The model workloads of the fixtures, for benchmarks.
#pragma once

#include <string>
#include <vector>

#include "core/schedule/schedule.h"
#include "core/uop/graph.h"
#include "tests/replay/graphs_import.h"
#include "tests/replay/record.h"

namespace kiln::replay {

inline constexpr char kModels[] = "tests/fixtures/graphs/models";

struct Model {
  std::string id;
  Json json;

  ImportedGraph Graph() const;
  std::string Name() const { return id.substr(id.find("::") + 2); }
};

// Read once; lives as long as the process.
const std::vector<Model>& Models();

// The kernels of a schedule, each once: equal layers have the same kernel, which is compiled once.
std::vector<Ref> KernelsOf(const schedule::Schedule& schedule);

}  // namespace kiln::replay
