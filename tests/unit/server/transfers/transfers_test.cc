#include "server/executor/transfers.h"

#include <algorithm>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/status_matchers.h"

namespace kiln::server {
namespace {

using kiln::support::IsOk;
using kiln::support::IsOkAndHolds;
using kiln::support::StatusIs;
using ::testing::HasSubstr;
using Code = absl::StatusCode;

class FakeStream final : public TransferStream {
 public:
  void OnReady() override { ++num_ready; }
  void OnEnd(const absl::Status& why) override {
    EXPECT_FALSE(ended.has_value()) << "told twice";
    ended = why;
  }
  int num_ready = 0;
  std::optional<absl::Status> ended;
};

class TransfersTest : public ::testing::Test {
 protected:
  std::shared_ptr<FakeStream> Stream() { return std::make_shared<FakeStream>(); }

  Transfers::Done Done() {
    return [this](absl::Status status) {
      EXPECT_FALSE(done_.has_value()) << "called twice";
      done_ = std::move(status);
    };
  }
  absl::Status Receive(uint64_t id, size_t size = 8) {
    to_.assign(size, std::byte{0});
    return transfers_.Receive(id, absl::MakeSpan(to_), keep_, Done());
  }
  absl::Status Send(uint64_t id, size_t size = 8) {
    from_.resize(size);
    for (size_t i = 0; i < size; ++i) from_[i] = static_cast<std::byte>(i);
    return transfers_.Send(id, from_, keep_, Done());
  }
  // A chunk in two pieces.
  static absl::StatusOr<bool> Write(Incoming& incoming, uint64_t offset, const std::string& bytes) {
    const auto all =
        absl::MakeConstSpan(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size());
    const absl::Span<const std::byte> pieces[] = {all.first(bytes.size() / 2),
                                                  all.subspan(bytes.size() / 2)};
    return incoming.Write(offset, pieces);
  }
  std::string Got() const { return {reinterpret_cast<const char*>(to_.data()), to_.size()}; }
  void Pass(absl::Duration d) {
    now_ += d;
    transfers_.Expire();
  }

