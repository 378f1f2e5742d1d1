#include "core/rewrite/trace.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/str_format.h"

namespace kiln::rewrite {

void Trace::Add(const RuleInfo& rule, Ref before, Ref after, uint64_t ns) {
  auto [it, is_new] = index_.try_emplace(&rule, totals_.size());
  if (is_new) totals_.push_back({&rule});
  Total& total = totals_[it->second];
  ++total.tries;
  total.ns += ns;
  if (after == nullptr) return;
  ++total.hits;
  if (events_.size() < options_.max_events) events_.push_back({&rule, before, after, ns});
}

std::vector<Trace::Total> Trace::Totals() const {
  std::vector<Total> totals = totals_;
  const auto key = [](const Total& t) {
    const std::source_location& where = t.rule->where;
    return std::tuple(-t.hits, std::string_view(where.file_name()), where.line(), where.column());
  };
  std::stable_sort(totals.begin(), totals.end(),
                   [key](const Total& a, const Total& b) { return key(a) < key(b); });
  return totals;
}

std::string Trace::Summary() const {
  std::string out = "    hits    tries        us  rule\n";
  for (const Total& t : Totals()) {
    absl::StrAppendFormat(&out, "%8d %8d %9.1f  %s:%d  %s\n", t.hits, t.tries,
                          static_cast<double>(t.ns) / 1e3, t.rule->where.file_name(),
                          t.rule->where.line(), t.rule->text());
  }
  return out;
}

}  // namespace kiln::rewrite
