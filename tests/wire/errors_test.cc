// What a failed command does to others: rule 2 of the wire contract, for each way of failing and each
// way of depending on it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "client/cpp/session.h"
#include "tests/wire/support/graphs.h"
#include "tests/wire/support/kilnd_process.h"

namespace kiln::wire {
namespace {

using absl::StatusCode;
using ::testing::HasSubstr;

class Errors : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto started = Kilnd::Start();
    ASSERT_TRUE(started.ok()) << started.status();
    kilnd_ = std::move(*started).release();
  }
  static void TearDownTestSuite() { delete kilnd_; }

  void SetUp() override {
    auto connected = Session::Connect(kilnd_->address());
    ASSERT_TRUE(connected.ok()) << connected.status();
    session_ = std::make_unique<Session>(*std::move(connected));
  }

  Session& session() { return *session_; }
  static Kilnd* kilnd_;
  std::unique_ptr<Session> session_;
};
Kilnd* Errors::kilnd_ = nullptr;

// A graph that is refused: shapes that don't go together, at a node with a label.
EncodedGraph BadGraph() {
  GraphMaker g;
  const uint32_t x = g.Input(0, v1::DTYPE_FLOAT32, {4});
  const uint32_t y = g.Input(1, v1::DTYPE_FLOAT32, {5});
  const uint32_t sum = g.Op(v1::OP_ADD, {x, y});
  g.node(sum).set_label("layer7.sum");
  return EncodedGraph(g.graph());
}

// A way of failing: makes a buffer that holds nothing, by a command with this number.
struct Maker {
  std::string name;
  StatusCode code;
  std::string label;
  std::function<Buffer(Session&, uint64_t* seq)> make;
};

std::vector<Maker> Makers() {
  return {
      {"alloc", StatusCode::kResourceExhausted, "",
       [](Session& s, uint64_t* seq) {
         const Buffer b = s.Alloc(size_t{1} << 60);
         *seq = b.made().seq();
         return b;
       }},
      {"view", StatusCode::kInvalidArgument, "",
       [](Session& s, uint64_t* seq) {
         const Buffer b = s.View(s.Alloc(64), 64, 64);
         *seq = b.made().seq();
         return b;
       }},
      {"copy in", StatusCode::kInvalidArgument, "",
       [](Session& s, uint64_t* seq) {
         const Buffer b = s.Alloc(16);
         const std::byte bytes[32] = {};
         *seq = s.CopyIn(b, 8, bytes).seq();
         return b;
       }},
      {"copy in of a blob", StatusCode::kNotFound, "",
       [](Session& s, uint64_t* seq) {
         const Buffer b = s.Alloc(16);
         *seq = s.CopyInBlob(b, 0, std::string(32, 'x'), 0, 16).seq();
         return b;
       }},
      {"run of a bad graph", StatusCode::kInvalidArgument, "layer7.sum",
       [](Session& s, uint64_t* seq) {
         const Buffer b = s.NewBuffer();
         *seq = s.Run(BadGraph(), {{0, s.Alloc(16)}, {1, s.Alloc(20)}}, {{2, b}}).seq();
         return b;
       }},
      {"exec of a bad graph", StatusCode::kInvalidArgument, "layer7.sum",
       [](Session& s, uint64_t* seq) {
         const CompiledGraph compiled = s.Compile(BadGraph(), {2});
         *seq = compiled.info().seq();
         const Buffer b = s.NewBuffer();
         s.Exec(compiled, {{0, s.Alloc(16)}, {1, s.Alloc(20)}}, {{0, b}});
         return b;
       }},
      {"run without an input", StatusCode::kInvalidArgument, "",
       [](Session& s, uint64_t* seq) {
         uint32_t output;
         const EncodedGraph graph(AddOneGraph(4, &output));
         const Buffer b = s.NewBuffer();
         *seq = s.Run(graph, {}, {{output, b}}).seq();
         return b;
       }},
      {"run that reads an unknown buffer", StatusCode::kNotFound, "",
       [](Session& s, uint64_t* seq) {
         uint32_t output;
         const EncodedGraph graph(AddOneGraph(4, &output));
         const Buffer b = s.NewBuffer(), unknown = s.NewBuffer();
         *seq = s.Run(graph, {{0, unknown}}, {{output, b}}).seq();
         return b;
       }},
  };
}

