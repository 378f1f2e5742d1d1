#include "server/session/command_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kiln::server {
namespace {

using testing::ElementsAre;

pb::Command Sync(uint64_t seq) {
  pb::Command command;
  command.set_seq(seq);
  command.mutable_sync();
  return command;
}

class CommandQueueTest : public testing::Test {
 protected:
  CommandEntry* Begin(uint64_t seq) {
    queue_.Add(Sync(seq), 0);
    CommandEntry* entry = queue_.Next();
    queue_.Advance();
    return entry;
  }
  int Retire() { return queue_.Retire(retired_); }
  std::vector<uint64_t> Results(uint64_t after, uint64_t up_to = ~uint64_t{0},
                                int64_t max_bytes = 1000) {
    google::protobuf::RepeatedPtrField<pb::Result> results;
    queue_.CopyResults(after, up_to, max_bytes, results);
    std::vector<uint64_t> seqs;
    for (const pb::Result& r : results) seqs.push_back(r.seq());
    return seqs;
  }
  static void Finish(CommandEntry* entry) {
    entry->result.set_seq(entry->seq);
    entry->has_result = entry->is_done = true;
  }

  CommandQueue queue_;
  std::vector<std::function<void()>> retired_;
};

TEST_F(CommandQueueTest, NumbersThatWereSeenAreNotAddedAgain) {
  EXPECT_NE(queue_.Add(Sync(3), 0), nullptr);
  EXPECT_EQ(queue_.Add(Sync(3), 0), nullptr);
  EXPECT_EQ(queue_.Add(Sync(2), 0), nullptr);
  EXPECT_NE(queue_.Add(Sync(7), 0), nullptr);
  EXPECT_EQ(queue_.applied_seq(), 7);
  EXPECT_EQ(queue_.num_commands(), 2);
}

TEST_F(CommandQueueTest, RetiresInOrder) {
  CommandEntry* a = Begin(1);
  CommandEntry* b = Begin(2);
  Finish(b);
  EXPECT_EQ(Retire(), 0);
  EXPECT_EQ(queue_.acked_seq(), 0);
  Finish(a);
  EXPECT_EQ(Retire(), 2);
  EXPECT_EQ(queue_.acked_seq(), 2);
  EXPECT_THAT(Results(0), ElementsAre(1, 2));
  EXPECT_EQ(queue_.num_commands(), 0);
  EXPECT_EQ(queue_.queued_bytes(), 0);
}

TEST_F(CommandQueueTest, WhatHasNotBegunIsNotRetired) {
  queue_.Add(Sync(1), 0);
  EXPECT_EQ(Retire(), 0);
}

TEST_F(CommandQueueTest, ResultsStayUntilTheyAreReceived) {
  for (uint64_t seq : {1, 2, 3}) Finish(Begin(seq));
  Retire();
  EXPECT_THAT(Results(1), ElementsAre(2, 3));
  EXPECT_THAT(Results(0, 2), ElementsAre(1, 2));
  EXPECT_THAT(Results(0, 3, 1), ElementsAre(1));
  EXPECT_GT(queue_.unacked_bytes(), 0);
  queue_.Received(2);
  EXPECT_THAT(Results(0), ElementsAre(3));
  queue_.Received(3);
  EXPECT_EQ(queue_.unacked_bytes(), 0);
}

TEST_F(CommandQueueTest, CancelMarksWhatWaits) {
  CommandEntry* begun = Begin(1);
  for (uint64_t seq : {2, 3, 4}) queue_.Add(Sync(seq), 0);
  queue_.Cancel(3, absl::CancelledError("no more"));
  EXPECT_FALSE(begun->cancelled.has_value());
  EXPECT_TRUE(queue_.Next()->cancelled.has_value());
  queue_.Advance();
  EXPECT_TRUE(queue_.Next()->cancelled.has_value());
  queue_.Advance();
  EXPECT_FALSE(queue_.Next()->cancelled.has_value());
}

TEST_F(CommandQueueTest, CallbacksComeWithRetirement) {
  int called = 0;
  CommandEntry* a = Begin(1);
  CommandEntry* b = Begin(2);
  b->on_retired = [&called] { ++called; };
  Finish(b);
  Retire();
  EXPECT_TRUE(retired_.empty());
  Finish(a);
  Retire();
  ASSERT_EQ(retired_.size(), 1);
  retired_[0]();
  EXPECT_EQ(called, 1);
}

}  // namespace
}  // namespace kiln::server
