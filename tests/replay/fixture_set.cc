#include "tests/replay/fixture_set.h"

#include <exception>

#include "absl/strings/str_cat.h"

namespace kiln::replay {

Result Check(FixtureSet& set, const Record& record) {
  if (!record.malformed.empty()) return Fail(absl::StrCat("malformed record: ", record.malformed));
  try {
    return set.Run(record);
  } catch (const std::exception& error) {  // A field is missing or of the wrong type.
    return Fail(absl::StrCat("malformed record: ", error.what()));
  }
}

}  // namespace kiln::replay
