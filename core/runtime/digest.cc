#include "core/runtime/digest.h"

#include <openssl/evp.h>

#include "absl/strings/escaping.h"

#include "core/dtype/check.h"

namespace kiln::runtime {

std::string Digest::ToHex() const {
  return absl::BytesToHexString({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

Digest DigestOf(std::string_view contents) {
  // Fetched once: looking it up costs more than hashing a kernel.
  static const EVP_MD* const sha256 = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  Digest digest;
  KILN_CHECK(sha256 != nullptr && EVP_Digest(contents.data(), contents.size(), digest.bytes.data(),
                                             nullptr, sha256, nullptr) == 1);
  return digest;
}

}  // namespace kiln::runtime
