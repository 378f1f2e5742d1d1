#include "tests/replay/graphs_data.h"

#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>

#include "absl/strings/str_cat.h"

#include "core/dtype/cast.h"
#include "core/dtype/status.h"
#include "tests/replay/fixture_dtype.h"
#include "tests/replay/value.h"

namespace kiln::replay {
namespace {

using Bytes = std::vector<std::byte>;

struct CloseFile {
  void operator()(gzFile file) const { gzclose(file); }
};

absl::Status Bad(std::string what) { return absl::InvalidArgumentError(std::move(what)); }

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

absl::StatusOr<Bytes> FromHex(const std::string& hex) {
  if (hex.size() % 2 != 0) return Bad("an odd number of hex digits");
  Bytes bytes;
  for (size_t i = 0; i < hex.size(); i += 2) {
    const int high = HexDigit(hex[i]), low = HexDigit(hex[i + 1]);
    if (high < 0 || low < 0) return Bad("not hex digits");
    bytes.push_back(static_cast<std::byte>(high * 16 + low));
  }
  return bytes;
}

// In [0, 1).
double Unit(uint64_t seed, uint64_t i) {
  return static_cast<double>(SplitMix64(seed, i) >> 11) * 0x1p-53;
}

// Element i as a scalar of `dtype`.
absl::StatusOr<std::function<Scalar(uint64_t)>> Generator(const Json& json, DType dtype) {
  const auto& init = json.at("init").get_ref<const std::string&>();
  if (init == "full") {
    KILN_ASSIGN_OR_RETURN(const Scalar value, ParseConstant(json.at("value"), dtype));
    return [value](uint64_t) { return value; };
  }
  const auto seed = json.at("seed").get<uint64_t>();
  KILN_ASSIGN_OR_RETURN(const double lo, ParseDouble(json.at("lo")));
  KILN_ASSIGN_OR_RETURN(const double hi, ParseDouble(json.at("hi")));
  if (init == "uniform" && dtype::IsFloat(dtype)) {
    return [=](uint64_t i) {
      const double product = (hi - lo) * Unit(seed, i);
      return Scalar::Float(dtype::RoundToFloat(lo + product, dtype));
    };
  }
  if (init == "randint") {
    return [=](uint64_t i) {
      const double v = lo + std::floor((hi - lo) * Unit(seed, i));
      return dtype::Cast(Scalar::Float(v), DType::kFloat64, dtype).value_or(Scalar());
    };
  }
  return Bad(absl::StrCat("unknown init: ", Shorten(json)));
}

}  // namespace

uint64_t SplitMix64(uint64_t seed, uint64_t i) {
  uint64_t z = seed + (i + 1) * 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

absl::StatusOr<GraphData> GraphData::Open(const std::string& path) {
  const std::string name = path + ".bin.gz";
  GraphData data;
  if (!std::filesystem::exists(name)) return data;
  const std::unique_ptr<gzFile_s, CloseFile> file(gzopen(name.c_str(), "rb"));
  if (file == nullptr) return absl::DataLossError(absl::StrCat("can't read ", name));
  gzbuffer(file.get(), 1 << 18);
  constexpr size_t kBlock = 1 << 20;
  while (true) {
    const size_t size = data.blob_.size();
    data.blob_.resize(size + kBlock);
    const int bytes = gzread(file.get(), &data.blob_[size], kBlock);
    int code = Z_OK;
    const char* message = gzerror(file.get(), &code);
    if (bytes < 0 || code < 0) return absl::DataLossError(absl::StrCat(name, ": ", message));
    data.blob_.resize(size + static_cast<size_t>(bytes));
    if (bytes == 0) return data;
  }
}

absl::StatusOr<Bytes> GraphData::Array(const Json& json, int64_t bytes) const {
  Bytes result;
  if (json.contains("hex")) {
    KILN_ASSIGN_OR_RETURN(result, FromHex(json.at("hex").get_ref<const std::string&>()));
  } else {
    KILN_ASSIGN_OR_RETURN(const int64_t off, ParseInt64(json.at("off")));
    KILN_ASSIGN_OR_RETURN(const int64_t size, ParseInt64(json.at("nbytes")));
    const auto all = static_cast<int64_t>(blob_.size());
    if (off < 0 || size < 0 || off > all || size > all - off) {
      return Bad(absl::StrCat("no ", size, " bytes at ", off, " in a data file of ", all));
    }
    result.assign(blob_.begin() + off, blob_.begin() + off + size);
  }
  if (static_cast<int64_t>(result.size()) == bytes) return result;
  return Bad(absl::StrCat("an array of ", result.size(), " bytes, not ", bytes));
}

absl::StatusOr<Bytes> GraphData::Input(const Json& json, DType dtype, int64_t elems) const {
  constexpr int64_t kMostElems = int64_t{1} << 28;
  if (elems < 0 || elems > kMostElems) return Bad(absl::StrCat("an input of ", elems, " elements"));
  const auto elem = static_cast<size_t>(dtype::SizeBytes(dtype));
  if (!json.contains("init")) return Array(json, elems * static_cast<int64_t>(elem));
  KILN_ASSIGN_OR_RETURN(const auto generate, Generator(json, dtype));
  Bytes bytes(static_cast<size_t>(elems) * elem);
  for (size_t i = 0; i < static_cast<size_t>(elems); ++i) {
    const uint64_t bits = dtype::ToBits(generate(i), dtype);
    std::memcpy(&bytes[i * elem], &bits, elem);
  }
  return bytes;
}

}  // namespace kiln::replay
