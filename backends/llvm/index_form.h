// What the integers of a program are made of, so that addresses can be put together from parts that
// are known at compile time, constant in a loop, or lanes.
#pragma once

#include <cstdint>
#include <vector>

#include "core/uop/facts.h"
#include "core/uop/node_map.h"
#include "core/uop/uop.h"

namespace kiln::backend_llvm {

// constant + sum of factor * atom, in mathematical integers: exactly the value of the machine
// integer that it stands for.
struct IndexForm {
  struct Term {
    Ref atom;  // A node of dtype int32 or int64.
    int64_t factor;
  };
  int64_t constant = 0;
  std::vector<Term> terms;  // By id of the atom; no factor is 0.
};

// Forms and bounds of the int32 and int64 nodes of one program. Confined to the compile job.
class IndexForms {
 public:
  // Pre: sources of `n` that are neither constants nor ranges have been added, unless they are of
  // another dtype. Does nothing for other dtypes.
  void Add(Ref n);

  // Bounds of the value, wrapped as machine integers are. What was not added has those of its dtype.
  Bounds BoundsOf(Ref n);
  // Pre: int32 or int64. A sum is taken apart only where nothing wraps.
  const IndexForm& FormOf(Ref n);

 private:
  struct Entry {
    Bounds bounds;
    IndexForm form;
  };
  Entry Make(Ref n);
  uint32_t EntryOf(Ref n);

  std::vector<Entry> entries_;
  uop::NodeMap<uint32_t> index_;  // Into entries_, plus 1.
};

}  // namespace kiln::backend_llvm
