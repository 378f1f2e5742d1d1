#include "client/cpp/ctl/npy.h"

#include <cctype>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace kiln::ctl {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr size_t kMaxRank = 64;  // NumPy's is 32, and 64 from version 2 on.

struct DTypeRow {
  v1::DType dtype;
  const char* name;
  char kind;
  uint32_t item_bytes;
};
constexpr DTypeRow kDTypes[] = {
    {v1::DTYPE_BOOL, "bool", 'b', 1},         {v1::DTYPE_INT8, "int8", 'i', 1},
    {v1::DTYPE_UINT8, "uint8", 'u', 1},       {v1::DTYPE_INT16, "int16", 'i', 2},
    {v1::DTYPE_UINT16, "uint16", 'u', 2},     {v1::DTYPE_INT32, "int32", 'i', 4},
    {v1::DTYPE_UINT32, "uint32", 'u', 4},     {v1::DTYPE_INT64, "int64", 'i', 8},
    {v1::DTYPE_UINT64, "uint64", 'u', 8},     {v1::DTYPE_FP8E4M3, "fp8e4m3", 'V', 1},
    {v1::DTYPE_FP8E5M2, "fp8e5m2", 'V', 1},   {v1::DTYPE_FLOAT16, "float16", 'f', 2},
    {v1::DTYPE_BFLOAT16, "bfloat16", 'V', 2}, {v1::DTYPE_FLOAT32, "float32", 'f', 4},
    {v1::DTYPE_FLOAT64, "float64", 'f', 8},
};

const DTypeRow* RowOf(v1::DType dtype) {
  for (const DTypeRow& row : kDTypes) {
    if (row.dtype == dtype) return &row;
  }
  return nullptr;
}

bool IsKnownType(char kind, uint32_t item_bytes) {
  for (const DTypeRow& row : kDTypes) {
    if (row.kind == kind && row.item_bytes == item_bytes) return true;
  }
  return false;
}

// The header's text: a literal of a Python dictionary with exactly the three keys, in any order.
// Sets the fields of `header` that it names.
class HeaderReader {
 public:
  HeaderReader(std::string_view text, NpyHeader& header) : rest_(text), header_(header) {}

  absl::Status Read() {
    if (!Take('{')) return Malformed("does not begin with {");
    while (!Take('}')) {
      absl::Status status = ReadEntry();
      if (!status.ok()) return status;
      if (!Take(',') && !Peek('}')) return Malformed("lacks a comma");
    }
    SkipSpace();
    if (!rest_.empty()) return Malformed("has something after its }");
    if (!has_descr_ || !has_order_ || !has_shape_) {
      return Malformed("needs the keys descr, fortran_order and shape");
    }
    return absl::OkStatus();
  }