// A way of depending on a buffer.
struct Dependent {
  std::string name;
  std::function<absl::Status(Session&, const Buffer&)> use;
};

absl::Status Read(Session& s, const Buffer& b, size_t bytes = 16) {
  std::vector<std::byte> out(bytes);
  return s.CopyOut(b, 0, absl::MakeSpan(out)).Get();
}

std::vector<Dependent> Dependents() {
  return {
      {"copy out", [](Session& s, const Buffer& b) { return Read(s, b); }},
      {"transfer and copy out",
       [](Session& s, const Buffer& b) {
         const Buffer to = s.Alloc(16);
         s.Transfer(b, 0, to, 0, 16);
         return Read(s, to);
       }},
      {"run",
       [](Session& s, const Buffer& b) {
         uint32_t output;
         const EncodedGraph graph(AddOneGraph(4, &output));
         return s.Run(graph, {{0, b}}, {{output, s.NewBuffer()}}).Get().status();
       }},
      {"two runs and a copy out",
       [](Session& s, const Buffer& b) {
         uint32_t output;
         const EncodedGraph graph(AddOneGraph(4, &output));
         const Buffer y = s.NewBuffer(), z = s.NewBuffer();
         s.Run(graph, {{0, b}}, {{output, y}});
         s.Run(graph, {{0, y}}, {{output, z}});
         return Read(s, z);
       }},
  };
}

TEST_F(Errors, DependentsNameTheFirstCauseAndIndependentsSucceed) {
  uint32_t output;
  const EncodedGraph graph(AddOneGraph(4, &output));
  for (const Maker& maker : Makers()) {
    for (const Dependent& dependent : Dependents()) {
      SCOPED_TRACE(maker.name + ", then " + dependent.name);
      uint64_t seq = 0;
      const Buffer broken = maker.make(session(), &seq);
      // Given between the two, and after them.
      const Buffer x = session().Alloc(16);
      const std::byte zeros[16] = {};
      const Future<void> copied = session().CopyIn(x, 0, zeros);
      const absl::Status status = dependent.use(session(), broken);
      EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition) << status;
      const std::optional<FailureDetails> details = DetailsOf(status);
      ASSERT_TRUE(details.has_value() && details->cause.has_value()) << status;
      EXPECT_EQ(details->cause->seq, seq);
      EXPECT_EQ(details->cause->code, maker.code) << details->cause->message;
      EXPECT_EQ(details->cause->node_label, maker.label);
      EXPECT_TRUE(copied.Get().ok());
      const Buffer y = session().NewBuffer();
      EXPECT_TRUE(session().Run(graph, {{0, x}}, {{output, y}}).Get().ok());
      EXPECT_TRUE(Read(session(), y).ok());
    }
  }
}

TEST_F(Errors, FreeingHealsEveryHandle) {
  for (const Maker& maker : Makers()) {
    SCOPED_TRACE(maker.name);
    uint64_t seq = 0, id = 0;
    {
      const Buffer broken = maker.make(session(), &seq);
      id = broken.id();
    }  // Freed.
    v1::Command alloc, copy;
    alloc.mutable_buffer_alloc()->set_buffer(id);
    alloc.mutable_buffer_alloc()->set_size(16);
    copy.mutable_copy_in()->set_buffer(id);
    copy.mutable_copy_in()->set_data(std::string(16, 'a'));
    copy.mutable_copy_in()->set_size(16);
    const absl::Status allocated = session().Submit(alloc).Get().status();
    EXPECT_TRUE(allocated.ok()) << allocated;
    EXPECT_TRUE(session().Submit(copy).Get().ok());
  }
}

