#include "core/codegen/opt/opt.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace kiln::codegen {
namespace {

absl::StatusOr<Opt> ParseOne(absl::string_view text) {
  const auto bad = [text] {
    return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" is no opt: NAME(axis, amount)"));
  };
  const std::vector<absl::string_view> parts = absl::StrSplit(text, absl::ByAnyChar("(,)"));
  if (parts.size() != 4 || !absl::StripAsciiWhitespace(parts[3]).empty()) return bad();
  Opt opt = {};
  const auto* name = std::find(std::begin(kOptKindNames), std::end(kOptKindNames),
                               std::string_view(absl::StripAsciiWhitespace(parts[0]).data(),
                                                absl::StripAsciiWhitespace(parts[0]).size()));
  if (name == std::end(kOptKindNames)) return bad();
  opt.kind = static_cast<OptKind>(name - std::begin(kOptKindNames));
  if (!absl::SimpleAtoi(parts[1], &opt.axis) || !absl::SimpleAtoi(parts[2], &opt.amount)) {
    return bad();
  }
  return opt;
}

}  // namespace

std::string ToText(absl::Span<const Opt> opts) {
  return absl::StrJoin(opts, " ", [](std::string* out, const Opt& opt) {
    absl::StrAppend(out, std::string(kOptKindNames[static_cast<size_t>(opt.kind)]), "(", opt.axis,
                    ", ", opt.amount, ")");
  });
}

absl::StatusOr<std::vector<Opt>> ParseOpts(std::string_view text) {
  std::vector<Opt> opts;
  absl::string_view rest(text.data(), text.size());
  while (true) {
    rest = absl::StripLeadingAsciiWhitespace(rest);
    if (rest.empty()) return opts;
    const size_t end = std::min(rest.find(')'), rest.size() - 1) + 1;
    absl::StatusOr<Opt> opt = ParseOne(rest.substr(0, end));
    if (!opt.ok()) return opt.status();
    opts.push_back(*opt);
    rest.remove_prefix(end);
  }
}

}  // namespace kiln::codegen
