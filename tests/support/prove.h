// Proofs that two expressions have the same value, by Z3.
//
//   EXPECT_TRUE(ProveEqual(before, after));
//   EXPECT_EQ(ProveEqual(before, after).verdict, Verdict::kProved);
#pragma once

#include <chrono>
#include <ostream>
#include <string>

#include "core/uop/graph.h"

namespace kiln::support {

enum class Verdict { kProved, kCounterexample, kUnknown };

struct Proof {
  Verdict verdict = Verdict::kUnknown;
  // The values for which the expressions differ, or why there is no answer: "i = 3: 4 against 5".
  std::string detail;

  explicit operator bool() const { return verdict == Verdict::kProved; }
};
std::ostream& operator<<(std::ostream& os, const Proof& proof);

// Whether `b` has the value of `a` wherever the variables, ranges and launch indices of both are
// within their bounds and `a` has a value (divides no index by 0). Both are of one dtype: bool,
// index or fixed-width. Index values are unbounded integers here, fixed-width ones wrap. What Z3 is
// not told about (loads, floats, casts between index and fixed width) may have any value, the same
// for the same node; an expression with such a part is never refuted. Gives up after about
// `effort`, the time on an idle machine: it is counted in steps of Z3, so that a busy machine gives
// the same answers.
Proof ProveEqual(Ref a, Ref b, std::chrono::milliseconds effort = std::chrono::seconds(2));

}  // namespace kiln::support
