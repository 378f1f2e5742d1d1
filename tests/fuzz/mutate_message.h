// Changes of protobuf messages that keep their structure: what random bytes hardly hit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/types/span.h"

#include "google/protobuf/message.h"

namespace kiln::fuzz {

// Changes one to four places of `message`: fields are set, cleared, copied, moved, and given values
// that are likely to matter. Texts are taken from `words`. The same seed does the same.
void MutateMessage(google::protobuf::Message& message, unsigned seed,
                   absl::Span<const char* const> words);

// For LLVMFuzzerCustomMutator: the message in `data` changed, or if it is none a copy of `start`.
// Returns its size; `size` unchanged if it does not fit.
size_t MutateSerialized(google::protobuf::Message& message, const std::string& start, uint8_t* data,
                        size_t size, size_t max_size, unsigned seed,
                        absl::Span<const char* const> words);

}  // namespace kiln::fuzz
