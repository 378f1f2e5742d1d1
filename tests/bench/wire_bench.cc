// Latency and throughput of commands through a kilnd and the C++ client, beside a bare gRPC echo of as
// many bytes in the same run: machines differ, ratios tell.
//
//   wire_bench [--seconds=1] [--only=tiny,pipelined,kernels,hash,sessions]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/str_cat.h"

#include "client/cpp/session.h"
#include "tests/bench/wire_bench_echo.h"
#include "tests/wire/support/graphs.h"
#include "tests/wire/support/kilnd_process.h"

ABSL_FLAG(double, seconds, 1, "How long each thing is measured.");
ABSL_FLAG(std::vector<std::string>, only, {}, "What is measured. Default: all.");
ABSL_FLAG(std::string, echo, "", "Internal: be the echo server at this address.");

namespace kiln::bench {
namespace {

using Clock = std::chrono::steady_clock;

double Us(Clock::duration d) { return std::chrono::duration<double, std::micro>(d).count(); }

template <typename T>
T Value(absl::StatusOr<T> value) {
  if (value.ok()) return *std::move(value);
  std::fprintf(stderr, "%s\n", value.status().ToString().c_str());
  std::exit(1);
}
void Check(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}

struct Times {
  std::vector<double> us;
  double At(double share) {
    std::sort(us.begin(), us.end());
    return us[std::min(us.size() - 1, static_cast<size_t>(share * static_cast<double>(us.size())))];
  }
  std::string ToText() {
    return absl::StrCat("p50 ", static_cast<int64_t>(At(0.5) * 10) / 10.0, " us, p99 ",
                        static_cast<int64_t>(At(0.99) * 10) / 10.0, " us");
  }
};

// Adds the times of `f` for as long as is asked for.
void Measure(double seconds, Times& times, const std::function<void()>& f) {
  const Clock::time_point end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                                   std::chrono::duration<double>(seconds));
  do {
    const Clock::time_point start = Clock::now();
    f();
    times.us.push_back(Us(Clock::now() - start));
  } while (Clock::now() < end);
}

// A chain of kernels that is run and read.
class Chain {
 public:
  Chain(Session session, int kernels) : session_(std::move(session)) {
    uint32_t output;
    const v1::Graph graph = wire::ChainGraph(kernels, 4, &output);
    compiled_ = session_.Compile(EncodedGraph(graph), {output});
    Value(compiled_.info().Get());
    x_ = session_.Alloc(16);
    y_ = session_.Alloc(16);
    const float ones[4] = {1, 1, 1, 1};
    Check(
        session_.CopyIn(x_, 0, absl::MakeSpan(reinterpret_cast<const std::byte*>(ones), 16)).Get());
  }
  void Exec() { session_.Exec(compiled_, {{0, x_}}, {{0, y_}}); }
  void ExecAndRead() {
    std::byte out[16];
    std::optional<Future<void>> read;
    {
      const auto hold = session_.Hold();
      Exec();
      read = session_.CopyOut(y_, 0, absl::MakeSpan(out));
    }
    Check(read->Get());
  }
  Session& session() { return session_; }

