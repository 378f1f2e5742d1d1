// What kiln-replay knows about one kind of fixture file.
//
// To add a set `foo`:
//   1. foo_set.cc: a class that implements FixtureSet in an unnamed namespace, and
//        std::unique_ptr<FixtureSet> MakeFooSet() { return std::make_unique<FooSet>(); }
//   2. declare MakeFooSet in sets.h and list it in sets.cc;
//   3. CMakeLists.txt: the source and the library it needs in kiln_library(NAME replay), and
//      kiln_replay_test(foo).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

#include "tests/replay/record.h"
#include "tests/replay/result.h"

namespace kiln::replay {

// Confined to the main thread.
class FixtureSet {
 public:
  virtual ~FixtureSet() = default;

  // As in --set.
  virtual std::string_view name() const = 0;

  // Files it reads, relative to --dir and without extension: "alu" is alu.jsonl or alu.jsonl.gz or
  // both.
  virtual std::vector<std::string> files() const = 0;

  // Called before the records of each file, with the stem's path, for data beside it
  // ("<path>.bin.gz"). Default: nothing.
  virtual absl::Status Open(const std::string& path) {
    (void)path;
    return absl::OkStatus();
  }

  // Checks one record. It comes from a stranger: any field may be missing or of the wrong type.
  // Read fields with `record.json.at("key")` and values with `.get<T>()` or `.get_ref<const
  // std::string&>()`: what they throw on a bad record is caught by the caller and makes it a
  // failure. Never use `json["key"]`, which is undefined for a missing key. Check node indices
  // (`at` does) before use. An unknown kind is a failure.
  virtual Result Run(const Record& record) = 0;

  // Printed after the counts, each line indented. Default: nothing.
  virtual std::vector<std::string> Summary() const { return {}; }
};

// Run(record), with malformed records and exceptions of the JSON library turned into failures.
Result Check(FixtureSet& set, const Record& record);

}  // namespace kiln::replay
