#include "client/cpp/internal/seen_graphs.h"

#include <openssl/evp.h>

namespace kiln::client {

std::string Sha256(std::string_view bytes) {
  std::string hash(32, '\0');
  unsigned int size = 0;
  EVP_Digest(bytes.data(), bytes.size(), reinterpret_cast<unsigned char*>(hash.data()), &size,
             EVP_sha256(), nullptr);
  return hash;
}

bool SeenGraphs::Has(const std::string& hash) {
  absl::MutexLock lock(&mu_);
  const auto place = places_.find(hash);
  if (place == places_.end()) return false;
  by_use_.splice(by_use_.begin(), by_use_, place->second);
  return true;
}

void SeenGraphs::Add(const std::string& hash, size_t bytes) {
  absl::MutexLock lock(&mu_);
  if (places_.count(hash) != 0) return;
  by_use_.push_front({hash, bytes});
  places_[hash] = by_use_.begin();
  bytes_ += bytes;
  while (bytes_ > kMostBytes) {
    bytes_ -= by_use_.back().bytes;
    places_.erase(by_use_.back().hash);
    by_use_.pop_back();
  }
}

void SeenGraphs::Forget(const std::string& hash) {
  absl::MutexLock lock(&mu_);
  const auto place = places_.find(hash);
  if (place == places_.end()) return;
  bytes_ -= place->second->bytes;
  by_use_.erase(place->second);
  places_.erase(place);
}

}  // namespace kiln::client
