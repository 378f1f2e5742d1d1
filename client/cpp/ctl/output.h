// Text for people and for programs.
#pragma once

#include <google/protobuf/message.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kiln::ctl {

// 1536 -> "1.5 KiB".
std::string BytesText(uint64_t bytes);
// 1234567 -> "1,234,567".
std::string CountText(uint64_t count);
// 90061000 -> "1d 1h".  1500 -> "1.5 s".
std::string DurationText(uint64_t ms);
// Of what clients say: no control characters, which a terminal would obey, and not too long.
std::string SafeText(std::string_view text, size_t max_characters = 200);

// Columns as wide as their widest cell.
class Table {
 public:
  // A heading that begins with '>' makes a column of numbers: aligned to the right.
  explicit Table(std::vector<std::string> headings);
  void AddRow(std::vector<std::string> cells);
  bool is_empty() const { return rows_.size() == 1; }
  std::string Text() const;

 private:
  std::vector<bool> is_right_;
  std::vector<std::vector<std::string>> rows_;
};

// proto3 JSON, with the names of the .proto and with all fields, also those that are 0.
std::string JsonText(const google::protobuf::Message& message);

// Progress on standard error, in one line that changes; nothing if that is no terminal.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();  // Takes the line away.
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  void Show(const std::string& text);

 private:
  const bool is_terminal_;
  bool is_shown_ = false;
};

}  // namespace kiln::ctl
