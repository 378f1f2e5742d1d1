// SHA-256 of what comes in pieces.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "absl/types/span.h"

struct evp_md_ctx_st;

namespace kiln::server {

// Thread-compatible.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void Update(absl::Span<const std::byte> bytes);
  // The 32 bytes. Nothing may be added after it.
  std::string Finish();

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

}  // namespace kiln::server
