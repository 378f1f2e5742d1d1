// kiln-replay: checks Kiln against folders of golden fixtures (format: tests/fixtures/README.md).
//
//   kiln-replay [--dir=tests/fixtures] [--set=alu,symbolic] [--only=ID] [--verbose]
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "tests/replay/fixture_set.h"
#include "tests/replay/sets.h"

ABSL_FLAG(std::string, dir, "tests/fixtures", "Folder of *.jsonl and *.jsonl.gz files.");
ABSL_FLAG(std::vector<std::string>, set, {},
          "Sets to run, each of which must have a file. Default: all that have one.");
ABSL_FLAG(std::string, only, "", "Run only the records with this id.");
ABSL_FLAG(std::string, on, "reference",
          "What runs the set graphs: reference, cpu, interp or validate.");
ABSL_FLAG(int64_t, max_macs, -1,
          "Skip graphs in which more elements enter reductions. Default: as --on can bear.");
ABSL_FLAG(std::string, cache, "", "Folder for compiled kernels, with --on=cpu. Default: none.");
ABSL_FLAG(bool, verbose, false, "Print counts per kind of record, too.");

namespace kiln::replay {
namespace {

struct Counts {
  int64_t passed = 0, failed = 0, skipped = 0;

  void Add(Result::Outcome outcome) {
    ++(outcome == Result::Outcome::kPass   ? passed
       : outcome == Result::Outcome::kFail ? failed
                                           : skipped);
  }
  std::string ToText(const std::string& name) const {
    const std::string skips = skipped == 0 ? "" : absl::StrCat(", ", skipped, " skipped");
    return absl::StrCat(name, ": ", passed, " passed, ", failed, " failed", skips);
  }
};

struct Tally {
  Counts counts;
  std::map<std::string, Counts> by_kind;
  bool any_file = false;
  std::map<std::string, int64_t> notes, reasons;
  std::vector<std::string> failed_ids;

  void Add(const std::string& id, const std::string& kind, const Result& result) {
    counts.Add(result.outcome);
    by_kind[kind].Add(result.outcome);
    switch (result.outcome) {
      case Result::Outcome::kPass:
        if (!result.text.empty()) ++notes[result.text];
        return;
      case Result::Outcome::kSkip:
        ++reasons[result.text];
        return;
      case Result::Outcome::kFail:
        failed_ids.push_back(id);
        std::printf("FAIL %s: %s\n", id.c_str(), result.text.c_str());
        return;
    }
  }
};

Tally RunSet(FixtureSet& set, const std::string& dir, const std::string& only) {
  Tally tally;
  for (const std::string& stem : set.files()) {
    const std::string path = absl::StrCat(dir, "/", stem);
    for (const char* extension : {".jsonl", ".jsonl.gz"}) {
      const std::string file = path + extension;
      if (!std::filesystem::exists(file)) continue;
      tally.any_file = true;
      absl::Status status = set.Open(path);
      if (status.ok()) {
        status = ForEachRecord(file, [&](const Record& record) {
          if (only.empty() || only == record.id)
            tally.Add(record.id, record.kind, Check(set, record));
        });
      }
      if (!status.ok()) tally.Add(file, "file", Fail(std::string(status.message())));
    }
  }
  return tally;
}

void PrintCounted(const std::map<std::string, int64_t>& counted, const char* what) {
  for (const auto& [text, count] : counted) {
    std::printf("  %lld %s: %s\n", static_cast<long long>(count), what, text.c_str());
  }
}

int Main() {
  const std::string dir = absl::GetFlag(FLAGS_dir), only = absl::GetFlag(FLAGS_only);
  const std::vector<std::string> wanted = absl::GetFlag(FLAGS_set);
  std::vector<std::unique_ptr<FixtureSet>> sets =
      AllSets({.on = absl::GetFlag(FLAGS_on),
               .max_macs = absl::GetFlag(FLAGS_max_macs),
               .cache_folder = absl::GetFlag(FLAGS_cache)});
  for (const std::string& name : wanted) {
    if (std::none_of(sets.begin(), sets.end(),
                     [&](const auto& set) { return set->name() == name; })) {
      std::printf("no set \"%s\"\n", name.c_str());
      return 1;
    }
  }
  Counts all;
  std::vector<std::string> lines, failed_ids;
  bool complete = true;
  for (const auto& set : sets) {
    const bool is_wanted = std::find(wanted.begin(), wanted.end(), set->name()) != wanted.end();
    if (!wanted.empty() && !is_wanted) continue;
    const Tally tally = RunSet(*set, dir, only);
    const std::string name(set->name());
    if (!tally.any_file) {
      std::printf("%s: no file of it in %s\n", name.c_str(), dir.c_str());
      complete = complete && !is_wanted;
      continue;
    }
    std::printf("%s\n", tally.counts.ToText(name).c_str());
    if (absl::GetFlag(FLAGS_verbose)) {
      for (const auto& [kind, counts] : tally.by_kind) {
        std::printf("  kind %s\n", counts.ToText(kind).c_str());
      }
    }
    PrintCounted(tally.reasons, "skipped");
    PrintCounted(tally.notes, "passed");
    for (const std::string& line : set->Summary()) std::printf("  %s\n", line.c_str());
    all.passed += tally.counts.passed;
    all.failed += tally.counts.failed;
    all.skipped += tally.counts.skipped;
    lines.push_back(tally.counts.ToText(name));
    failed_ids.insert(failed_ids.end(), tally.failed_ids.begin(), tally.failed_ids.end());
  }
  std::printf("\n");
  for (const std::string& id : failed_ids) std::printf("failed: %s\n", id.c_str());
  std::printf("%s\n%s\n", absl::StrJoin(lines, "\n").c_str(), all.ToText("all").c_str());
  if (all.passed + all.failed + all.skipped == 0) {
    std::printf("nothing to run\n");
    return 1;
  }
  return all.failed == 0 && complete ? 0 : 1;
}

}  // namespace
}  // namespace kiln::replay

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("Replays golden fixtures. See tests/fixtures/README.md.");
  absl::ParseCommandLine(argc, argv);
  return kiln::replay::Main();
}
