#include "server/ops/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

#include "server/status.h"

namespace kiln::server {
namespace {

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

spdlog::logger& Logger() {
  static spdlog::logger& logger = *[] {
    auto* made = new spdlog::logger("kilnd", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %l %v", spdlog::pattern_time_type::utc);
    return made;
  }();
  return logger;
}

bool IsPlain(const std::string& value) {
  for (const char c : value) {
    const bool is_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!is_word && c != '.' && c != ':' && c != '/' && c != '_' && c != '-') return false;
  }
  return !value.empty();
}

}  // namespace

void Log(LogLevel level, std::string_view event,
         std::initializer_list<std::pair<std::string_view, std::string>> fields) {
  spdlog::logger& logger = Logger();
  if (!logger.should_log(ToSpdlog(level))) return;
  std::string line(event);
  for (const auto& [key, value] : fields) {
    absl::StrAppend(&line, " ", std::string(key), "=");
    absl::StrAppend(
        &line, IsPlain(value) ? value : absl::StrCat("\"", absl::Utf8SafeCEscape(value), "\""));
  }
  logger.log(ToSpdlog(level), "{}", line);
}

void SetLogLevel(LogLevel level) { Logger().set_level(ToSpdlog(level)); }

void LogObserver::OnCommand(const CommandEvent& event) {
  if (event.status.ok()) return;
  Log(absl::IsInternal(event.status) ? LogLevel::kError : LogLevel::kDebug, "command failed",
      {{"request", RequestId(event.session, event.seq)},
       {"command", std::string(event.kind)},
       {"code", absl::StatusCodeToString(event.status.code())},
       {"message", std::string(event.status.message())}});
}

void LogObserver::OnSessionOpened(uint64_t session, std::string_view client_name) {
  Log(LogLevel::kInfo, "session opened",
      {{"session", absl::StrCat(session)}, {"client", std::string(client_name)}});
}

void LogObserver::OnSessionEnded(uint64_t session, const absl::Status& why) {
  Log(LogLevel::kInfo, "session ended",
      {{"session", absl::StrCat(session)}, {"why", std::string(why.message())}});
}

}  // namespace kiln::server