TEST_F(Errors, OverwritingAllOfABufferHealsIt) {
  const Buffer b = session().Alloc(16);
  const std::byte bytes[32] = {};
  EXPECT_FALSE(session().CopyIn(b, 8, bytes).Get().ok());
  EXPECT_EQ(Read(session(), b).code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(session().CopyIn(b, 0, absl::MakeSpan(bytes).subspan(0, 16)).Get().ok());
  const absl::Status read = Read(session(), b);
  EXPECT_TRUE(read.ok()) << read;
}

TEST_F(Errors, IdsOfAnotherSessionAreNotFound) {
  auto other = Session::Connect(kilnd_->address());
  ASSERT_TRUE(other.ok()) << other.status();
  const Buffer mine = session().Alloc(16);
  uint32_t output;
  const EncodedGraph graph(AddOneGraph(4, &output));
  const CompiledGraph compiled = session().Compile(graph, {output});
  ASSERT_TRUE(compiled.info().Get().ok());
  ASSERT_TRUE(session().Sync().Get().ok());
  const auto code_of = [&](const v1::Command& command) {
    return other->Submit(command).Get().status().code();
  };
  v1::Command c;
  c.mutable_copy_out()->set_buffer(mine.id());
  EXPECT_EQ(code_of(c), StatusCode::kNotFound);
  c.mutable_copy_in()->set_buffer(mine.id());
  EXPECT_EQ(code_of(c), StatusCode::kNotFound);
  c.mutable_buffer_free()->set_buffer(mine.id());
  EXPECT_EQ(code_of(c), StatusCode::kNotFound);
  c.mutable_buffer_view()->set_buffer(9000);
  c.mutable_buffer_view()->set_of(mine.id());
  EXPECT_EQ(code_of(c), StatusCode::kNotFound);
  c.mutable_share()->set_buffer(mine.id());
  c.mutable_share()->set_mode(v1::SHARE_MODE_READ_ONLY);
  EXPECT_EQ(code_of(c), StatusCode::kNotFound);
  c.mutable_graph_exec()->set_graph(compiled.id());
  EXPECT_EQ(code_of(c), StatusCode::kNotFound);
  c.mutable_graph_free()->set_graph(compiled.id());
  EXPECT_EQ(code_of(c), StatusCode::kNotFound);
  c.mutable_attach()->set_buffer(9001);
  c.mutable_attach()->set_ticket("guessed");
  EXPECT_EQ(code_of(c), StatusCode::kNotFound);
  EXPECT_TRUE(other->status().ok());
}

TEST_F(Errors, ASharedBufferIsReadButNotWrittenWhenReadOnly) {
  auto other = Session::Connect(kilnd_->address());
  ASSERT_TRUE(other.ok()) << other.status();
  const Buffer mine = session().Alloc(16);
  const std::byte bytes[16] = {std::byte{7}};
  session().CopyIn(mine, 0, bytes);
  const absl::StatusOr<std::string> ticket = session().Share(mine, v1::SHARE_MODE_READ_ONLY).Get();
  ASSERT_TRUE(ticket.ok()) << ticket.status();
  const absl::StatusOr<Buffer> theirs = other->Attach(*ticket);
  ASSERT_TRUE(theirs.ok()) << theirs.status();
  EXPECT_EQ(theirs->bytes(), 16);
  std::byte out[16];
  ASSERT_TRUE(other->CopyOut(*theirs, 0, absl::MakeSpan(out)).Get().ok());
  EXPECT_EQ(out[0], std::byte{7});
  EXPECT_EQ(other->CopyIn(*theirs, 0, bytes).Get().code(), StatusCode::kPermissionDenied);
}

TEST(Connect, SaysWhatIsWrong) {
  EXPECT_EQ(Session::Connect("nowhere").status().code(), StatusCode::kInvalidArgument);
  const absl::Status refused =
      Session::Connect("unix:/nonexistent/socket", {.connect_timeout = absl::Seconds(5)}).status();
  EXPECT_EQ(refused.code(), StatusCode::kUnavailable) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("/nonexistent/socket"));
}

}  // namespace
}  // namespace kiln::wire
