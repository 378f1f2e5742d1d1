// What a session has comes back when its client is gone, and the client says so when its session is.
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include "client/cpp/session.h"
#include "kiln/v1/admin.grpc.pb.h"
#include "tests/wire/support/kilnd_process.h"
#include "tests/wire/support/proxy.h"

namespace kiln::wire {
namespace {

constexpr absl::Duration kLease = absl::Seconds(2);

class Lease : public ::testing::Test {
 protected:
  void SetUp() override {
    auto started = Kilnd::Start({.tcp = true});
    ASSERT_TRUE(started.ok()) << started.status();
    kilnd_ = *std::move(started);
    admin_ = v1::Admin::NewStub(
        grpc::CreateChannel(kilnd_->address(), grpc::InsecureChannelCredentials()));
  }

  uint64_t UsedBytes() {
    grpc::ClientContext context;
    v1::Stats stats;
    EXPECT_TRUE(admin_->GetStats(&context, {}, &stats).ok());
    uint64_t used = 0;
    for (const v1::DeviceStats& device : stats.devices()) used += device.used_bytes();
    return used;
  }
  int NumSessions() {
    grpc::ClientContext context;
    v1::ListSessionsResponse sessions;
    EXPECT_TRUE(admin_->ListSessions(&context, {}, &sessions).ok());
    return sessions.sessions_size();
  }
  // Until there is no session; at most `most`.
  absl::Duration TimeUntilNone(absl::Duration most) {
    const absl::Time start = absl::Now();
    while (NumSessions() > 0 && absl::Now() - start < most) absl::SleepFor(absl::Milliseconds(50));
    return absl::Now() - start;
  }
  // A client in a process of its own that has 64 MiB, a graph and a lease of kLease.
  std::unique_ptr<ChildProcess> StartHolder(const std::string& address) {
    auto holder = ChildProcess::Start({WIRE_HOLDER_PATH, address});
    EXPECT_TRUE(holder.ok()) << holder.status();
    EXPECT_EQ((*holder)->ReadLine(), "ready");
    return *std::move(holder);
  }

  std::unique_ptr<Kilnd> kilnd_;
  std::unique_ptr<v1::Admin::Stub> admin_;
};

TEST_F(Lease, AKilledClientIsReclaimed) {
  const uint64_t before = UsedBytes();
  const auto holder = StartHolder(kilnd_->address());
  EXPECT_GE(UsedBytes(), before + (uint64_t{64} << 20));
  EXPECT_EQ(NumSessions(), 1);
  holder->Signal(SIGKILL);
  EXPECT_LT(TimeUntilNone(kLease * 3), kLease + absl::Seconds(1));
  EXPECT_EQ(UsedBytes(), before);
}

TEST_F(Lease, AStoppedClientIsReclaimedAndTold) {
  const uint64_t before = UsedBytes();
  const auto holder = StartHolder(kilnd_->address());
  holder->Signal(SIGSTOP);
  EXPECT_LT(TimeUntilNone(kLease * 3), kLease + absl::Seconds(1));
  EXPECT_EQ(UsedBytes(), before);
  holder->Signal(SIGCONT);
  EXPECT_EQ(holder->ReadLine(), "NOT_FOUND");
}

TEST_F(Lease, AClientThatIsCutOffIsReclaimedAndTold) {
  const auto proxy = Proxy::Start(kilnd_->address());
  ASSERT_TRUE(proxy.ok()) << proxy.status();
  const uint64_t before = UsedBytes();
  const auto holder = StartHolder((*proxy)->address());
  (*proxy)->SetStalled(true);
  EXPECT_LT(TimeUntilNone(kLease * 3), kLease + absl::Seconds(1));
  EXPECT_EQ(UsedBytes(), before);
  (*proxy)->SetStalled(false);
  const std::string told = holder->ReadLine();
  EXPECT_TRUE(told == "NOT_FOUND" || told == "UNAVAILABLE") << told;
}

TEST_F(Lease, ASilentClientKeepsItsSession) {
  auto session = Session::Connect(kilnd_->address(), {.lease = kLease});
  ASSERT_TRUE(session.ok()) << session.status();
  const Buffer buffer = session->Alloc(1 << 20);
  ASSERT_TRUE(buffer.made().Get().ok());
  absl::SleepFor(kLease * 2.5);
  EXPECT_TRUE(session->Sync().Get().ok()) << session->status();
}

TEST_F(Lease, ADeadConnectionIsReplaced) {
  const auto proxy = Proxy::Start(kilnd_->address());
  ASSERT_TRUE(proxy.ok()) << proxy.status();
  auto session = Session::Connect((*proxy)->address(), {.lease = absl::Seconds(6)});
  ASSERT_TRUE(session.ok()) << session.status();
  ASSERT_TRUE(session->Sync().Get().ok());
  (*proxy)->CutAfter(1);  // With the next byte.
  EXPECT_TRUE(session->Sync().Get().ok()) << session->status();
}

TEST_F(Lease, WhenTheServerIsGoneEverythingFails) {
  auto session = Session::Connect(kilnd_->address(),
                                  {.lease = kLease, .give_up_after = absl::Milliseconds(500)});
  ASSERT_TRUE(session.ok()) << session.status();
  ASSERT_TRUE(session->Sync().Get().ok());
  kilnd_->process().Signal(SIGKILL);
  const absl::Status status = session->Sync().Get();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  EXPECT_EQ(session->Alloc(4).made().Get().code(), absl::StatusCode::kUnavailable);
}

TEST_F(Lease, ClosingGivesEverythingBackAtOnce) {
  const uint64_t before = UsedBytes();
  {
    auto session = Session::Connect(kilnd_->address());
    ASSERT_TRUE(session.ok()) << session.status();
    const Buffer buffer = session->Alloc(1 << 20);
    ASSERT_TRUE(buffer.made().Get().ok());
    EXPECT_TRUE(session->Close().ok());
    EXPECT_FALSE(session->Sync().Get().ok());
  }
  EXPECT_LT(TimeUntilNone(absl::Seconds(5)), absl::Seconds(1));
  EXPECT_EQ(UsedBytes(), before);
}

}  // namespace
}  // namespace kiln::wire
