#include "server/executor/memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/status_matchers.h"

namespace kiln::server {
namespace {

using support::StatusIs;
using testing::HasSubstr;

Failure Broken(uint64_t seq) { return {seq, absl::ResourceExhaustedError("no memory")}; }

MemoryRange Range(int64_t bytes, MemoryTable& table) {
  return {.allocation = std::make_shared<Allocation>(nullptr, bytes),
          .charge = table.NewCharge(bytes),
          .bytes = bytes};
}

TEST(Contents, FailUntilOverwritten) {
  Allocation memory(nullptr, 64);
  EXPECT_FALSE(memory.contents()->failure().has_value());
  memory.Poison(Broken(7));
  EXPECT_EQ(memory.contents()->failure()->seq, 7);
  // A part of it: what is left is as broken as before.
  memory.BeginWrite(/*is_full=*/false)->Settle(std::nullopt);
  EXPECT_EQ(memory.contents()->failure()->seq, 7);
  memory.BeginWrite(/*is_full=*/true)->Settle(std::nullopt);
  EXPECT_FALSE(memory.contents()->failure().has_value());
}

TEST(Contents, AFailureIsSeenThroughWritesThatBeganBefore) {
  Allocation memory(nullptr, 64);
  const auto whole = memory.BeginWrite(true);
  const auto part = memory.BeginWrite(false);
  part->Settle(std::nullopt);
  EXPECT_FALSE(part->failure().has_value());
  whole->Settle(Broken(3));
  EXPECT_EQ(part->failure()->seq, 3);
  EXPECT_EQ(memory.contents()->failure()->seq, 3);
}

TEST(Contents, AReaderOfTheOldIsNotHurtByTheNew) {
  Allocation memory(nullptr, 64);
  const auto read = memory.contents();
  memory.BeginWrite(true)->Settle(Broken(3));
  EXPECT_FALSE(read->failure().has_value());
}

TEST(Contents, LongChainsOfPartsAreForgotten) {
  Allocation memory(nullptr, 64);
  for (int i = 0; i < 1'000'000; ++i) memory.BeginWrite(false)->Settle(std::nullopt);
  EXPECT_FALSE(memory.contents()->failure().has_value());
}

TEST(MemoryTable, CountsBytesAsLongAsAnythingUsesThem) {
  MemoryTable table({.max_buffers = 4, .max_bytes = 100});
  table.Add(1, Range(60, table));
  EXPECT_EQ(table.used_bytes(), 60);
  EXPECT_THAT(table.CheckBytes(41),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("max_session_bytes")));
  KILN_EXPECT_OK(table.CheckBytes(40));
  std::optional<MemoryRange> held = *table.Find(1);
  KILN_EXPECT_OK(table.Remove(1));
  EXPECT_EQ(table.used_bytes(), 60);
  held.reset();
  EXPECT_EQ(table.used_bytes(), 0);
}

TEST(MemoryTable, NamesWhatIsWrong) {
  MemoryTable table({.max_buffers = 2, .max_bytes = 100});
  EXPECT_THAT(table.Find(0), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(table.Find(5), StatusIs(absl::StatusCode::kNotFound, HasSubstr("buffer 5")));
  table.Add(1, Range(8, table));
  EXPECT_THAT(table.CheckNew(1), StatusIs(absl::StatusCode::kAlreadyExists));
  table.AddFailed(2, Broken(9));
  EXPECT_THAT(table.CheckNew(3), StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(table.FindReadable(2),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("command 9")));
  KILN_EXPECT_OK(table.Remove(2));
  EXPECT_THAT(table.Remove(2), StatusIs(absl::StatusCode::kNotFound));
  MemoryRange read_only = Range(8, table);
  read_only.is_writable = false;
  table.Add(2, read_only);
  EXPECT_THAT(table.FindWritable(2), StatusIs(absl::StatusCode::kPermissionDenied));
}

TEST(MemoryTable, TakesNothingOnceClosed) {
  MemoryTable table({.max_buffers = 2, .max_bytes = 100});
  table.Add(1, Range(8, table));
  table.Close();
  EXPECT_EQ(table.used_bytes(), 0);
  table.Add(2, Range(8, table));
  EXPECT_EQ(table.size(), 0);
}

TEST(Poisoned, NamesTheFirstFailure) {
  const absl::Status second = Poisoned("buffer 2", Broken(4));
  const Failure root = RootOf(9, second);
  EXPECT_EQ(root.seq, 4);
  EXPECT_THAT(root.status, StatusIs(absl::StatusCode::kResourceExhausted, "no memory"));
  const pb::Status message = ToProto(Poisoned("buffer 3", root));
  EXPECT_EQ(message.cause().seq(), 4);
  EXPECT_EQ(message.cause().message(), "no memory");
  EXPECT_EQ(message.code(), static_cast<int>(absl::StatusCode::kFailedPrecondition));
}

}  // namespace
}  // namespace kiln::server
