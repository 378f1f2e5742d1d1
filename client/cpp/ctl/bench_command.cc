// bench: how fast this daemon is, seen from here.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"

#include "client/cpp/ctl/command.h"
#include "client/cpp/ctl/output.h"
#include "client/cpp/session.h"

namespace kiln::ctl {
namespace {

struct BenchFlags {
  int calls = 2000;
  uint64_t bytes = uint64_t{64} << 20;
  int copies = 5;
  bool as_json = false;
};

struct Latency {
  double p50_us = 0, p99_us = 0;
};

struct Figures {
  Latency echo, graph;
  double copy_in = 0, copy_out = 0;  // Bytes per second, median.
};

// The times of `calls` calls, after some that warm up. Stops at the first that fails.
template <typename Call>
absl::StatusOr<Latency> Measure(const char* what, int calls, Call call) {
  ProgressLine progress;
  progress.Show(what);
  std::vector<double> us;
  for (int i = -calls / 10 - 1; i < calls; ++i) {
    const int64_t began = absl::GetCurrentTimeNanos();
    absl::Status status = call();
    if (!status.ok()) return status;
    if (i >= 0) us.push_back(static_cast<double>(absl::GetCurrentTimeNanos() - began) / 1000);
  }
  std::sort(us.begin(), us.end());
  return Latency{us[us.size() / 2], us[us.size() - 1 - us.size() / 100]};
}

constexpr int kElements = 64;

// x + 1.
v1::Graph TinyGraph() {
  v1::Graph graph;
  v1::Node* x = graph.add_nodes();
  x->set_op(v1::OP_INPUT);
  x->set_dtype(v1::DTYPE_FLOAT32);
  x->mutable_input()->add_dims()->set_value(kElements);
  v1::Node* one = graph.add_nodes();
  one->set_op(v1::OP_CONST);
  one->set_dtype(v1::DTYPE_FLOAT32);
  one->mutable_constant()->set_float_value(1);
  const auto move = [&](v1::Op op, uint32_t of, int64_t size) {
    v1::Node* node = graph.add_nodes();
    node->set_op(op);
    node->add_src(of);
    node->mutable_dims()->add_dims()->set_value(size);
  };
  move(v1::OP_RESHAPE, 1, 1);
  move(v1::OP_EXPAND, 2, kElements);
  v1::Node* sum = graph.add_nodes();
  sum->set_op(v1::OP_ADD);
  sum->add_src(0);
  sum->add_src(3);
  return graph;
}

absl::StatusOr<Latency> MeasureEcho(Server& server, int calls) {
  return Measure("calling", calls, [&] {
    v1::ServerInfo info;
    return server.Call([&](grpc::ClientContext& context) {
      return server.kiln().GetServerInfo(&context, {}, &info);
    });
  });
}

absl::StatusOr<Latency> MeasureGraph(Session& session, int calls) {
  const CompiledGraph graph = session.Compile(EncodedGraph(TinyGraph()), {4});
  absl::StatusOr<v1::GraphResult> info = graph.info().Get();
  if (!info.ok()) return info.status();
  std::vector<float> x(kElements), y(kElements);
  for (int i = 0; i < kElements; ++i) x[static_cast<size_t>(i)] = static_cast<float>(i);
  const Buffer in = session.Alloc(x.size() * sizeof(float));
  const Buffer out = session.Alloc(y.size() * sizeof(float));
  session.CopyIn(
      in, 0,
      absl::MakeConstSpan(reinterpret_cast<const std::byte*>(x.data()), x.size() * sizeof(float)));
  const std::vector<Binding> inputs = {{0, in}}, outputs = {{0, out}};
  const auto bytes =
      absl::MakeSpan(reinterpret_cast<std::byte*>(y.data()), y.size() * sizeof(float));
  absl::StatusOr<Latency> latency = Measure("running a tiny graph", calls, [&] {
    const auto hold = session.Hold();
    session.Exec(graph, inputs, outputs);
    return session.CopyOut(out, 0, bytes).Get();
  });
  if (latency.ok() && y.back() != x.back() + 1) {
    return absl::InternalError(absl::StrCat("kilnd computes ", x.back(), " + 1 = ", y.back()));
  }
  return latency;
}

absl::Status MeasureCopies(Session& session, const BenchFlags& flags, Figures& figures) {
  std::vector<std::byte> data(flags.bytes, std::byte{0x5A});
  const Buffer buffer = session.Alloc(data.size());
  absl::Status status = buffer.made().Get();
  if (!status.ok()) return status;
  absl::StatusOr<Latency> in =
      Measure("copying in", flags.copies, [&] { return session.CopyIn(buffer, 0, data).Get(); });
  if (!in.ok()) return in.status();
  std::fill(data.begin(), data.end(), std::byte{0});
  absl::StatusOr<Latency> out = Measure("copying out", flags.copies, [&] {
    return session.CopyOut(buffer, 0, absl::MakeSpan(data)).Get();
  });
  if (!out.ok()) return out.status();
  if (data.front() != std::byte{0x5A} || data.back() != std::byte{0x5A}) {
    return absl::InternalError("what was copied out is not what was copied in");
  }
  figures.copy_in = static_cast<double>(flags.bytes) / in->p50_us * 1e6;
  figures.copy_out = static_cast<double>(flags.bytes) / out->p50_us * 1e6;
  return absl::OkStatus();
}

void Print(const Figures& figures, const BenchFlags& flags) {
  if (flags.as_json) {
    std::fputs(
        absl::StrFormat("{\n \"echo_p50_us\": %.2f,\n \"echo_p99_us\": %.2f,\n"
                        " \"graph_p50_us\": %.2f,\n \"graph_p99_us\": %.2f,\n"
                        " \"copy_in_bytes_per_s\": %.0f,\n \"copy_out_bytes_per_s\": %.0f\n}\n",
                        figures.echo.p50_us, figures.echo.p99_us, figures.graph.p50_us,
                        figures.graph.p99_us, figures.copy_in, figures.copy_out)
            .c_str(),
        stdout);
    return;
  }
  Table latencies({"LATENCY", ">P50", ">P99"});
  const auto row = [&](const char* what, const Latency& latency) {
    latencies.AddRow({what, absl::StrFormat("%.1f us", latency.p50_us),
                      absl::StrFormat("%.1f us", latency.p99_us)});
  };
  row("call (GetServerInfo)", figures.echo);
  row("tiny graph, and its result read", figures.graph);
  Table copies({absl::StrCat("COPIES OF ", BytesText(flags.bytes)), ">SPEED"});
  copies.AddRow({"in", absl::StrFormat("%.2f GB/s", figures.copy_in / 1e9)});
  copies.AddRow({"out", absl::StrFormat("%.2f GB/s", figures.copy_out / 1e9)});
  std::printf("%s\n%s", latencies.Text().c_str(), copies.Text().c_str());
}

absl::Status Bench(const Invocation& invocation, const BenchFlags& flags) {
  absl::StatusOr<Server> server = invocation.Connect();
  if (!server.ok()) return server.status();
  absl::StatusOr<Session> session =
      Session::Connect(invocation.address, {.client_name = "kilnctl bench"});
  if (!session.ok()) return server->Explain(session.status());
  Figures figures;
  absl::StatusOr<Latency> echo = MeasureEcho(*server, flags.calls);
  if (!echo.ok()) return echo.status();
  figures.echo = *echo;
  absl::StatusOr<Latency> graph = MeasureGraph(*session, flags.calls);
  if (!graph.ok()) return graph.status();
  figures.graph = *graph;
  absl::Status status = MeasureCopies(*session, flags, figures);
  if (!status.ok()) return status;
  Print(figures, flags);
  return session->Close();
}

}  // namespace

void AddBenchCommand(CLI::App& app, Invocation& invocation) {
  CLI::App* bench = app.add_subcommand("bench", "measures latency and copies from here to kilnd");
  auto flags = std::make_shared<BenchFlags>();
  bench->add_option("--calls", flags->calls, "calls for each latency")
      ->check(CLI::Range(10, 10'000'000))
      ->capture_default_str();
  bench->add_option("--bytes", flags->bytes, "size of a copy; takes KB, MiB, GB")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/true))
      ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 40))
      ->capture_default_str();
  bench->add_option("--copies", flags->copies, "copies each way")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  bench->add_flag("--json", flags->as_json, "as JSON, for programs");
  bench->footer(
      "Shares the daemon with whoever uses it: kilnctl top tells whether that is somebody.\n"
      "Examples:\n  kilnctl bench\n  kilnctl bench --bytes 1GiB --copies 3");
  bench->callback([&invocation, flags] {
    invocation.action = [&invocation, flags] { return Bench(invocation, *flags); };
  });
}

}  // namespace kiln::ctl
