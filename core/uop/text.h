// The text form of graphs: what logs show, and what tests are written in. core/uop/parse.h reads it
// back.
//
//   i[0,63] * 4 + 3 < n[1,100]               variables, with their bounds where they are first met
//   r0:64 % 8 + r0 / 8                       loop counter 0 .. 63 of axis 0; r1.reduce:8, r2:(i + 1)
//   gidx0:256                                launch index
//   x[0,1]:float32 * 0.5                     a dtype, where it is not index or that of the operands
//   where(i < 5, max(i, 3), cast(f):index)   other ops are functions
//   load(index(param{"in", 0, 64, global}:float32, r0:64))   what is in braces is the arg
//   %0 = i * i; %0 + %0 % 7                  what is used twice gets a name
//   add(i, 1)#2                              a node with a tag: (i + 1)#2 is not written so
//
// The grammar, with precedence and associativity of C:
//
//   text     = { "%name" "=" expr ";" } expr { "," expr }
//   expr     = expr infix expr | "-" expr | "(" expr ")" | "%name"
//            | literal | variable | counter | function
//   infix    = | ^ & == != < << >> + - * / %       "/" is FDIV between floats, else IDIV
//   literal  = ["-"] number | true | false | ["-"] inf | nan
//                                                  takes its dtype from the operands beside it,
//                                                  else index
//   variable = name "[" literal "," literal "]" | "_"   "_" is the anonymous one, unbounded
//   counter  = name [ "." axis type ] ":" ( literal | "%name" | "(" expr ")" )
//                                                  r0 or rm1 (axis -1): RANGE, else SPECIAL
//   function = op [ "{" arg "}" ] [ "(" [ expr { "," expr } ] ")" ]
//
// A literal, variable or function may be followed by ":dtype" and "#tag". A variable or counter
// that was written once is then its bare name. Whitespace, line breaks included, separates words
// and means nothing else.
#pragma once

#include <cstddef>
#include <string>

#include "absl/types/span.h"

#include "core/uop/uop.h"

namespace kiln::uop {

enum class Layout {
  kLine,   // One line, whatever the size.
  kLines,  // A line for each named node.
};

// The whole graph below `roots`. Parse gives the same graph. Linear in its nodes, in time and in
// length.
std::string ToText(absl::Span<const Ref> roots, Layout layout = Layout::kLine);
inline std::string ToText(Ref root, Layout layout = Layout::kLine) {
  return ToText(absl::MakeConstSpan(&root, 1), layout);
}

// For messages: `n` and what is right below it in at most `max_chars`, the rest as "...".
// Costs as much as it shows.
std::string Excerpt(Ref n, size_t max_chars = 200);

}  // namespace kiln::uop
