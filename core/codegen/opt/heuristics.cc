#include "core/codegen/opt/heuristics.h"

namespace kiln::codegen {

std::vector<Opt> ChooseOpts(Graph&, Ref, const Target&) { return {}; }

}  // namespace kiln::codegen