 private:
  static absl::Status Malformed(std::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat("header ", std::string(what)));
  }
  void SkipSpace() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\n')) rest_.remove_prefix(1);
  }
  bool Peek(char c) {
    SkipSpace();
    return !rest_.empty() && rest_[0] == c;
  }
  bool Take(char c) {
    if (!Peek(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool TakeWord(std::string_view word) {
    SkipSpace();
    if (rest_.substr(0, word.size()) != word) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  std::optional<std::string_view> TakeString() {
    SkipSpace();
    if (rest_.empty() || (rest_[0] != '\'' && rest_[0] != '"')) return std::nullopt;
    const size_t end = rest_.find(rest_[0], 1);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view text = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return text;
  }

  absl::Status ReadEntry() {
    const std::optional<std::string_view> key = TakeString();
    if (!key || !Take(':')) return Malformed("is not a dictionary of named values");
    if (*key == "descr" && !std::exchange(has_descr_, true)) return ReadDescr();
    if (*key == "fortran_order" && !std::exchange(has_order_, true)) return ReadOrder();
    if (*key == "shape" && !std::exchange(has_shape_, true)) return ReadShape();
    return Malformed("has an unknown or repeated key");
  }

  // "<f4": order of bytes, kind, bytes of an element.
  absl::Status ReadDescr() {
    if (Peek('[')) {
      return absl::InvalidArgumentError(
          "holds records (a structured dtype): save each field as an array of its own");
    }
    const std::optional<std::string_view> descr = TakeString();
    if (!descr || descr->size() != 3 || !std::isdigit(static_cast<unsigned char>((*descr)[2]))) {
      return absl::InvalidArgumentError(absl::StrCat(
          "has dtype ", descr ? absl::StrCat("\"", Printable(*descr), "\"") : std::string("?"),
          ": should be bool, an integer or a float of 1 to 8 bytes"));
    }
    header_.kind = (*descr)[1];
    header_.item_bytes = static_cast<uint32_t>((*descr)[2] - '0');
    const char order = (*descr)[0];
    // How some versions of ml_dtypes call float8.
    if (header_.kind == 'f' && header_.item_bytes == 1) header_.kind = 'V';
    if (!IsKnownType(header_.kind, header_.item_bytes)) {
      return absl::InvalidArgumentError(
          absl::StrCat("has dtype \"", Printable(*descr),
                       "\": should be bool, an integer or a float of 1 to 8 bytes"));
    }
    if (order == '>') {
      return absl::InvalidArgumentError(
          absl::StrCat("is big-endian: save it with .astype(\"<", NpyTypeName(header_), "\")"));
    }
    if (order != '<' && !(order == '|' && (header_.item_bytes == 1 || header_.kind == 'V'))) {
      return Malformed("has a dtype without an order of bytes");
    }
    return absl::OkStatus();
  }

  absl::Status ReadOrder() {
    if (TakeWord("False")) return absl::OkStatus();
    if (!TakeWord("True")) return Malformed("has a fortran_order that is neither True nor False");
    return absl::InvalidArgumentError(
        "is in Fortran order (column-major): save np.ascontiguousarray(array) instead");
  }

  absl::Status ReadShape() {
    if (!Take('(')) return Malformed("has a shape that is no tuple");
    while (!Take(')')) {
      const std::optional<uint64_t> dim = TakeNumber();
      if (!dim) return Malformed("has a size in its shape that is no number below 2^63");
      if (header_.dims.size() == kMaxRank) return Malformed("has more than 64 sizes in its shape");
      header_.dims.push_back(*dim);
      const bool more = Take(',');
      if (!more && !Peek(')')) return Malformed("has a shape that is no tuple");
      if (!more && header_.dims.size() == 1) return Malformed("has a shape that is no tuple");
    }
    return absl::OkStatus();
  }

  std::optional<uint64_t> TakeNumber() {
    SkipSpace();
    uint64_t number = 0;
    size_t digits = 0;
    for (; digits < rest_.size() && std::isdigit(static_cast<unsigned char>(rest_[digits]));
         ++digits) {
      if (digits == 19) return std::nullopt;
      number = number * 10 + static_cast<uint64_t>(rest_[digits] - '0');
    }
    if (digits == 0 || number >> 63 != 0) return std::nullopt;
    rest_.remove_prefix(digits);
    if (!rest_.empty() && rest_[0] == 'L') rest_.remove_prefix(1);  // Python 2 has written that.
    return number;
  }

  static std::string Printable(std::string_view text) {
    std::string out(text.substr(0, 16));
    for (char& c : out) {
      if (c < ' ' || c > '~') c = '?';
    }
    return out;
  }

  std::string_view rest_;
  NpyHeader& header_;
  bool has_descr_ = false, has_order_ = false, has_shape_ = false;
};

}  // namespace

absl::StatusOr<uint64_t> ArrayBytes(uint64_t item_bytes, absl::Span<const uint64_t> dims) {
  // A size of 0 makes the array empty, whatever the others are.
  for (const uint64_t dim : dims) {
    if (dim == 0) return uint64_t{0};
  }
  uint64_t bytes = item_bytes;
  for (const uint64_t dim : dims) {
    if (__builtin_mul_overflow(bytes, dim, &bytes) || bytes >> 63 != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("has shape (", absl::StrJoin(dims, ", "), "): that is 2^63 bytes or more"));
    }
  }
  return bytes;
}

absl::StatusOr<NpyHeader> ParseNpyHeader(std::string_view start) {
  if (start.substr(0, kMagic.size()) != kMagic) {
    return absl::InvalidArgumentError("is not a .npy file (one array, written by numpy.save)");
  }
  if (start.size() < 10) return absl::InvalidArgumentError("is cut off in its header");
  const auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<uint8_t>(start[i])); };
  const size_t version = byte(6);
  if (version < 1 || version > 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("is of version ", version, " of the .npy format: should be 1, 2 or 3"));
  }
  size_t begin = 10, size = byte(8) | byte(9) << 8;
  if (version > 1) {
    begin = 12;
    if (start.size() < begin) return absl::InvalidArgumentError("is cut off in its header");
    size |= byte(10) << 16 | byte(11) << 24;
  }
  if (size > kMaxNpyHeaderBytes - 12) {
    return absl::InvalidArgumentError(
        absl::StrCat("has a header of ", size, " bytes: should be at most 65536"));
  }
  if (start.size() < begin + size) return absl::InvalidArgumentError("is cut off in its header");

  NpyHeader header;
  absl::Status status = HeaderReader(start.substr(begin, size), header).Read();
  if (!status.ok()) return status;
  header.header_bytes = begin + size;
  absl::StatusOr<uint64_t> bytes = ArrayBytes(header.item_bytes, header.dims);
  if (!bytes.ok()) return bytes.status();
  header.data_bytes = *bytes;
  return header;
}

bool IsOfDType(const NpyHeader& header, v1::DType dtype) {
  const DTypeRow* row = RowOf(dtype);
  return row != nullptr && row->kind == header.kind && row->item_bytes == header.item_bytes;
}

std::string DTypeName(v1::DType dtype) {
  if (const DTypeRow* row = RowOf(dtype)) return row->name;
  return dtype == v1::DTYPE_INDEX ? "index" : "none";
}

std::string NpyTypeName(const NpyHeader& header) {
  return absl::StrCat(std::string(1, header.kind), header.item_bytes);
}

absl::StatusOr<std::string> MakeNpyHeader(v1::DType dtype, absl::Span<const uint64_t> dims) {
  const DTypeRow* row = RowOf(dtype);
  if (row == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("elements of dtype ", DTypeName(dtype), " can't be written to a file"));
  }
  std::string text =
      absl::StrCat("{'descr': '", row->item_bytes == 1 ? "|" : "<", std::string(1, row->kind),
                   row->item_bytes, "', 'fortran_order': False, 'shape': (",
                   absl::StrJoin(dims, ", "), dims.size() == 1 ? "," : "", "), }");
  // The elements begin at a multiple of 64 bytes, the header ends with a new line.
  text.append((64 - (10 + text.size() + 1) % 64) % 64, ' ');
  text += '\n';
  std::string out(kMagic);
  out +=
      {'\x01', '\x00', static_cast<char>(text.size() & 255), static_cast<char>(text.size() >> 8)};
  return out + text;
}

}  // namespace kiln::ctl
