// The sets that kiln-replay knows, each made in <name>_set.cc.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/replay/fixture_set.h"

namespace kiln::replay {

struct SetOptions {
  std::string on = "reference";   // What runs the graphs: see graphs_executor.h.
  int64_t max_macs = -1;          // Graphs with more multiply-adds are skipped; -1: as it says.
  std::string cache_folder = "";  // Of compiled kernels; none if empty.
};

std::unique_ptr<FixtureSet> MakeAluSet();
std::unique_ptr<FixtureSet> MakeSymbolicSet();
std::unique_ptr<FixtureSet> MakeShapeSet();
std::unique_ptr<FixtureSet> MakeRewriteSet();
std::unique_ptr<FixtureSet> MakeGraphsSet(const SetOptions& options);

// All of them, in the order in which they run.
std::vector<std::unique_ptr<FixtureSet>> AllSets(const SetOptions& options = {});

}  // namespace kiln::replay
