#include "tests/replay/record.h"

#include <zlib.h>

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace kiln::replay {
namespace {

constexpr size_t kMaxDepth = 200;

// Builds a Json like its own parser does, but keeps integers which fit no 64-bit type as strings of
// digits.
class Builder final : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return Add(nullptr); }
  bool boolean(bool v) override { return Add(v); }
  bool number_integer(number_integer_t v) override { return Add(v); }
  bool number_unsigned(number_unsigned_t v) override { return Add(v); }
  bool number_float(number_float_t v, const string_t& digits) override {
    if (digits.find_first_of(".eE") == string_t::npos) return Add(digits);
    return Add(v);
  }
  bool string(string_t& v) override { return Add(std::move(v)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override { return Open(Json::object()); }
  bool key(string_t& v) override {
    key_ = std::move(v);
    return true;
  }
  bool end_object() override { return Close(); }
  bool start_array(size_t) override { return Open(Json::array()); }
  bool end_array() override { return Close(); }
  bool parse_error(size_t, const std::string&, const Json::exception& error) override {
    error_ = error.what();
    return false;
  }

  Json root_;
  std::string error_ = "not JSON";

 private:
  // The value's place: the root, the end of the open array, or the last key of the open object.
  Json* Place(Json v) {
    if (open_.empty()) {
      root_ = std::move(v);
      return &root_;
    }
    Json& parent = *open_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(v));
      return &parent.back();
    }
    Json& slot = parent[key_];
    slot = std::move(v);
    return &slot;
  }
  bool Add(Json v) { return Place(std::move(v)) != nullptr; }
  bool Open(Json v) {
    if (open_.size() >= kMaxDepth) {
      error_ = absl::StrCat("nested deeper than ", kMaxDepth);
      return false;
    }
    open_.push_back(
        Place(std::move(v)));  // Stays valid: its parent does not grow before it is closed.
    return true;
  }
  bool Close() {
    open_.pop_back();
    return true;
  }

  std::vector<Json*> open_;
  std::string key_;
};

Record ToRecord(std::string_view line, const std::string& where) {
  Record record{.id = where, .kind = {}, .json = nullptr, .malformed = {}};
  absl::StatusOr<Json> json = ParseJson(line);
  if (!json.ok()) {
    record.malformed = std::string(json.status().message());
    return record;
  }
  if (!json->is_object()) {
    record.malformed = "not an object";
    return record;
  }
  const auto text = [&](const char* key) -> std::string {
    const auto it = json->find(key);
    if (it == json->end() || !it->is_string()) return {};
    return it->get<std::string>();
  };
  if (std::string id = text("id"); !id.empty()) record.id = std::move(id);
  record.kind = text("kind");
  record.json = *std::move(json);
  return record;
}

struct CloseFile {
  void operator()(gzFile file) const { gzclose(file); }
};

}  // namespace

absl::StatusOr<Json> ParseJson(std::string_view text) {
  Builder builder;
  if (!Json::sax_parse(text.begin(), text.end(), &builder))
    return absl::InvalidArgumentError(builder.error_);
  return std::move(builder.root_);
}

absl::Status ForEachRecord(const std::string& path, absl::FunctionRef<void(const Record&)> visit) {
  // gzopen reads plain files as they are.
  const std::unique_ptr<gzFile_s, CloseFile> file(gzopen(path.c_str(), "rb"));
  if (file == nullptr) return absl::NotFoundError(absl::StrCat("no file ", path));
  gzbuffer(file.get(), 1 << 18);
  const std::string name = path.substr(path.rfind('/') + 1);
  std::string line;
  int64_t line_number = 0;
  const auto end_line = [&] {
    ++line_number;
    if (!absl::StripAsciiWhitespace(line).empty())
      visit(ToRecord(line, absl::StrCat(name, ":", line_number)));
    line.clear();
  };
  std::vector<char> block(1 << 18);
  while (true) {
    const int bytes = gzread(file.get(), block.data(), static_cast<unsigned>(block.size()));
    int code = Z_OK;
    const char* message = gzerror(file.get(), &code);
    if (bytes < 0 || code < 0) return absl::DataLossError(absl::StrCat(path, ": ", message));
    if (bytes == 0) break;
    std::string_view rest(block.data(), static_cast<size_t>(bytes));
    for (size_t end; (end = rest.find('\n')) != std::string_view::npos;
         rest.remove_prefix(end + 1)) {
      line.append(rest.data(), end);
      end_line();
    }
    line.append(rest.data(), rest.size());
  }
  if (!line.empty()) end_line();
  return absl::OkStatus();
}

}  // namespace kiln::replay
