// Fixture files: one JSON object per line, plain (`.jsonl`) or gzipped (`.jsonl.gz`).
#pragma once

#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "nlohmann/json.hpp"

namespace kiln::replay {

// Integers of up to 64 bits keep their exact value. One that is longer becomes the string of its
// digits, which ParseWide (value.h) reads.
using Json = nlohmann::json;

struct Record {
  std::string id;         // Or "<file>:<line>" where the line has none.
  std::string kind;       // Empty where the line has none.
  Json json;              // The whole object: a set reads what it knows. Null if malformed.
  std::string malformed;  // Why the line is not a record; empty if it is one.
};

// Reads `text` as one JSON value. InvalidArgument if it is not one.
absl::StatusOr<Json> ParseJson(std::string_view text);

// Calls `visit` with each record of the file, in order; blank lines are passed over. A bad line is
// a malformed record, not an error. NotFound if there is no such file; DataLoss if it cannot be
// read to its end.
absl::Status ForEachRecord(const std::string& path, absl::FunctionRef<void(const Record&)> visit);

}  // namespace kiln::replay
