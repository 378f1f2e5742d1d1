// Whatever is wrong with a record, the sets fail or pass it, and go on. Run under sanitizers.
#include <gtest/gtest.h>

#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

#include "tests/replay/sets.h"

namespace kiln::replay {
namespace {

// A value somewhere inside `json`, itself included.
Json& Anywhere(Json& json, std::mt19937_64& random) {
  Json* at = &json;
  while (at->is_structured() && !at->empty() && random() % 4 != 0) {
    at = &*std::next(at->begin(), static_cast<std::ptrdiff_t>(random() % at->size()));
  }
  return *at;
}

void Damage(Json& json, std::mt19937_64& random) {
  Json& at = Anywhere(json, random);
  switch (random() % 8) {
    case 0:
      at = nullptr;
      break;
    case 1:
      at = -1;
      break;
    case 2:
      at = UINT64_MAX;
      break;
    case 3:
      at = "nan";
      break;
    case 4:
      at = Json::array();
      break;
    case 5:
      at = 0.5;
      break;
    case 6:
      at = Json(Anywhere(json, random));
      break;
    default:
      if (at.is_structured() && !at.empty()) {
        at.erase(std::next(at.begin(), static_cast<std::ptrdiff_t>(random() % at.size())));
      }
  }
}

TEST(FixtureSets, SurviveDamagedRecords) {
  std::mt19937_64 random(1);
  for (const auto& set : AllSets()) {
    for (const std::string& stem : set->files()) {
      const std::string path = absl::StrCat("tests/fixtures/", stem);
      const bool is_plain = std::filesystem::exists(path + ".jsonl");
      const std::string file = path + (is_plain ? ".jsonl" : ".jsonl.gz");
      if (!std::filesystem::exists(file)) continue;
      const int kRecords = is_plain ? 150 : 15, kDamagesPerRecord = is_plain ? 10 : 6;
      std::vector<Record> records;
      ASSERT_TRUE(set->Open(path).ok());
      ASSERT_TRUE(ForEachRecord(file, [&](const Record& r) { records.push_back(r); }).ok());
      ASSERT_FALSE(records.empty());
      for (int i = 0; i < kRecords; ++i) {
        const Record& record = records[random() % records.size()];
        for (int n = 0; n < kDamagesPerRecord; ++n) {
          Record damaged = record;
          Damage(damaged.json, random);
          if (random() % 2 == 0) Damage(damaged.json, random);
          SCOPED_TRACE(record.id);
          Check(*set, damaged);
        }
      }
    }
  }
}

TEST(FixtureSets, FailRecordsWithNothingInThem) {
  for (const auto& set : AllSets()) {
    for (const char* kind : {"", "alu", "no such kind"}) {
      Record record{.id = "x", .kind = kind, .json = Json::object(), .malformed = {}};
      EXPECT_EQ(Check(*set, record).outcome, Result::Outcome::kFail) << set->name() << kind;
    }
    const Record broken{.id = "x", .kind = {}, .json = nullptr, .malformed = "not JSON"};
    EXPECT_EQ(Check(*set, broken).outcome, Result::Outcome::kFail);
  }
}

}  // namespace
}  // namespace kiln::replay
