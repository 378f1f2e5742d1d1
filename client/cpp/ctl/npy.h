// NumPy's .npy files, versions 1 to 3: one array, row-major, little-endian.
//
// dtypes that NumPy lacks are written as ml_dtypes does it: bfloat16 as "V2", float8 as "V1" (raw
// elements of so many bytes). Read back: np.load(file).view(ml_dtypes.bfloat16).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "kiln/v1/graph.pb.h"

namespace kiln::ctl {

// What a file says about its array.
struct NpyHeader {
  char kind = 'V';          // As in NumPy: b(ool), i(nt), u(int), f(loat), V (raw).
  uint32_t item_bytes = 0;  // Of one element, 1 to 8.
  std::vector<uint64_t> dims;
  size_t header_bytes = 0;  // The elements begin after so many bytes of the file.
  uint64_t data_bytes = 0;  // And take so many.
};

// Bytes from the start of a file that hold the header of any file that ParseNpyHeader takes.
inline constexpr size_t kMaxNpyHeaderBytes = 12 + (size_t{64} << 10);

// `start`: all of a file, or its first kMaxNpyHeaderBytes. InvalidArgument: what is wrong with it.
absl::StatusOr<NpyHeader> ParseNpyHeader(std::string_view start);

// Bytes of so many elements. InvalidArgument: 2^63 or more.
absl::StatusOr<uint64_t> ArrayBytes(uint64_t item_bytes, absl::Span<const uint64_t> dims);

// Whether elements of the file are elements of this dtype, bit by bit.
bool IsOfDType(const NpyHeader& header, v1::DType dtype);
// "float32", "bfloat16", as people write it.
std::string DTypeName(v1::DType dtype);
// "f4", as in the file.
std::string NpyTypeName(const NpyHeader& header);

// All that comes before the elements. InvalidArgument for a dtype without memory.
absl::StatusOr<std::string> MakeNpyHeader(v1::DType dtype, absl::Span<const uint64_t> dims);

struct NpyArray {
  NpyHeader header;
  std::unique_ptr<std::byte[]> data;  // header.data_bytes.
  absl::Span<const std::byte> bytes() const { return {data.get(), header.data_bytes}; }
};

// Messages name the file. NotFound, PermissionDenied, InvalidArgument.
absl::StatusOr<NpyArray> ReadNpy(const std::string& path);
absl::Status WriteNpy(const std::string& path, v1::DType dtype, absl::Span<const uint64_t> dims,
                      absl::Span<const std::byte> bytes);

}  // namespace kiln::ctl
