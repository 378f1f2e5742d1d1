// Secrets: tokens of sessions, tickets for sharing.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kiln::server {

// Random bytes that nobody can guess. Never fails: without a source of randomness the process ends,
// since nothing it would hand out were safe.
std::string RandomBytes(size_t n);
// 32 hexadecimal digits of 16 random bytes.
std::string NewTicket();
// Takes the same time wherever the two differ.
bool EqualSecrets(std::string_view a, std::string_view b);

}  // namespace kiln::server
