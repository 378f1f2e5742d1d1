#include "tests/replay/render_check.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/symbolic/render.h"
#include "core/uop/walk.h"
#include "tests/replay/render_parse.h"
#include "tests/support/prove.h"

namespace kiln::replay {
namespace {

constexpr std::chrono::seconds kProofTimeout{5};

// Why `got` does not do instead of `text`; empty if it does.
std::string Refusal(Graph& g, Ref got, const std::string& text,
                    const std::map<std::string, Ref>& leaves) {
  const absl::StatusOr<Ref> want = ParseRendered(g, text, leaves, got->dtype);
  if (!want.ok()) return absl::StrCat("can't be read: ", want.status().message());
  if ((*want)->dtype != got->dtype) return "has another dtype";
  const int64_t have = uop::CountNodes(got), at_most = uop::CountNodes(*want);
  const support::Proof proof = support::ProveEqual(*want, got, kProofTimeout);
  if (proof.verdict == support::Verdict::kCounterexample) {
    return absl::StrCat("DIFFERENT VALUE: ", proof.detail);
  }
  if (proof.verdict == support::Verdict::kUnknown) return absl::StrCat("no proof: ", proof.detail);
  if (have > at_most) return absl::StrCat("equal, but ", have, " nodes instead of ", at_most);
  return "";
}

}  // namespace

absl::Status RenderCheck::Check(const std::string& id, Graph& g, Ref got, const Json& accepted,
                                Ref leaves_of) {
  if (!accepted.is_array() || accepted.empty()) {
    return absl::InvalidArgumentError("no list of accepted texts");
  }
  const std::string text = symbolic::Render(got);
  std::vector<std::string> wanted;
  for (const Json& want : accepted) {
    wanted.push_back(want.get<std::string>());
    if (wanted.back() == text) {
      ++exact_;
      return absl::OkStatus();
    }
  }
  std::map<std::string, Ref> leaves = LeavesByName({got});
  leaves.merge(LeavesByName({leaves_of}));
  std::vector<std::string> refusals;
  for (const std::string& want : wanted) {
    refusals.push_back(Refusal(g, got, want, leaves));
    if (!refusals.back().empty()) continue;
    proven_.push_back(absl::StrCat(id, ": got ", text, ", want ", want));
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat("got ", text, ", want ",
                                                    absl::StrJoin(wanted, " or "), " (",
                                                    absl::StrJoin(refusals, "; "), ")"));
}

std::vector<std::string> RenderCheck::Summary() const {
  std::vector<std::string> lines = {
      absl::StrCat("texts: ", exact_, " exact, ", proven_.size(), " proven equal and not larger")};
  for (const std::string& line : proven_) lines.push_back(absl::StrCat("proven ", line));
  return lines;
}

}  // namespace kiln::replay
