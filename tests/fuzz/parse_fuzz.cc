// Any bytes as the text of a graph: the parser refuses them, or what it makes prints, parses back as
// the same nodes, and has facts.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "core/dtype/check.h"
#include "core/uop/facts.h"
#include "core/uop/parse.h"
#include "core/uop/text.h"

namespace {

// Words that random bytes hardly hit.
constexpr std::string_view kWords[] = {"i[0,9]",
                                       "x[0,1]:float32",
                                       "p[false,true]:bool",
                                       "_",
                                       "r0:64",
                                       "r1.reduce:8",
                                       "r0:(",
                                       "gidx0:4",
                                       " + ",
                                       " - ",
                                       " * ",
                                       " / ",
                                       " % ",
                                       " < ",
                                       " != ",
                                       " == ",
                                       " & ",
                                       " | ",
                                       " ^ ",
                                       " << ",
                                       " >> ",
                                       "-",
                                       "(",
                                       ")",
                                       ", ",
                                       "%0 = ",
                                       "; ",
                                       "%0",
                                       "r0",
                                       "i",
                                       "x",
                                       ":int8",
                                       ":uint64",
                                       ":float16",
                                       "#1",
                                       "3",
                                       "0.5",
                                       "inf",
                                       "nan",
                                       "true",
                                       "9223372036854775807",
                                       "where(",
                                       "max(",
                                       "cast(",
                                       "bitcast(",
                                       "param{\"a\", 0, 4, local}:int32",
                                       "index(",
                                       "load(",
                                       "store(",
                                       "input{0}(2, 3):int8",
                                       "permute{1, 0}(",
                                       "reshape(",
                                       "expand(",
                                       "pad(",
                                       "shrink(",
                                       "flip{1}(",
                                       "reduce{add, 1}(",
                                       "stack(",
                                       "unstack{0}(",
                                       "iota{0}(",
                                       "gradient{0}(",
                                       "call{\"f\"}(",
                                       "sink(",
                                       "after(",
                                       "end(",
                                       "special{\"a b\"}(",
                                       "var{\"v\", 0, 1}",
                                       "range{0, loop}("};

}  // namespace

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

// Mutates bytes, or puts in a word.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  const std::string_view word = kWords[seed / 4 % std::size(kWords)];
  if (seed % 4 == 0 || size + word.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  const size_t at = seed % 4 == 1 ? size : seed / 1024 % (size + 1);
  std::memmove(data + at + word.size(), data + at, size - at);
  std::memcpy(data + at, word.data(), word.size());
  return size + word.size();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kiln::uop;  // NOLINT(google-build-using-namespace)
  Graph g;
  const auto roots = ParseRoots(g, {reinterpret_cast<const char*>(data), size});
  if (!roots.ok()) return 0;
  for (const Layout layout : {Layout::kLine, Layout::kLines}) {
    const auto again = ParseRoots(g, ToText(*roots, layout));
    KILN_CHECK(again.ok() && *again == *roots);
  }
  const uint32_t nodes = g.size();  // Shapes make more.
  for (uint32_t id = 0; id < nodes; ++id) {
    Ref n = g.At(id);
    if (kiln::dtype::IsFloat(n->dtype)) {
      KILN_CHECK(FloatBoundsOf(g, n).lo <= FloatBoundsOf(g, n).hi);
    } else {
      KILN_CHECK(BoundsOf(g, n).lo <= BoundsOf(g, n).hi);
      SafeBoundsOf(g, n);
    }
    ShapeOf(g, n).IgnoreError();
    RangesOf(g, n);
    AddressSpaceOf(n);
    KeyOf(g, n);
    KILN_CHECK(Excerpt(n).size() < 210);
  }
  return 0;
}
