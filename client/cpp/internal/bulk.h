// Bytes beside the control stream: from and to the caller's memory, without copies of our own, and
// going on after a broken connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"

#include "client/cpp/internal/core.h"

namespace kiln::client {

// Bytes so far, of all.
using Progress = std::function<void(size_t done, size_t size)>;

struct UploadOptions {
  std::string method;  // "/kiln.v1.Kiln/PutData"
  // The first message of a call, encoded, of bytes from `offset` on.
  std::function<std::string(uint64_t offset)> header;
  absl::Span<const std::byte> bytes;  // The caller's; not touched after `done`.
  uint64_t offset = 0;                // What the server has already.
  Progress progress;                  // May be empty. Called on threads of gRPC.
  bool resumes = true;                // After a broken connection, from the beginning.
  // Called once, on a thread of gRPC or the caller's. With OK: what the server has answered.
  std::function<void(absl::Status, const std::string& answer)> done;
};
std::shared_ptr<BulkCall> MakeUpload(const std::shared_ptr<Core>& core, UploadOptions options);

struct DownloadOptions {
  uint64_t transfer = 0;
  absl::Span<std::byte> bytes;  // The caller's; not touched after `done`.
  Progress progress;
  std::function<void(absl::Status)> done;
};
std::shared_ptr<BulkCall> MakeDownload(const std::shared_ptr<Core>& core, DownloadOptions options);

}  // namespace kiln::client
