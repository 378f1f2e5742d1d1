#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "client/cpp/ctl/trace.h"

namespace kiln::ctl {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;

v1::ProfileEvent Event(v1::ProfileEvent::Kind kind, const std::string& name, uint64_t start_ns,
                       uint64_t duration_ns, uint64_t session = 1) {
  v1::ProfileEvent event;
  event.set_kind(kind);
  event.set_name(name);
  event.set_start_ns(start_ns);
  event.set_duration_ns(duration_ns);
  event.set_session(session);
  return event;
}

std::string Written(const std::vector<v1::ProfileEvent>& events, size_t max_events = 1000) {
  v1::ProfileEvents message;
  for (const v1::ProfileEvent& event : events) *message.add_events() = event;
  Trace trace(max_events);
  trace.Add(message);
  std::ostringstream out;
  trace.Write(out);
  return out.str();
}

std::vector<json> Slices(const json& trace) {
  std::vector<json> slices;
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] == "X") slices.push_back(event);
  }
  return slices;
}

TEST(EscapeJson, AnyBytesAreAnswered) {
  EXPECT_EQ(EscapeJson("a\"b\\c"), "a\\\"b\\\\c");
  EXPECT_EQ(EscapeJson(std::string("\n\0\x1b\x7f", 4)), "\\u000a\\u0000\\u001b\\u007f");
  EXPECT_EQ(EscapeJson("\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\xa5"),
            "\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\xa5");
  // Alone, cut off, overlong, a surrogate, too large.
  for (const char* wrong :
       {"\x80", "\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xff"}) {
    const std::string text = EscapeJson(wrong);
    EXPECT_EQ(text.substr(0, 6), "\\ufffd");
    EXPECT_TRUE(json::accept("\"" + text + "\""));
  }
}

TEST(Trace, IsJsonWhateverNamesSay) {
  v1::ProfileEvent event = Event(v1::ProfileEvent::KIND_KERNEL, "r_\"64\"\n", 5000, 1500);
  event.set_label("layer1\\conv\x01");
  event.set_device("cpu:0");
  const json trace = json::parse(Written({event}));
  ASSERT_EQ(Slices(trace).size(), 1);
  EXPECT_EQ(Slices(trace)[0]["name"], "r_\"64\"\n");
  EXPECT_EQ(Slices(trace)[0]["args"]["label"], "layer1\\conv\x01");
}

TEST(Trace, WithoutEventsIsStillATrace) {
  EXPECT_TRUE(json::parse(Written({}))["traceEvents"].empty());
}

TEST(Trace, TimesAreMicrosecondsFromTheFirstEvent) {
  const uint64_t day = 86'400'000'000'000;
  const json trace = json::parse(Written({Event(v1::ProfileEvent::KIND_COMMAND, "b", day + 2005, 7),
                                          Event(v1::ProfileEvent::KIND_COMMAND, "a", day, 1000)}));
  const std::vector<json> slices = Slices(trace);
  ASSERT_EQ(slices.size(), 2);
  EXPECT_EQ(slices[0]["name"], "a");
  EXPECT_DOUBLE_EQ(slices[0]["ts"], 0);
  EXPECT_DOUBLE_EQ(slices[0]["dur"], 1);
  EXPECT_DOUBLE_EQ(slices[1]["ts"], 2.005);
  EXPECT_DOUBLE_EQ(slices[1]["dur"], 0.007);
}

// Viewers draw events of one thread as nested; those that only overlap would be drawn wrong.
TEST(Trace, EventsOfOneThreadAreNestedOrApart) {
  std::vector<v1::ProfileEvent> events;
  for (uint64_t i = 0; i < 200; ++i) {
    events.push_back(
        Event(i % 3 == 0 ? v1::ProfileEvent::KIND_KERNEL : v1::ProfileEvent::KIND_COMMAND, "e",
              i * 7919 % 1000, 1 + i * 104729 % 300, i % 2));
  }
  std::map<std::pair<int, int>, std::vector<std::pair<double, double>>> threads;
  for (const json& slice : Slices(json::parse(Written(events)))) {
    const double start = slice["ts"], end = start + slice["dur"].get<double>();
    threads[{slice["pid"], slice["tid"]}].push_back({start, end});
  }
  const double slack = 1e-9;  // Of adding decimals.
  for (const auto& [thread, slices] : threads) {
    for (size_t i = 0; i < slices.size(); ++i) {
      for (size_t k = i + 1; k < slices.size(); ++k) {
        const bool apart = slices[k].first >= slices[i].second - slack;
        const bool nested = slices[k].second <= slices[i].second + slack;
        EXPECT_TRUE(apart || nested) << thread.first << " " << thread.second;
      }
    }
  }
}

TEST(Trace, DoesNotDependOnTheOrderOfArrival) {
  std::vector<v1::ProfileEvent> events = {Event(v1::ProfileEvent::KIND_COMMAND, "a", 10, 5),
                                          Event(v1::ProfileEvent::KIND_COMMAND, "b", 10, 9, 2),
                                          Event(v1::ProfileEvent::KIND_KERNEL, "c", 3, 9)};
  const std::string once = Written(events);
  std::swap(events[0], events[2]);
  EXPECT_EQ(Written(events), once);
}

TEST(Trace, SessionsAndDevicesAreProcessesWithNames) {
  v1::ProfileEvent kernel = Event(v1::ProfileEvent::KIND_KERNEL, "k", 0, 1, 7);
  kernel.set_device("cpu:1");
  const json trace =
      json::parse(Written({kernel, Event(v1::ProfileEvent::KIND_COMPILE, "c", 1, 1, 7)}));
  std::vector<std::string> names;
  for (const json& event : trace["traceEvents"]) {
    if (event["name"] == "process_name") names.push_back(event["args"]["name"]);
  }
  EXPECT_THAT(names, ElementsAre("device cpu:1", "session 7"));
}

TEST(Trace, WhatIsOverTheLimitIsCounted) {
  v1::ProfileEvents message;
  for (uint64_t i = 0; i < 5; ++i) {
    *message.add_events() = Event(v1::ProfileEvent::KIND_COMMAND, "a", i, 1);
  }
  message.set_dropped(10);
  Trace trace(3);
  trace.Add(message);
  EXPECT_TRUE(trace.is_full());
  EXPECT_EQ(trace.num_events(), 3);
  EXPECT_EQ(trace.num_dropped(), 12);
}

}  // namespace
}  // namespace kiln::ctl
