#include "tests/replay/sets.h"

namespace kiln::replay {

std::vector<std::unique_ptr<FixtureSet>> AllSets(const SetOptions& options) {
  std::vector<std::unique_ptr<FixtureSet>> sets;
  sets.push_back(MakeAluSet());
  sets.push_back(MakeSymbolicSet());
  sets.push_back(MakeShapeSet());
  sets.push_back(MakeRewriteSet());
  sets.push_back(MakeGraphsSet(options));
  return sets;
}

}  // namespace kiln::replay
