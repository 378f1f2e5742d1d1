#include "client/cpp/memory.h"

#include <cstdlib>  // Defines __GLIBC__.

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace kiln {

bool TuneMallocForBulkData() {
#if defined(__GLIBC__)
  return mallopt(M_MMAP_THRESHOLD, 1 << 30) == 1 && mallopt(M_TRIM_THRESHOLD, 1 << 30) == 1;
#else
  return false;
#endif
}

}  // namespace kiln
