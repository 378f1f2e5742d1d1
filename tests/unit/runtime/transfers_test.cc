// Copies as work of streams, transfers by the host, and what happens to what has failed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/null/null.h"
#include "tests/unit/runtime/streams_testing.h"

namespace kiln::runtime {
namespace {

using support::IsOkAndHolds;
using support::StatusIs;
using testing::ElementsAre;
using testing::HasSubstr;

class TransfersTest : public StreamsTest {
 protected:
  absl::StatusOr<std::vector<float>> Out(const std::shared_ptr<Buffer>& from, int64_t offset,
                                         int64_t bytes) {
    absl::StatusOr<CopyOutResult> out = engine_->CopyOut(*stream_, from, offset, bytes);
    if (!out.ok()) return out.status();
    const absl::Status status = Await(out->done);
    if (!status.ok()) return status;
    std::vector<float> values(static_cast<size_t>(bytes) / sizeof(float));
    if (bytes > 0) std::memcpy(values.data(), out->data().data(), out->data().size());
    return values;
  }
  // A buffer whose contents should have been made by a kernel that fails.
  std::shared_ptr<Buffer> Poisoned() {
    device().SetOnRun([](const Executable&, absl::Span<const BufferSlice>) {
      return absl::InternalError("broken");
    });
    const RunResult failed = Run(*stream_, AddGraph(1), Floats({1, 2, 3, 4}));
    EXPECT_FALSE(failed.Await().ok());
    device().SetOnRun(nullptr);
    return failed.outputs[0].buffer;
  }

