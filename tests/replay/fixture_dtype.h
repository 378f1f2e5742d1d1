// dtypes and values as the fixtures write them.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include "core/uop/graph.h"
#include "tests/replay/record.h"
#include "tests/replay/result.h"

namespace kiln::replay {

// What a fixture calls a dtype.
struct FixtureDType {
  DType scalar = DType::kVoid;  // Of one lane; of what a pointer points to.
  int lanes = 1;
  bool is_pointer = false;
  int64_t elems = -1;  // Pointers: number of elements; -1 if unlimited.
  AddressSpace space = AddressSpace::kGlobal;
  friend bool operator==(const FixtureDType&, const FixtureDType&) = default;
};

// Unimplemented, with a reason for skipping, for images and vectors of pointers; InvalidArgument
// for what is no dtype.
absl::StatusOr<FixtureDType> ParseFixtureDType(const Json& json);
std::string ToText(const FixtureDType& dtype);

// An integer that fits. InvalidArgument otherwise.
absl::StatusOr<int64_t> ParseInt64(const Json& json);

// A value of `dtype`, wrapped or rounded to it: the argument of a CONST may lie outside its dtype.
absl::StatusOr<Scalar> ParseConstant(const Json& json, DType dtype);

// The op with the fixtures' name: elementwise ones only.
absl::StatusOr<Op> ParseElementwiseOp(const Json& json);

// The start of a JSON value as text, for messages.
std::string Shorten(const Json& json);

// ** reasons to skip **: errors that say what our IR does not have.
absl::Status NotInOurIr(absl::string_view reason);
bool IsReasonToSkip(const absl::Status& status);

// What becomes of a record that ended in an error: skipped if it is a reason to skip, else failed.
Result ResultOf(const absl::Status& status);

}  // namespace kiln::replay
