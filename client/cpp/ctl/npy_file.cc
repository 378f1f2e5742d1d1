#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"

#include "client/cpp/ctl/npy.h"

namespace kiln::ctl {
namespace {

absl::Status SystemError(const char* what, const std::string& path) {
  return absl::ErrnoToStatus(errno, absl::StrCat("can't ", what, " ", path));
}

absl::Status InFile(const std::string& path, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(path, " ", status.message()));
}

}  // namespace

absl::StatusOr<NpyArray> ReadNpy(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "rbe");
  if (file == nullptr) return SystemError("open", path);
  absl::Cleanup close = [file] { std::fclose(file); };
  if (std::fseek(file, 0, SEEK_END) != 0) return SystemError("read", path);
  const long end = std::ftell(file);  // NOLINT: that is its type.
  if (end < 0) return SystemError("read", path);
  std::rewind(file);
  const auto file_bytes = static_cast<uint64_t>(end);

  std::string start(kMaxNpyHeaderBytes, '\0');
  start.resize(std::fread(start.data(), 1, start.size(), file));
  if (std::ferror(file) != 0) return SystemError("read", path);
  absl::StatusOr<NpyHeader> header = ParseNpyHeader(start);
  if (!header.ok()) return InFile(path, header.status());
  // Before memory is taken: a header may promise anything.
  if (file_bytes < header->header_bytes ||
      file_bytes - header->header_bytes != header->data_bytes) {
    return InFile(path, absl::InvalidArgumentError(
                            absl::StrCat("has ", file_bytes, " bytes: header and shape ask for ",
                                         header->header_bytes, " + ", header->data_bytes)));
  }
  NpyArray array = {.header = *std::move(header), .data = nullptr};
  array.data.reset(new std::byte[array.header.data_bytes]);  // Not filled with zeros first.
  if (std::fseek(file, static_cast<long>(array.header.header_bytes), SEEK_SET) != 0 ||  // NOLINT
      std::fread(array.data.get(), 1, array.header.data_bytes, file) != array.header.data_bytes) {
    return SystemError("read", path);
  }
  return array;
}

absl::Status WriteNpy(const std::string& path, v1::DType dtype, absl::Span<const uint64_t> dims,
                      absl::Span<const std::byte> bytes) {
  absl::StatusOr<std::string> header = MakeNpyHeader(dtype, dims);
  if (!header.ok()) return InFile(path, header.status());
  std::FILE* file = std::fopen(path.c_str(), "wbe");
  if (file == nullptr) return SystemError("create", path);
  const bool written = std::fwrite(header->data(), 1, header->size(), file) == header->size() &&
                       std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  if (!written) {
    absl::Status status = SystemError("write", path);
    std::fclose(file);
    return status;
  }
  if (std::fclose(file) != 0) return SystemError("write", path);
  return absl::OkStatus();
}

}  // namespace kiln::ctl
