// What became of one record.
//
//   return Pass();
//   return Pass("proven equal by z3");  // Passed, and counted under this note.
//   return Fail(absl::StrCat("got ", got, ", want ", want));
//   return Skip("image dtypes are not in our IR");  // Names a class of records, not one record.
#pragma once

#include <string>
#include <utility>

namespace kiln::replay {

struct Result {
  enum class Outcome { kPass, kFail, kSkip };
  Outcome outcome = Outcome::kPass;
  std::string text;  // kPass: a note or empty. kFail: what differs. kSkip: the reason.
};

inline Result Pass(std::string note = {}) { return {Result::Outcome::kPass, std::move(note)}; }
inline Result Fail(std::string detail) { return {Result::Outcome::kFail, std::move(detail)}; }
inline Result Skip(std::string reason) { return {Result::Outcome::kSkip, std::move(reason)}; }

}  // namespace kiln::replay
