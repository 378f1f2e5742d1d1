// One step of an optimisation: what to do with a range of a kernel.
//
//   UPCAST(1, 16)   the innermost 16 counters of loop range 1 become a lane range
//   UNROLL(3, 4)    the same for a reduction's range
//   THREAD(0, 2)    range 0 is split into 2 contiguous parts, one for each core
//   SWAP(0, 1)      range 0 and 1 change places in the order of loops
//   PADTO(1, 16)    range 1 gets the next multiple of 16 as its end; what is beyond is gated off
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace kiln::codegen {

enum class OptKind : uint8_t { kUpcast, kUnroll, kThread, kSwap, kPadTo };
inline constexpr std::string_view kOptKindNames[] = {"UPCAST", "UNROLL", "THREAD", "SWAP", "PADTO"};

struct Opt {
  OptKind kind;
  int32_t axis;    // Axis id of the range.
  int64_t amount;  // Lanes, cores, multiple; for kSwap the other axis id. 0 means all of the range.

  friend bool operator==(const Opt&, const Opt&) = default;
};

// "UPCAST(1, 16) THREAD(0, 2)", and back. InvalidArgument if the text is no such list.
std::string ToText(absl::Span<const Opt> opts);
absl::StatusOr<std::vector<Opt>> ParseOpts(std::string_view text);

}  // namespace kiln::codegen