 private:
  Session session_;
  CompiledGraph compiled_;
  Buffer x_, y_;
};

// In turns, so that what else the machine does hits both.
void BesideEcho(const char* what, bool tcp, const std::function<void()>& f) {
  EchoServer server(tcp);
  EchoClient echo(server.address(), /*bytes=*/60);
  Times ours, theirs, waiting;
  const double slice = absl::GetFlag(FLAGS_seconds) / 10;
  for (int i = 0; i < 50; ++i) f();
  for (int i = 0; i < 10; ++i) {
    Measure(slice, ours, f);
    Measure(slice, waiting, [&] { echo.PingFromThread(); });
    const std::vector<double> more = echo.PingPong(static_cast<int>(waiting.us.size() / 10) + 100);
    theirs.us.insert(theirs.us.end(), more.begin(), more.end());
  }
  std::printf(
      "%s, %s: %s\n  echo between reactors %s, ratio %.2f; echo with a waiting thread %s, ratio "
      "%.2f\n",
      what, tcp ? "TCP" : "unix socket", ours.ToText().c_str(), theirs.ToText().c_str(),
      ours.At(0.5) / theirs.At(0.5), waiting.ToText().c_str(), ours.At(0.5) / waiting.At(0.5));
}

void Tiny(bool tcp, int kernels) {
  const auto kilnd = Value(wire::Kilnd::Start({.tcp = tcp}));
  Chain chain(Value(Session::Connect(kilnd->address())), kernels);
  const std::string what = absl::StrCat("GraphExec of ", kernels, " kernels and read");
  BesideEcho(what.c_str(), tcp, [&] { chain.ExecAndRead(); });
}

void Pipelined() {
  const auto kilnd = Value(wire::Kilnd::Start());
  Chain chain(Value(Session::Connect(kilnd->address())), 1);
  const Buffer small = chain.session().Alloc(8);
  const std::byte eight[8] = {};
  const auto rate = [&](const char* what, const std::function<void()>& f) {
    const int n = 20000;
    double best = 0;
    for (int round = 0; round < 3; ++round) {
      const Clock::time_point start = Clock::now();
      for (int i = 0; i < n; ++i) f();
      Check(chain.session().Sync().Get());
      best = std::max(best, n / Us(Clock::now() - start) * 1e6);
    }
    std::printf("pipelined %s: %.0f/s\n", what, best);
  };
  rate("GraphExec of a tiny kernel", [&] { chain.Exec(); });
  rate("CopyIn of 8 bytes", [&] { chain.session().CopyIn(small, 0, eight); });
  rate("BufferAlloc and BufferFree (pairs)", [&] { chain.session().Alloc(64); });
}

void ByHash() {
  const auto kilnd = Value(wire::Kilnd::Start());
  Session session = Value(Session::Connect(kilnd->address()));
  wire::GraphMaker maker;
  uint32_t x = maker.Input(0, v1::DTYPE_FLOAT32, {16});
  for (int i = 0; i < 199; ++i) x = maker.Op(i % 2 == 0 ? v1::OP_NEG : v1::OP_TRUNC, {x});
  const EncodedGraph graph(maker.graph());
  const Buffer in = session.Alloc(64), out = session.Alloc(64);
  const std::byte zeros[64] = {};
  Check(session.CopyIn(in, 0, zeros).Get());
  Value(session.Run(graph, {{0, in}}, {{x, out}}).Get());
  Times by_hash, inlined;
  v1::Command command;
  command.mutable_graph_run()->set_graph(graph.bytes());
  v1::Binding& binding = *command.mutable_graph_run()->add_inputs();
  binding.set_buffer(in.id());
  v1::GraphRun::Output& output = *command.mutable_graph_run()->add_outputs();
  output.set_node(x);
  output.set_buffer(out.id());
  const size_t inline_bytes = command.ByteSizeLong();
  Measure(absl::GetFlag(FLAGS_seconds), by_hash,
          [&] { Value(session.Run(graph, {{0, in}}, {{x, out}}).Get()); });
  Measure(absl::GetFlag(FLAGS_seconds), inlined, [&] { Value(session.Submit(command).Get()); });
  command.mutable_graph_run()->set_graph_hash(graph.hash());
  std::printf("GraphRun of 200 nodes by hash: %zu bytes, %s; inline: %zu bytes, %s\n",
              command.ByteSizeLong(), by_hash.ToText().c_str(), inline_bytes,
              inlined.ToText().c_str());
}

void Sessions() {
  const auto kilnd = Value(wire::Kilnd::Start());
  for (const int n : {1, 4, 16, 64}) {
    std::vector<std::unique_ptr<Chain>> chains;
    for (int i = 0; i < n; ++i) {
      chains.push_back(std::make_unique<Chain>(Value(Session::Connect(kilnd->address())), 1));
    }
    std::vector<Times> times(static_cast<size_t>(n));
    std::vector<std::thread> threads;
    for (int i = 0; i < n; ++i) {
      threads.emplace_back([&, i] {
        Measure(absl::GetFlag(FLAGS_seconds), times[static_cast<size_t>(i)],
                [&] { chains[static_cast<size_t>(i)]->ExecAndRead(); });
      });
    }
    for (std::thread& thread : threads) thread.join();
    Times all;
    for (const Times& t : times) all.us.insert(all.us.end(), t.us.begin(), t.us.end());
    std::printf("%d sessions: %.0f runs with read/s, %s\n", n,
                static_cast<double>(all.us.size()) / absl::GetFlag(FLAGS_seconds),
                all.ToText().c_str());
  }
}

int Main() {
  const std::vector<std::string> only = absl::GetFlag(FLAGS_only);
  const auto wants = [&](const char* name) {
    return only.empty() || std::find(only.begin(), only.end(), name) != only.end();
  };
  if (wants("tiny")) {
    Tiny(/*tcp=*/false, 1);
    Tiny(/*tcp=*/true, 1);
  }
  if (wants("kernels")) Tiny(/*tcp=*/false, 50);
  if (wants("pipelined")) Pipelined();
  if (wants("hash")) ByHash();
  if (wants("sessions")) Sessions();
  return 0;
}

}  // namespace
}  // namespace kiln::bench

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  if (const std::string echo = absl::GetFlag(FLAGS_echo); !echo.empty()) {
    return kiln::bench::ServeEcho(echo);
  }
  return kiln::bench::Main();
}
