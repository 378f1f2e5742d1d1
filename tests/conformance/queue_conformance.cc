// Command lists, timelines, copies, memory, errors.
#include <thread>

#include "tests/conformance/conformance.h"

namespace kiln::conformance {
namespace {

using runtime::Buffer;
using runtime::BufferSlice;
using runtime::CommandList;
using runtime::Executable;
using runtime::Outcome;
using runtime::Point;
using runtime::Queue;
using runtime::QueueKind;
using support::StatusIs;
using ::testing::HasSubstr;

class QueueConformance : public ConformanceTest {
 protected:
  Queue& queue() { return device().queue(QueueKind::kCompute); }
  static BufferSlice All(const std::unique_ptr<Buffer>& b) { return {b.get(), 0, b->bytes()}; }
  // x[0] = x[0] * 2 + n, on int32: the order of several shows.
  static codegen::Program Step(ProgramBuilder& b) {
    Ref x = b.Buffer(DType::kInt32, 1);
    Ref n = b.Variable("n", 0, 1000);
    b.Store(x, b.Int(0), b.Add(b.Mul(b.Load(x, b.Int(0)), 2), n));
    return b.Finish();
  }
  // The same with n = 1, and no variable.
  static codegen::Program FixedStep(ProgramBuilder& b) {
    Ref x = b.Buffer(DType::kInt32, 1);
    b.Store(x, b.Int(0), b.Add(b.Mul(b.Load(x, b.Int(0)), 2), 1));
    return b.Finish();
  }
  static int32_t First(const Bytes& bytes) { return IntsOf(bytes)[0]; }
};

// Without kernels: what the null device does too.
class CopyConformance : public QueueConformance {};

TEST_F(QueueConformance, CommandsRunInOrder) {
  ProgramBuilder b("step");
  KILN_ASSERT_OK_AND_ASSIGN(auto kernel, Build(Step(b)));
  auto x = Upload(ToBytes(std::vector<int32_t>{1}));
  auto y = Upload(ToBytes(std::vector<int32_t>{0}));
  auto list = std::make_shared<CommandList>();
  list->Exec(*kernel, {All(x)}, {3});
  list->Exec(*kernel, {All(x)}, {5});
  list->Copy(All(y), All(x));
  list->Exec(*kernel, {All(x)}, {7});
  KILN_ASSERT_OK(RunList(list));
  EXPECT_EQ(First(Download(*x)), ((1 * 2 + 3) * 2 + 5) * 2 + 7);
  EXPECT_EQ(First(Download(*y)), (1 * 2 + 3) * 2 + 5);
}

TEST_F(QueueConformance, ListsRunInOrderAndMayBePatchedAndRunAgain) {
  ProgramBuilder b("step");
  KILN_ASSERT_OK_AND_ASSIGN(auto kernel, Build(Step(b)));
  auto x = Upload(ToBytes(std::vector<int32_t>{0}));
  auto y = Upload(ToBytes(std::vector<int32_t>{0}));
  int32_t expected = 0;
  Point last;
  for (int i = 0; i < 20; ++i) {
    auto list = std::make_shared<CommandList>();
    list->Exec(*kernel, {All(x)}, {i});
    last = queue().Submit({}, list, nullptr);
    expected = static_cast<int32_t>(static_cast<uint32_t>(expected) * 2 + static_cast<uint32_t>(i));
  }
  KILN_ASSERT_OK(runtime::Await({last, nullptr}));
  EXPECT_EQ(First(Download(*x)), expected);
  auto list = std::make_shared<CommandList>();
  const runtime::ExecCommand exec = list->Exec(*kernel, {All(x)}, {1});
  KILN_ASSERT_OK(RunList(list));
  list->SetBuffer(exec.first_buffer, All(y));
  list->SetVariable(exec.first_variable, 42);
  KILN_ASSERT_OK(RunList(list));
  EXPECT_EQ(First(Download(*y)), 42);
}

TEST_F(QueueConformance, KernelsSeePartsOfBuffers) {
  ProgramBuilder b("step");
  KILN_ASSERT_OK_AND_ASSIGN(auto kernel, Build(Step(b)));
  const int64_t offset = device().memory().Limits().alignment;
  auto x = Upload(Bytes(static_cast<size_t>(offset) * 2));
  auto list = std::make_shared<CommandList>();
  list->Exec(*kernel, {BufferSlice{x.get(), offset, 4}}, {9});
  KILN_ASSERT_OK(RunList(list));
  const std::vector<int32_t> got = IntsOf(Download(*x));
  EXPECT_EQ(got[0], 0);
  EXPECT_EQ(got[static_cast<size_t>(offset / 4)], 9);
}

TEST_F(QueueConformance, ErrorsNameTheKernelAndStopTheList) {
  ProgramBuilder b("step"), c("fixed");
  KILN_ASSERT_OK_AND_ASSIGN(auto fixed, Build(FixedStep(c)));
  KILN_ASSERT_OK_AND_ASSIGN(auto kernel, Build(Step(b)));
  auto x = Upload(ToBytes(std::vector<int32_t>{1}));
  auto list = std::make_shared<CommandList>();
  list->Exec(*kernel, {All(x)}, {1});
  list->Exec(*fixed, {BufferSlice{x.get(), 0, 2}}, {});  // Too small.
  list->Exec(*kernel, {All(x)}, {1});
  EXPECT_THAT(RunList(list), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("fixed")));
  EXPECT_EQ(First(Download(*x)), 3);
  auto outside = std::make_shared<CommandList>();
  outside->Exec(*kernel, {All(x)}, {1001});
  EXPECT_THAT(RunList(outside), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("1001")));
  // The queue goes on.
  auto fine = std::make_shared<CommandList>();
  fine->Exec(*kernel, {All(x)}, {0});
  KILN_EXPECT_OK(RunList(fine));
  EXPECT_EQ(First(Download(*x)), 6);
}

