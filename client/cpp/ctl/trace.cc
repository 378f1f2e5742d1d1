#include "client/cpp/ctl/trace.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace kiln::ctl {
namespace {

// Bytes of the UTF-8 character at the start of `text`; 0 if it is none. Overlong forms, surrogates
// and what is over U+10FFFF are none.
size_t CharacterBytes(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return 1;
  const size_t n = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < n) return 0;
  for (size_t i = 1; i < n; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const uint8_t second = byte(1);
  if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
      (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F)) {
    return 0;
  }
  return n;
}

const char* CategoryOf(v1::ProfileEvent::Kind kind) {
  switch (kind) {
    case v1::ProfileEvent::KIND_COMMAND:
      return "command";
    case v1::ProfileEvent::KIND_TRANSFER:
      return "transfer";
    case v1::ProfileEvent::KIND_COMPILE:
      return "compile";
    case v1::ProfileEvent::KIND_KERNEL:
      return "kernel";
    default:
      return "other";
  }
}

// What is on the device, and not a wish of a session: kernels, and copies that the device names.
bool IsOfDevice(const v1::ProfileEvent& event) {
  return event.kind() == v1::ProfileEvent::KIND_KERNEL || !event.device().empty();
}

std::string ProcessOf(const v1::ProfileEvent& event) {
  if (!IsOfDevice(event)) {
    return event.session() == 0 ? "daemon" : absl::StrCat("session ", event.session());
  }
  return event.device().empty() ? "devices" : absl::StrCat("device ", event.device());
}

// One kind of events of one process: as many threads as there are events at a time.
class Track {
 public:
  // The lane for an event, which begins no earlier than those before it: the first in which nothing
  // runs, or whatever runs lasts at least as long.
  size_t LaneFor(uint64_t start, uint64_t end) {
    for (size_t lane = 0; lane < lanes_.size(); ++lane) {
      std::vector<uint64_t>& ends = lanes_[lane];
      while (!ends.empty() && ends.back() <= start) ends.pop_back();
      if (ends.empty() || ends.back() >= end) {
        ends.push_back(end);
        return lane;
      }
    }
    lanes_.push_back({end});
    return lanes_.size() - 1;
  }

 private:
  std::vector<std::vector<uint64_t>> lanes_;  // Ends of the events that are open, outermost first.
};

std::string Microseconds(uint64_t ns) { return absl::StrFormat("%d.%03d", ns / 1000, ns % 1000); }

class Writer {
 public:
  explicit Writer(std::ostream& out) : out_(out) {
    out_ << "{\"displayTimeUnit\":\"ns\",\n\"traceEvents\":[";
  }

  void Event(const v1::ProfileEvent& event, uint64_t begin_ns) {
    const int process = ProcessFor(ProcessOf(event));
    const char* category = CategoryOf(event.kind());
    const uint64_t start = event.start_ns() - begin_ns;
    const auto key = std::make_pair(process, std::string(category));
    const size_t lane = tracks_[key].LaneFor(start, start + event.duration_ns());
    Line(absl::StrCat(
        "{\"ph\":\"X\",\"cat\":\"", category, "\",\"name\":\"", EscapeJson(event.name()),
        "\",\"pid\":", process, ",\"tid\":", ThreadFor(process, category, lane),
        ",\"ts\":", Microseconds(start), ",\"dur\":", Microseconds(event.duration_ns()),
        ",\"args\":{", Arguments(event), "}}"));
  }
  void Finish(uint64_t num_dropped) {
    out_ << "\n],\n\"otherData\":{\"dropped\":\"" << num_dropped << "\"}}\n";
  }

 private:
  void Line(const std::string& event) {
    out_ << (is_first_ ? "\n" : ",\n") << event;
    is_first_ = false;
  }

  static std::string Arguments(const v1::ProfileEvent& event) {
    std::vector<std::string> fields;
    if (event.session() != 0) fields.push_back(absl::StrCat("\"session\":", event.session()));
    if (event.seq() != 0) fields.push_back(absl::StrCat("\"seq\":", event.seq()));
    if (!event.label().empty()) {
      fields.push_back(absl::StrCat("\"label\":\"", EscapeJson(event.label()), "\""));
    }
    std::string out;
    for (const std::string& field : fields) absl::StrAppend(&out, out.empty() ? "" : ",", field);
    return out;
  }

  int ProcessFor(const std::string& name) {
    const auto [entry, is_new] =
        processes_.try_emplace(name, static_cast<int>(processes_.size()) + 1);
    if (is_new) NameOf("process_name", entry->second, 0, name);
    return entry->second;
  }
  size_t ThreadFor(int process, const char* category, size_t lane) {
    const auto key = std::make_tuple(process, std::string(category), lane);
    const auto [entry, is_new] = threads_.try_emplace(key, threads_.size() + 1);
    if (is_new) {
      NameOf("thread_name", process, entry->second,
             lane == 0 ? std::string(category) : absl::StrCat(category, " ", lane + 1));
    }
    return entry->second;
  }
  void NameOf(const char* what, int process, size_t thread, const std::string& name) {
    Line(absl::StrCat("{\"ph\":\"M\",\"name\":\"", what, "\",\"pid\":", process,
                      ",\"tid\":", thread, ",\"args\":{\"name\":\"", EscapeJson(name), "\"}}"));
  }

  std::ostream& out_;
  bool is_first_ = true;
  std::map<std::string, int> processes_;
  std::map<std::pair<int, std::string>, Track> tracks_;
  std::map<std::tuple<int, std::string, size_t>, size_t> threads_;
};

}  // namespace

std::string EscapeJson(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto c = static_cast<uint8_t>(text[0]);
    const size_t bytes = CharacterBytes(text);
    if (bytes == 0) {
      out += "\\ufffd";
    } else if (c == '"' || c == '\\') {
      out += {'\\', static_cast<char>(c)};
    } else if (c < 0x20 || c == 0x7F) {
      absl::StrAppendFormat(&out, "\\u%04x", c);
    } else {
      out.append(text.substr(0, bytes));
    }
    text.remove_prefix(std::max<size_t>(bytes, 1));
  }
  return out;
}

void Trace::Add(const v1::ProfileEvents& events) {
  num_dropped_ += events.dropped();
  for (const v1::ProfileEvent& event : events.events()) {
    if (is_full()) {
      ++num_dropped_;
    } else {
      events_.push_back(event);
    }
  }
}

void Trace::Write(std::ostream& out) {
  // Of those that begin together the longest is outermost.
  const auto order = [](const v1::ProfileEvent& event) {
    return std::make_tuple(event.start_ns(), ~event.duration_ns(), static_cast<int>(event.kind()),
                           event.session(), event.seq(), std::string_view(event.device()),
                           std::string_view(event.name()), std::string_view(event.label()));
  };
  std::sort(events_.begin(), events_.end(),
            [&](const auto& a, const auto& b) { return order(a) < order(b); });
  Writer writer(out);
  for (const v1::ProfileEvent& event : events_) writer.Event(event, events_.front().start_ns());
  writer.Finish(num_dropped_);
}

}  // namespace kiln::ctl