  absl::Time now_ = absl::UnixEpoch();
  std::vector<std::byte> to_, from_;
  std::shared_ptr<int> keep_ = std::make_shared<int>();
  std::optional<absl::Status> done_;
  Transfers transfers_{
      {.max_transfers = 3, .timeout = absl::Seconds(10), .now = [this] { return now_; }}};
};

// ** in **

TEST_F(TransfersTest, CommandThenStream) {
  ASSERT_THAT(Receive(7), IsOk());
  const auto stream = Stream();
  const auto in = transfers_.Put(7, stream);
  ASSERT_THAT(in, IsOk());
  EXPECT_EQ(stream->num_ready, 1);
  EXPECT_THAT(Write(**in, 0, "abcde"), IsOkAndHolds(false));
  EXPECT_FALSE(done_.has_value());
  EXPECT_THAT(Write(**in, 5, "fgh"), IsOkAndHolds(true));
  EXPECT_THAT(*done_, IsOk());
  EXPECT_EQ(Got(), "abcdefgh");
  EXPECT_EQ((*in)->received(), 8);
  EXPECT_TRUE((*in)->is_complete());
  EXPECT_EQ(transfers_.size(), 0);
  EXPECT_EQ(keep_.use_count(), 1);
  EXPECT_FALSE(stream->ended.has_value());
}

TEST_F(TransfersTest, StreamThenCommand) {
  const auto stream = Stream();
  const auto in = transfers_.Put(7, stream);
  ASSERT_THAT(in, IsOk());
  EXPECT_EQ(stream->num_ready, 0);
  EXPECT_THAT(Write(**in, 0, "abcdefgh"), StatusIs(Code::kFailedPrecondition));
  ASSERT_THAT(Receive(7), IsOk());
  EXPECT_EQ(stream->num_ready, 1);
  EXPECT_THAT(Write(**in, 0, "abcdefgh"), IsOkAndHolds(true));
  EXPECT_THAT(*done_, IsOk());
}

TEST_F(TransfersTest, NoBytesAtAll) {
  ASSERT_THAT(Receive(7, 0), IsOk());
  EXPECT_FALSE(done_.has_value());
  const auto in = transfers_.Put(7, Stream());
  ASSERT_THAT(in, IsOk());
  EXPECT_TRUE((*in)->is_complete());
  EXPECT_THAT(*done_, IsOk());
}

TEST_F(TransfersTest, ABrokenStreamIsFollowedByAnother) {
  ASSERT_THAT(Receive(7), IsOk());
  {
    const auto in = transfers_.Put(7, Stream());
    EXPECT_THAT(Write(**in, 0, "abcde"), IsOkAndHolds(false));
  }
  EXPECT_FALSE(done_.has_value());
  // It may also send again what has arrived.
  const auto in = transfers_.Put(7, Stream());
  EXPECT_EQ((*in)->received(), 5);
  EXPECT_THAT(Write(**in, 3, "de"), IsOkAndHolds(false));
  EXPECT_THAT(Write(**in, 5, "fgh"), IsOkAndHolds(true));
  EXPECT_THAT(*done_, IsOk());
  EXPECT_EQ(Got(), "abcdefgh");
}

TEST_F(TransfersTest, ANewerStreamTakesOver) {
  ASSERT_THAT(Receive(7), IsOk());
  const auto older = Stream();
  const auto old = transfers_.Put(7, older);
  EXPECT_THAT(Write(**old, 0, "abc"), IsOkAndHolds(false));
  const auto in = transfers_.Put(7, Stream());
  ASSERT_TRUE(older->ended.has_value());
  EXPECT_THAT(*older->ended, StatusIs(Code::kAborted, HasSubstr("transfer 7")));
  EXPECT_THAT(Write(**old, 3, "xyz"), StatusIs(Code::kAborted));
  EXPECT_THAT(Write(**in, 3, "defgh"), IsOkAndHolds(true));
  EXPECT_EQ(Got(), "abcdefgh");
}

struct BadChunk {
  uint64_t offset;
  std::string bytes;
  std::string message;
};

TEST_F(TransfersTest, GapsOverlapsAndOverrunsEndTheTransfer) {
  const BadChunk chunks[] = {
      {4, "e", "at offset 4 leaves a gap: the next byte is 3 of 8"},
      {2, "c", "at offset 2 goes back: the next byte is 3 of 8"},
      {3, "defghi", "6 bytes at offset 3 is too long: the next byte is 3 of 8"},
      {UINT64_MAX, "x", "leaves a gap"},
  };
  uint64_t id = 0;
  for (const BadChunk& bad : chunks) {
    done_.reset();
    ASSERT_THAT(Receive(++id), IsOk());
    const auto stream = Stream();
    const auto in = transfers_.Put(id, stream);
    EXPECT_THAT(Write(**in, 0, "abc"), IsOkAndHolds(false));
    EXPECT_THAT(Write(**in, bad.offset, bad.bytes),
                StatusIs(Code::kInvalidArgument, HasSubstr(bad.message)));
    ASSERT_TRUE(done_.has_value());
    EXPECT_THAT(*done_, StatusIs(Code::kInvalidArgument, HasSubstr(bad.message)));
    EXPECT_FALSE(stream->ended.has_value());
    EXPECT_EQ(Got(), std::string("abc\0\0\0\0\0", 8));
  }
}

TEST_F(TransfersTest, TheFirstChunkLeavesNoGap) {
  ASSERT_THAT(Receive(7), IsOk());
  const auto in = transfers_.Put(7, Stream());
  EXPECT_THAT(Write(**in, 1, "b"), StatusIs(Code::kInvalidArgument));
}

// ** out **

TEST_F(TransfersTest, SentWhenNobodyHoldsALease) {
  ASSERT_THAT(Send(7), IsOk());
  const auto stream = Stream();
  auto out = *transfers_.Get(7, stream);
  EXPECT_EQ(stream->num_ready, 1);
  EXPECT_EQ(out->bytes().data(), from_.data());
  EXPECT_EQ(out->bytes().size(), 8);
  std::shared_ptr<const void> slice = out->lease();
  out->Complete();
  EXPECT_FALSE(done_.has_value());
  out.reset();
  EXPECT_FALSE(done_.has_value());
  slice.reset();
  ASSERT_TRUE(done_.has_value());
  EXPECT_THAT(*done_, IsOk());
  EXPECT_EQ(transfers_.size(), 0);
  EXPECT_EQ(keep_.use_count(), 1);
}

TEST_F(TransfersTest, WithoutCompleteAnotherStreamMayFetch) {
  ASSERT_THAT(Send(7), IsOk());
  {
    const auto broken = *transfers_.Get(7, Stream());
  }
  EXPECT_FALSE(done_.has_value());
  const auto out = *transfers_.Get(7, Stream());
  out->Complete();
  EXPECT_THAT(*done_, IsOk());
}

TEST_F(TransfersTest, ALeaseOutlivesATransferThatFails) {
  ASSERT_THAT(Send(7), IsOk());
  const auto stream = Stream();
  auto out = *transfers_.Get(7, stream);
  std::shared_ptr<const void> slice = out->lease();
  transfers_.Stop(absl::CancelledError("stop"));
  EXPECT_THAT(*done_, StatusIs(Code::kCancelled));
  EXPECT_THAT(*stream->ended, StatusIs(Code::kCancelled));
  EXPECT_GT(keep_.use_count(), 1);
  out->Complete();
  out.reset();
  EXPECT_GT(keep_.use_count(), 1);
  slice.reset();
  EXPECT_EQ(keep_.use_count(), 1);
}

// ** who fits whom **

TEST_F(TransfersTest, DirectionsDoNotMix) {
  ASSERT_THAT(Receive(1), IsOk());
  EXPECT_THAT(
      transfers_.Get(1, Stream()).status(),
      StatusIs(Code::kInvalidArgument, HasSubstr("transfer 1 is of a CopyIn: it takes PutData")));
  const auto get = transfers_.Get(2, Stream());
  EXPECT_THAT(Receive(2), StatusIs(Code::kInvalidArgument, HasSubstr("GetData that waits")));
}

TEST_F(TransfersTest, IdsInUse) {
  ASSERT_THAT(Receive(1), IsOk());
  EXPECT_THAT(transfers_.Receive(1, {}, nullptr, [](const absl::Status&) { FAIL(); }),
              StatusIs(Code::kAlreadyExists, HasSubstr("transfer 1")));
  EXPECT_THAT(Receive(0), StatusIs(Code::kInvalidArgument));
  EXPECT_THAT(transfers_.Put(0, Stream()).status(), StatusIs(Code::kInvalidArgument));
}

TEST_F(TransfersTest, LimitCountsBothSides) {
  ASSERT_THAT(Receive(1), IsOk());
  const auto waits = transfers_.Put(2, Stream());
  transfers_.Expect(3);
  EXPECT_THAT(transfers_.Put(4, Stream()).status(),
              StatusIs(Code::kResourceExhausted, HasSubstr("max_transfers, 3")));
  EXPECT_THAT(transfers_.Send(4, {}, nullptr, [](const absl::Status&) { FAIL(); }),
              StatusIs(Code::kResourceExhausted));
  EXPECT_THAT(transfers_.Send(3, {}, nullptr, [](const absl::Status&) {}), IsOk());
}

// ** ends **

TEST_F(TransfersTest, AStreamWithoutACommandTimesOut) {
  const auto stream = Stream();
  const auto in = transfers_.Put(7, stream);
  Pass(absl::Seconds(10));
  EXPECT_FALSE(stream->ended.has_value());
  Pass(absl::Seconds(1));
  ASSERT_TRUE(stream->ended.has_value());
  EXPECT_THAT(*stream->ended, StatusIs(Code::kDeadlineExceeded, HasSubstr("no CopyIn")));
  EXPECT_EQ(transfers_.size(), 0);
}

TEST_F(TransfersTest, AnExpectedCommandIsWaitedFor) {
  transfers_.Expect(7);
  const auto stream = Stream();
  const auto in = transfers_.Put(7, stream);
  Pass(absl::Hours(1));
  EXPECT_FALSE(stream->ended.has_value());
  ASSERT_THAT(Receive(7), IsOk());
  EXPECT_EQ(stream->num_ready, 1);
}

TEST_F(TransfersTest, ACommandThatFailsTellsItsStream) {
  transfers_.Expect(7);
  const auto stream = Stream();
  const auto in = transfers_.Put(7, stream);
  transfers_.Fail(7, absl::NotFoundError("no buffer 3"));
  EXPECT_THAT(*stream->ended, StatusIs(Code::kNotFound, HasSubstr("no buffer 3")));
  EXPECT_THAT(Write(**in, 0, "a"), StatusIs(Code::kNotFound));
  EXPECT_EQ(transfers_.size(), 0);
}

TEST_F(TransfersTest, FailLeavesTransfersOfOthersAlone) {
  ASSERT_THAT(Receive(7), IsOk());
  transfers_.Fail(7, absl::NotFoundError("another command of this id"));
  EXPECT_FALSE(done_.has_value());
}

TEST_F(TransfersTest, ATransferThatStandsStillTimesOut) {
  ASSERT_THAT(Receive(7), IsOk());
  const auto stream = Stream();
  const auto in = transfers_.Put(7, stream);
  Pass(absl::Seconds(9));
  EXPECT_THAT(Write(**in, 0, "ab"), IsOkAndHolds(false));
  Pass(absl::Seconds(9));
  EXPECT_THAT(Write(**in, 2, ""), IsOkAndHolds(false));  // No progress.
  EXPECT_FALSE(done_.has_value());
  Pass(absl::Seconds(2));
  ASSERT_TRUE(done_.has_value());
  EXPECT_THAT(*done_, StatusIs(Code::kDeadlineExceeded, HasSubstr("after 2 of 8 bytes")));
  EXPECT_THAT(*stream->ended, StatusIs(Code::kDeadlineExceeded));
}

TEST_F(TransfersTest, AFetchThatStandsStillTimesOut) {
  ASSERT_THAT(Send(7), IsOk());
  const auto out = *transfers_.Get(7, Stream());
  Pass(absl::Seconds(9));
  out->Progress();
  Pass(absl::Seconds(9));
  EXPECT_FALSE(done_.has_value());
  Pass(absl::Seconds(2));
  EXPECT_THAT(*done_, StatusIs(Code::kDeadlineExceeded, HasSubstr("GetData")));
}

TEST_F(TransfersTest, StopEndsOnlyWhatHasBegun) {
  ASSERT_THAT(Receive(1), IsOk());
  const auto waiting = Stream();
  const auto in = transfers_.Put(2, waiting);
  transfers_.Stop(absl::CancelledError("stop"));
  EXPECT_THAT(*done_, StatusIs(Code::kCancelled));
  EXPECT_FALSE(waiting->ended.has_value());
  done_.reset();
  EXPECT_THAT(Receive(2), IsOk());
}

TEST_F(TransfersTest, CancelIsForEver) {
  ASSERT_THAT(Receive(1), IsOk());
  const auto waiting = Stream();
  const auto in = transfers_.Put(2, waiting);
  transfers_.Cancel(absl::UnavailableError("drains"));
  EXPECT_THAT(*done_, StatusIs(Code::kUnavailable));
  EXPECT_THAT(*waiting->ended, StatusIs(Code::kUnavailable));
  EXPECT_THAT(Receive(3), StatusIs(Code::kUnavailable));
  EXPECT_THAT(transfers_.Put(3, Stream()).status(), StatusIs(Code::kUnavailable));
}

TEST_F(TransfersTest, StreamsMayOutliveTheTransfers) {
  auto transfers = std::make_unique<Transfers>(Transfers::Options{});
  const auto stream = Stream();
  auto in = *transfers->Put(7, stream);
  transfers.reset();
  EXPECT_THAT(*stream->ended, StatusIs(Code::kCancelled));
  EXPECT_THAT(Write(*in, 0, "a"), StatusIs(Code::kCancelled));
}

// Writers, streams that take over, stalls and cancellation at once: each command is told once, and
// nothing is written after that.
TEST(TransfersStress, EachCommandEndsOnce) {
  constexpr size_t kSize = 1 << 16;
  const std::vector<std::byte> chunk(1 << 12, std::byte{1});
  for (int round = 0; round < 200; ++round) {
    Transfers transfers(
        {.max_transfers = 64, .timeout = absl::Microseconds(round % 3 == 0 ? 50 : 1'000'000)});
    std::vector<std::byte> to(kSize);
    std::atomic<int> num_done = 0;
    std::atomic<bool> is_over = false;
    ASSERT_THAT(transfers.Receive(1, absl::MakeSpan(to), nullptr,
                                  [&](const absl::Status& status) {
                                    ++num_done;
                                    // Whoever is told may use the memory.
                                    if (!status.ok()) std::fill(to.begin(), to.end(), std::byte{2});
                                    is_over = true;
                                  }),
                IsOk());
    const auto write = [&] {
      for (int attempt = 0; attempt < 4 && !is_over; ++attempt) {
        const auto in = transfers.Put(1, std::make_shared<FakeStream>());
        if (!in.ok()) return;
        uint64_t at = (*in)->received();
        while (true) {
          const auto wrote = (*in)->Write(at, {chunk});
          if (!wrote.ok() || *wrote) break;
          at += chunk.size();
        }
      }
    };
    std::thread a(write), b(write);
    std::thread c([&] {
      transfers.Expire();
      if (round % 2 == 0) transfers.Stop(absl::CancelledError("stop"));
    });
    a.join();
    b.join();
    c.join();
    transfers.Cancel(absl::CancelledError("end"));
    EXPECT_EQ(num_done, 1);
    EXPECT_TRUE(std::all_of(to.begin(), to.end(), [&](std::byte x) { return x == to[0]; }));
  }
}

}  // namespace
}  // namespace kiln::server
