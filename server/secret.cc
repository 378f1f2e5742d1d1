#include "server/secret.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include "absl/strings/escaping.h"

#include "core/dtype/check.h"

namespace kiln::server {

std::string RandomBytes(size_t n) {
  std::string bytes(n, '\0');
  KILN_CHECK(RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(n)) == 1);
  return bytes;
}

std::string NewTicket() { return absl::BytesToHexString(RandomBytes(16)); }

bool EqualSecrets(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace kiln::server
