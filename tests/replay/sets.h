// The sets that kiln-replay knows, each made in <name>_set.cc.
#pragma once

#include <memory>
#include <vector>

#include "tests/replay/fixture_set.h"

namespace kiln::replay {

std::unique_ptr<FixtureSet> MakeAluSet();
std::unique_ptr<FixtureSet> MakeSymbolicSet();
std::unique_ptr<FixtureSet> MakeShapeSet();
std::unique_ptr<FixtureSet> MakeRewriteSet();

// All of them, in the order in which they run.
std::vector<std::unique_ptr<FixtureSet>> AllSets();

}  // namespace kiln::replay
