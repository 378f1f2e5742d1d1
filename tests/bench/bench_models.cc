#include "tests/bench/bench_models.h"

#include <algorithm>
#include <variant>

#include "core/dtype/check.h"

namespace kiln::replay {

ImportedGraph Model::Graph() const {
  auto graph = ImportGraph(json);
  KILN_CHECK(graph.ok());
  return *std::move(graph);
}

const std::vector<Model>& Models() {
  static const auto* models = [] {
    auto* all = new std::vector<Model>;
    const absl::Status read =
        ForEachRecord(std::string(kModels) + ".jsonl.gz",
                      [&](const Record& r) { all->push_back({r.id, r.json}); });
    KILN_CHECK(read.ok());
    return all;
  }();
  return *models;
}

std::vector<Ref> KernelsOf(const schedule::Schedule& schedule) {
  std::vector<Ref> kernels;
  for (const schedule::Item& item : schedule.items) {
    if (const auto* launch = std::get_if<schedule::Launch>(&item))
      kernels.push_back(launch->kernel);
  }
  std::sort(kernels.begin(), kernels.end(), [](Ref a, Ref b) { return a->id < b->id; });
  kernels.erase(std::unique(kernels.begin(), kernels.end()), kernels.end());
  return kernels;
}

}  // namespace kiln::replay