  const std::shared_ptr<Stream> stream_ = engine_->NewStream();
};

TEST_F(TransfersTest, BytesGoInAndOutInOrder) {
  const auto x = Floats({1, 2, 3, 4});
  const auto bytes = std::make_shared<std::vector<float>>(2, 9.f);
  KILN_ASSERT_OK_AND_ASSIGN(const CopyOutResult before, engine_->CopyOut(*stream_, x, 0, 16));
  KILN_ASSERT_OK(engine_->CopyIn(*stream_, x, 8, Bytes(bytes)));
  EXPECT_THAT(Out(x, 4, 8), IsOkAndHolds(ElementsAre(2, 9)));
  EXPECT_EQ(bytes.use_count(), 1);
  EXPECT_EQ(reinterpret_cast<const float*>(before.data().data())[2], 3);
}

TEST_F(TransfersTest, BuffersAreKeptUntilTheCopyIsDone) {
  auto x = Floats({1, 2, 3, 4});
  KILN_ASSERT_OK_AND_ASSIGN(HostWrite upload, engine_->BeginHostWrite(x, 0, 16));
  KILN_ASSERT_OK_AND_ASSIGN(const CopyOutResult out, engine_->CopyOut(*stream_, x, 0, 16));
  const std::weak_ptr<Buffer> watch = x;
  x = nullptr;
  std::memset(upload.memory().data(), 0, 16);
  EXPECT_FALSE(watch.expired());
  upload.End(absl::OkStatus());
  KILN_EXPECT_OK(Await(out.done));
  EXPECT_TRUE(watch.expired());
}

TEST_F(TransfersTest, RangesAreChecked) {
  const auto x = Floats({1, 2, 3, 4});
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(CopyIn(*stream_, x, {1, 2}, 12), StatusIs(kInvalid, HasSubstr("offset 12")));
  EXPECT_THAT(engine_->CopyOut(*stream_, x, -1, 4), StatusIs(kInvalid));
  EXPECT_THAT(engine_->CopyOut(*stream_, x, 0, 17), StatusIs(kInvalid));
  EXPECT_THAT(engine_->CopyOut(*stream_, x, 8, int64_t{1} << 62), StatusIs(kInvalid));
  EXPECT_THAT(engine_->BeginHostWrite(x, 8, 9), StatusIs(kInvalid));
  EXPECT_THAT(engine_->BeginHostRead(x, 17, 0), StatusIs(kInvalid));
  EXPECT_THAT(engine_->Copy(*stream_, {x, 4}, {x, 0}, 8), StatusIs(kInvalid, HasSubstr("overlap")));
  KILN_EXPECT_OK(CopyIn(*stream_, x, {}, 16));
  EXPECT_THAT(Out(x, 16, 0), IsOkAndHolds(ElementsAre()));
}

TEST_F(TransfersTest, BuffersAreCopiedWithinADeviceAndBetweenThem) {
  KILN_ASSERT_OK(null::RegisterNullBackend(registry_));
  const auto x = Floats({1, 2, 3, 4});
  const auto y = Floats({0, 0, 0, 0}, "fake:1"), far = Floats({0, 0, 0, 0}, "null:0");
  KILN_ASSERT_OK(engine_->Copy(*stream_, {x, 8}, {x, 0}, 8));
  KILN_ASSERT_OK(engine_->Copy(*stream_, {y, 4}, {x, 0}, 12));
  EXPECT_THAT(Out(y, 0, 16), IsOkAndHolds(ElementsAre(0, 1, 2, 1)));
  KILN_ASSERT_OK(engine_->Copy(*stream_, {far}, {y}, 16));
  KILN_ASSERT_OK(engine_->Copy(*stream_, {x, 4}, {far, 4}, 8));
  EXPECT_THAT(Out(x, 0, 16), IsOkAndHolds(ElementsAre(1, 1, 2, 2)));
}

// ** failures **

TEST_F(TransfersTest, WhatReadsFailedMemoryFailsWithTheFirstError) {
  const auto poisoned = Poisoned(), y = Floats({1, 2, 3, 4});
  EXPECT_THAT(Out(poisoned, 0, 4), StatusIs(absl::StatusCode::kInternal, HasSubstr("broken")));
  KILN_ASSERT_OK(engine_->Copy(*stream_, {y}, {poisoned}, 16));
  EXPECT_THAT(Out(y, 0, 16), StatusIs(absl::StatusCode::kInternal, HasSubstr("broken")));
}

TEST_F(TransfersTest, OverwritingAllHealsAndAPartDoesNot) {
  const auto x = Poisoned();
  KILN_ASSERT_OK_AND_ASSIGN(const Dependency part, CopyIn(*stream_, x, {1, 2}));
  KILN_EXPECT_OK(Await(part));
  EXPECT_THAT(Out(x, 0, 4), StatusIs(absl::StatusCode::kInternal, HasSubstr("broken")));
  KILN_ASSERT_OK(CopyIn(*stream_, x, {5, 6, 7, 8}));
  EXPECT_THAT(Out(x, 0, 16), IsOkAndHolds(ElementsAre(5, 6, 7, 8)));
  KILN_ASSERT_OK(CopyIn(*stream_, x, {1}, 4));
  EXPECT_THAT(Out(x, 0, 16), IsOkAndHolds(ElementsAre(5, 1, 7, 8)));
}

TEST_F(TransfersTest, OutputsInAPartOfFailedMemoryGoWellAndHealNothing) {
  const auto big = Floats(std::vector<float>(32, 0)), x = Floats({1, 2, 3, 4});
  KILN_ASSERT_OK(engine_->Copy(*stream_, {big}, {Poisoned()}, 16));
  const std::vector<Binding> inputs = {{0, x}}, outputs = {{0, big, 64}};
  KILN_ASSERT_OK_AND_ASSIGN(
      const RunResult result,
      engine_->Run(AddGraph(1), {.inputs = inputs, .variables = {}, .outputs = outputs}));
  KILN_EXPECT_OK(result.Await());
  EXPECT_THAT(Out(big, 64, 4), StatusIs(absl::StatusCode::kInternal));
}

TEST_F(TransfersTest, ManyPendingWritesOfPartsAreBounded) {
  const auto x = Floats(std::vector<float>(1000, 0));
  KILN_ASSERT_OK_AND_ASSIGN(HostWrite upload, engine_->BeginHostWrite(x, 0, 4000));
  for (int i = 0; i < 1000; ++i) {
    KILN_ASSERT_OK(CopyIn(*stream_, x, {static_cast<float>(i)}, 4 * i));
  }
  std::vector<Dependency> before;
  x->hazards().AppendBeforeRead(before);
  EXPECT_LT(before.size(), 40);
  std::memset(upload.memory().data(), 0, 4000);
  upload.End(absl::OkStatus());
  EXPECT_THAT(Out(x, 4 * 700, 4), IsOkAndHolds(ElementsAre(700)));
}

// ** transfers by the host **

TEST_F(TransfersTest, ReadersWaitForAHostWrite) {
  const auto x = Floats({1, 2, 3, 4});
  KILN_ASSERT_OK_AND_ASSIGN(HostWrite upload, engine_->BeginHostWrite(x, 4, 8));
  EXPECT_TRUE(upload.before().empty());
  KILN_ASSERT_OK_AND_ASSIGN(const CopyOutResult out, engine_->CopyOut(*stream_, x, 0, 16));
  EXPECT_FALSE(out.done.point.passed());
  const float values[] = {8, 9};
  ASSERT_EQ(upload.memory().size(), 8);
  std::memcpy(upload.memory().data(), values, 8);
  upload.End(absl::OkStatus());
  EXPECT_TRUE(upload.is_over());
  KILN_EXPECT_OK(Await(out.done));
  EXPECT_THAT(Out(x, 0, 16), IsOkAndHolds(ElementsAre(1, 8, 9, 4)));
}

TEST_F(TransfersTest, AHostWriteWaitsForReaders) {
  const auto x = Floats({1, 2, 3, 4});
  HostTimeline gate;
  HoldKernels(gate);
  const RunResult reading = Run(*stream_, AddGraph(1), x);
  AwaitKernel(1);
  KILN_ASSERT_OK_AND_ASSIGN(HostWrite upload, engine_->BeginHostWrite(x, 0, 16));
  HostTimeline may_begin;
  WhenPassed(upload.before(), [&](const absl::Status&) { may_begin.Signal(1); });
  EXPECT_EQ(may_begin.value(), 0);
  gate.Signal(1);
  KILN_EXPECT_OK(may_begin.Wait(1));
  EXPECT_TRUE(reading.done[0].point.passed());
  upload.End(absl::OkStatus());
}

TEST_F(TransfersTest, AHostWriteThatFailsPoisonsAndOneGivenUpToo) {
  const auto x = Floats({1, 2, 3, 4}), y = Floats({1, 2, 3, 4});
  {
    KILN_ASSERT_OK_AND_ASSIGN(HostWrite upload, engine_->BeginHostWrite(x, 0, 16));
    KILN_ASSERT_OK_AND_ASSIGN(HostWrite given_up, engine_->BeginHostWrite(y, 0, 16));
    upload.End(absl::DataLossError("cut off"));
  }
  EXPECT_THAT(Run(*stream_, AddGraph(1), x).Await(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("cut off")));
  EXPECT_THAT(Out(y, 0, 16), StatusIs(absl::StatusCode::kCancelled));
  KILN_ASSERT_OK_AND_ASSIGN(HostWrite again, engine_->BeginHostWrite(x, 0, 16));
  std::memset(again.memory().data(), 0, 16);
  again.End(absl::OkStatus());
  EXPECT_THAT(Out(x, 0, 16), IsOkAndHolds(ElementsAre(0, 0, 0, 0)));
}

TEST_F(TransfersTest, OverwritingWaitsForAHostRead) {
  const auto x = Floats({1, 2, 3, 4});
  KILN_ASSERT_OK_AND_ASSIGN(HostRead download, engine_->BeginHostRead(x, 0, 16));
  EXPECT_TRUE(download.before().empty());
  EXPECT_THAT(Out(x, 0, 4), IsOkAndHolds(ElementsAre(1)));  // Other readers don't wait.
  KILN_ASSERT_OK_AND_ASSIGN(const Dependency written, CopyIn(*stream_, x, {5, 6, 7, 8}));
  EXPECT_FALSE(written.point.passed());
  EXPECT_EQ(reinterpret_cast<const float*>(download.memory().data())[0], 1);
  download.End(absl::OkStatus());
  KILN_EXPECT_OK(Await(written));
}

TEST_F(TransfersTest, AHostReadTellsWhatHasFailed) {
  KILN_ASSERT_OK_AND_ASSIGN(HostRead download, engine_->BeginHostRead(Poisoned(), 0, 16));
  absl::Status seen;
  WhenPassed(download.before(), [&](const absl::Status& status) { seen = status; });
  EXPECT_THAT(seen, StatusIs(absl::StatusCode::kInternal, HasSubstr("broken")));
}

TEST_F(TransfersTest, PointsOfTheHostAreUsedAgain) {
  const auto x = Floats({1, 2, 3, 4});
  Timeline* timeline = nullptr;
  for (int i = 0; i < 10; ++i) {
    KILN_ASSERT_OK_AND_ASSIGN(HostWrite upload, engine_->BeginHostWrite(x, 0, 16));
    if (i > 0) {
      EXPECT_EQ(upload.done().point.timeline, timeline);
    }
    timeline = upload.done().point.timeline;
    upload.End(absl::OkStatus());
  }
}

}  // namespace
}  // namespace kiln::runtime
