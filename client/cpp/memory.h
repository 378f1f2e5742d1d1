// Settings of the process for bulk data.
#pragma once

namespace kiln {

// Makes malloc keep large blocks instead of giving them back to the system: every message that comes
// in lies in such a block, and fresh pages for each of them cost half of the throughput. For the
// whole process, so it is yours to call: first thing in main, if the program moves large tensors. It
// then keeps as much memory as it has used at most (of what malloc gives out). Returns whether the C
// library has such settings.
bool TuneMallocForBulkData();

}  // namespace kiln
