#include "server/blobs/sha256.h"

#include <openssl/evp.h>

#include "core/dtype/check.h"

namespace kiln::server {

// SHA-256 with valid arguments fails only without memory.
Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  KILN_CHECK(context_ != nullptr);
  KILN_CHECK(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::Free::operator()(evp_md_ctx_st* context) const { EVP_MD_CTX_free(context); }

void Sha256::Update(absl::Span<const std::byte> bytes) {
  KILN_CHECK(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
}

std::string Sha256::Finish() {
  std::string digest(32, '\0');
  KILN_CHECK(EVP_DigestFinal_ex(context_.get(), reinterpret_cast<unsigned char*>(digest.data()),
                                nullptr) == 1);
  return digest;
}

}  // namespace kiln::server