TEST_F(QueueConformance, FailuresPoisonWhatDependsOnThem) {
  ProgramBuilder b("step"), c("fixed");
  KILN_ASSERT_OK_AND_ASSIGN(auto fixed, Build(FixedStep(c)));
  KILN_ASSERT_OK_AND_ASSIGN(auto kernel, Build(Step(b)));
  auto x = Upload(ToBytes(std::vector<int32_t>{1}));
  auto bad = std::make_shared<CommandList>();
  bad->Exec(*fixed, {BufferSlice{x.get(), 0, 2}}, {});
  auto failure = std::make_shared<Outcome>(), next = std::make_shared<Outcome>();
  const Point failed = queue().Submit({}, bad, failure);
  auto list = std::make_shared<CommandList>();
  list->Exec(*kernel, {All(x)}, {1});
  const Point done = queue().Submit({{failed, failure}}, list, next);
  EXPECT_THAT(runtime::Await({done, next}), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_EQ(First(Download(*x)), 1);
  auto again = std::make_shared<CommandList>();
  again->Exec(*kernel, {All(x)}, {1});
  // Only the order matters here.
  KILN_EXPECT_OK(runtime::Await({queue().Submit({{failed, nullptr}}, again, next), next}));
  EXPECT_EQ(First(Download(*x)), 3);
}

TEST_F(QueueConformance, ObjectsLoadInAnyNumberAndOrder) {
  ProgramBuilder b("step");
  const codegen::Program program = Step(b);
  KILN_ASSERT_OK_AND_ASSIGN(const std::string object, device().Compile(program));
  std::vector<std::shared_ptr<const Executable>> kernels;
  for (int i = 0; i < 50; ++i) {
    KILN_ASSERT_OK_AND_ASSIGN(auto kernel, device().Load(object, runtime::SignatureOf(program)));
    kernels.push_back(kernel);
    if (i % 3 == 0) kernels[static_cast<size_t>(i / 2)] = nullptr;
  }
  auto x = Upload(ToBytes(std::vector<int32_t>{1}));
  auto list = std::make_shared<CommandList>();
  for (const auto& kernel : kernels) {
    if (kernel != nullptr) list->Exec(*kernel, {All(x)}, {0});
  }
  KILN_ASSERT_OK(RunList(list));
}

TEST_F(QueueConformance, CompilingIsDeterministicOnAnyThread) {
  std::vector<std::string> objects(8);
  std::vector<std::thread> threads;
  for (std::string& object : objects) {
    threads.emplace_back([this, &object] {
      for (int i = 0; i < 4; ++i) {
        ProgramBuilder b("step");
        auto compiled = device().Compile(Step(b));
        KILN_EXPECT_OK(compiled);
        object = *compiled;
        ProgramBuilder again("step");
        KILN_EXPECT_OK(device().Load(object, runtime::SignatureOf(Step(again))));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& object : objects) EXPECT_EQ(object, objects[0]);
}

TEST_F(QueueConformance, WhatIsNoObjectIsDataLoss) {
  ProgramBuilder b("step");
  const codegen::Program program = Step(b);
  KILN_ASSERT_OK_AND_ASSIGN(const std::string object, device().Compile(program));
  const runtime::ProgramSignature signature = runtime::SignatureOf(program);
  for (const std::string& bytes :
       {std::string(), std::string("no object"), object.substr(0, object.size() / 2)}) {
    EXPECT_THAT(device().Load(bytes, signature), StatusIs(absl::StatusCode::kDataLoss));
  }
}

TEST_F(CopyConformance, BytesAreCopied) {
  Bytes data(100000);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i * 31 >> 3);
  auto from = Upload(data);
  auto to = Upload(Bytes(data.size()));
  auto list = std::make_shared<CommandList>();
  list->Copy({to.get(), 1000, 500}, {from.get(), 7, 500});
  KILN_ASSERT_OK(RunList(list));
  Bytes expected(data.size());
  std::copy_n(data.begin() + 7, 500, expected.begin() + 1000);
  Bytes got = Download(*to);
  got.resize(expected.size());
  EXPECT_TRUE(got == expected);
}

TEST_F(CopyConformance, SignalsAndWaitsOrderQueues) {
  auto from = Upload(ToBytes(std::vector<int32_t>{5}));
  auto to = Upload(ToBytes(std::vector<int32_t>{0}));
  // A point that the host gives: nothing after it runs before.
  auto first = std::make_shared<CommandList>();
  Point done = queue().Submit({}, std::make_shared<CommandList>(), nullptr);
  KILN_ASSERT_OK(runtime::Await({done, nullptr}));
  const uint64_t before = queue().timeline().value();
  first->Copy(All(to), All(from));
  const Point copied = queue().Submit({{done, nullptr}}, first, nullptr);
  EXPECT_EQ(copied.value, before + 1);
  EXPECT_EQ(copied.timeline, &queue().timeline());
  KILN_ASSERT_OK(runtime::Await({copied, nullptr}));
  EXPECT_EQ(First(Download(*to)), 5);
}

TEST_F(CopyConformance, PointsPassInOrderAndTimestampsDoNotGoBack) {
  auto list = std::make_shared<CommandList>();
  const uint32_t a = list->Timestamp();
  const uint32_t c = list->Timestamp();
  KILN_ASSERT_OK(RunList(list));
  EXPECT_LE(list->timestamps_ns()[a], list->timestamps_ns()[c]);
  EXPECT_GT(list->timestamps_ns()[a], 0);
  Point last;
  for (int i = 0; i < 100; ++i) {
    const Point p = queue().Submit({}, std::make_shared<CommandList>(), nullptr);
    if (i > 0) {
      EXPECT_EQ(p.value, last.value + 1);
    }
    last = p;
  }
  KILN_ASSERT_OK(runtime::Await({last, nullptr}));
  EXPECT_TRUE(last.passed());
}

TEST_F(CopyConformance, RetainedObjectsAreDroppedWhenTheListHasRun) {
  auto object = std::make_shared<int>(1);
  const std::weak_ptr<int> watch = object;
  auto list = std::make_shared<CommandList>();
  list->Retain(std::move(object));
  KILN_ASSERT_OK(RunList(list));
  EXPECT_TRUE(watch.expired());
}

TEST_F(CopyConformance, MemoryIsAlignedAndLimited) {
  const runtime::MemoryLimits limits = device().memory().Limits();
  EXPECT_GE(limits.alignment, 64);
  EXPECT_GT(limits.total_bytes, 0);
  for (const int64_t bytes : {1, 63, 64, 1000, 1 << 20, 5 << 20}) {
    KILN_ASSERT_OK_AND_ASSIGN(auto buffer,
                              device().memory().Allocate(bytes, runtime::BufferUse::kDevice));
    EXPECT_GE(buffer->bytes(), bytes);
    EXPECT_EQ(&buffer->device(), &device());
    if (buffer->host() != nullptr) {
      EXPECT_EQ(
          reinterpret_cast<uintptr_t>(buffer->host()) % static_cast<uintptr_t>(limits.alignment),
          0u);
    }
  }
  EXPECT_FALSE(
      device().memory().Allocate(limits.total_bytes * 4, runtime::BufferUse::kDevice).ok());
}

TEST_F(CopyConformance, DevicesOfOneKindReachEachOther) {
  EXPECT_TRUE(device().Reaches(device()));
  EXPECT_FALSE(device().compiler_id().empty());
  EXPECT_FALSE(device().target().name.empty());
}

}  // namespace
}  // namespace kiln::conformance
