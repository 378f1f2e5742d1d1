// Broken invariants that make continuing dangerous: never for anything that a client, file or
// device can cause.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace kiln::internal {
[[noreturn]] inline void CheckFailed(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "%s:%d: broken invariant: %s\n", file, line, condition);
  std::abort();
}
}  // namespace kiln::internal

#define KILN_CHECK(condition)                                          \
  (__builtin_expect(!(condition), 0)                                   \
       ? ::kiln::internal::CheckFailed(__FILE__, __LINE__, #condition) \
       : (void)0)

// Documentation that runs: compiled out of release builds.
#ifdef NDEBUG
#define KILN_DCHECK(condition) ((void)sizeof(condition))
#else
#define KILN_DCHECK(condition) KILN_CHECK(condition)
#endif
