// What is said about a rule set that does not end. For driver.cc.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "core/rewrite/rule.h"

namespace kiln::rewrite::internal {

// The rules that fired last.
class RecentRules {
 public:
  void Add(const RuleInfo* rule) { ring_[next_++ % kSize] = rule; }
  std::vector<const RuleInfo*> Get() const {
    return {ring_.begin(), ring_.begin() + static_cast<ptrdiff_t>(std::min(next_, kSize))};
  }

 private:
  static constexpr size_t kSize = 32;
  std::array<const RuleInfo*, kSize> ring_;  // Set up to next_: clearing it costs a short run more.
  size_t next_ = 0;
};

// Place and algebra of each rule, once each, in the order of their places. A null stands for the
// n-ary hook.
std::string Describe(const std::vector<const RuleInfo*>& rules);

}  // namespace kiln::rewrite::internal
