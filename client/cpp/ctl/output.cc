#include "client/cpp/ctl/output.h"

#include <google/protobuf/util/json_util.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace kiln::ctl {
namespace {

bool IsContinuation(char c) { return (static_cast<uint8_t>(c) & 0xC0) == 0x80; }

size_t NumCharacters(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !IsContinuation(c); }));
}

}  // namespace

std::string BytesText(uint64_t bytes) {
  if (bytes < 1024) return absl::StrCat(bytes, " B");
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; value >= 1023.95 && unit < 5; ++unit) value /= 1024;
  return absl::StrFormat("%.1f %s", value, kUnits[unit]);
}

std::string CountText(uint64_t count) {
  std::string digits = absl::StrCat(count);
  for (size_t i = digits.size(); i > 3;) digits.insert(i -= 3, ",");
  return digits;
}

std::string DurationText(uint64_t ms) {
  if (ms < 1000) return absl::StrCat(ms, " ms");
  if (ms < 60'000) return absl::StrFormat("%.1f s", static_cast<double>(ms / 100) / 10);
  const uint64_t minutes = ms / 60'000;
  if (minutes < 60) return absl::StrCat(minutes, "m ", ms / 1000 % 60, "s");
  if (minutes < 24 * 60) return absl::StrCat(minutes / 60, "h ", minutes % 60, "m");
  return absl::StrCat(minutes / 60 / 24, "d ", minutes / 60 % 24, "h");
}

std::string SafeText(std::string_view text, size_t max_characters) {
  std::string out;
  size_t characters = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<uint8_t>(text[i]);
    if (!IsContinuation(text[i]) && ++characters > max_characters) {
      out += "...";
      break;
    }
    // U+0080 to U+009F are control characters as well: C2 80 to C2 9F.
    const bool is_second_block =
        c == 0xC2 && i + 1 < text.size() && static_cast<uint8_t>(text[i + 1]) < 0xA0;
    if (is_second_block) ++i;
    out += c < 0x20 || c == 0x7F || is_second_block ? '?' : text[i];
  }
  return out;
}

Table::Table(std::vector<std::string> headings) {
  for (std::string& heading : headings) {
    is_right_.push_back(!heading.empty() && heading[0] == '>');
    if (is_right_.back()) heading.erase(0, 1);
  }
  rows_.push_back(std::move(headings));
}

void Table::AddRow(std::vector<std::string> cells) {
  cells.resize(is_right_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::Text() const {
  std::vector<size_t> widths(is_right_.size(), 0);
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], NumCharacters(row[i]));
  }
  std::string out;
  for (const auto& row : rows_) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string space(widths[i] - NumCharacters(row[i]), ' ');
      absl::StrAppend(&line, i == 0 ? "" : "  ", is_right_[i] ? space : "", row[i],
                      is_right_[i] ? "" : space);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    absl::StrAppend(&out, line, "\n");
  }
  return out;
}

std::string JsonText(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string out;
  // Fails only for unknown Any types, of which there are none.
  (void)google::protobuf::util::MessageToJsonString(message, &out, options);
  return out;
}

ProgressLine::ProgressLine() : is_terminal_(isatty(STDERR_FILENO) == 1) {}

ProgressLine::~ProgressLine() {
  if (is_shown_) std::fputs("\r\x1b[K", stderr);
}

void ProgressLine::Show(const std::string& text) {
  if (!is_terminal_) return;
  std::fprintf(stderr, "\r\x1b[K%s", text.c_str());
  std::fflush(stderr);
  is_shown_ = true;
}

}  // namespace kiln::ctl
