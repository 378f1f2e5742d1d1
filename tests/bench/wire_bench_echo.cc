#include "tests/bench/wire_bench_echo.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/str_cat.h"

#include "kiln/v1/kiln.grpc.pb.h"

namespace kiln::bench {
namespace {

using Clock = std::chrono::steady_clock;
using grpc::ByteBuffer;

class EchoReactor final : public grpc::ServerBidiReactor<ByteBuffer, ByteBuffer> {
 public:
  EchoReactor() { StartRead(&message_); }
  void OnReadDone(bool ok) override { ok ? StartWrite(&message_) : Finish(grpc::Status::OK); }
  void OnWriteDone(bool ok) override {
    if (ok) StartRead(&message_);
  }
  void OnDone() override { delete this; }

 private:
  ByteBuffer message_;
};

class EchoService final : public v1::Kiln::WithRawCallbackMethod_Run<v1::Kiln::Service> {
  grpc::ServerBidiReactor<ByteBuffer, ByteBuffer>* Run(grpc::CallbackServerContext*) override {
    return new EchoReactor;
  }
};

}  // namespace

int ServeEcho(const std::string& address) {
  EchoService service;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) return 1;
  std::printf("%d\n", port);
  std::fflush(stdout);
  server->Wait();
  return 0;
}

EchoServer::EchoServer(bool tcp) {
  const std::string address = tcp ? "127.0.0.1:0" : absl::StrCat("unix:", folder_.path(), "/s");
  auto process = wire::ChildProcess::Start({"/proc/self/exe", "--echo=" + address});
  if (!process.ok()) std::exit(1);
  process_ = *std::move(process);
  const std::string port = process_->ReadLine();
  address_ = tcp ? absl::StrCat("127.0.0.1:", port) : address;
}

class EchoClient::Stream final : public grpc::ClientBidiReactor<ByteBuffer, ByteBuffer> {
 public:
  Stream(const std::string& address, size_t bytes) : text_(bytes, 'x') {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    grpc::GenericStub stub(
        grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
    context_.set_wait_for_ready(true);
    stub.PrepareBidiStreamingCall(&context_, "/kiln.v1.Kiln/Run", {}, this);
    AddHold();
    StartRead(&in_);
    StartCall();
  }
  ~Stream() override {
    context_.TryCancel();
    RemoveHold();
    is_done_.wait(false);
  }

  void Send() {
    const grpc::Slice slice(text_);
    out_ = ByteBuffer(&slice, 1);
    StartWrite(&out_);
  }
  void OnWriteDone(bool) override { OnHalf(); }
  void OnReadDone(bool ok) override {
    if (!ok) return;
    in_.Clear();
    OnHalf();
  }
  void OnDone(const grpc::Status&) override {
    is_done_ = true;
    is_done_.notify_all();
  }

  // Both the write and the read are over: nothing is in flight.
  void OnHalf() {
    if (halves_.fetch_add(1) % 2 == 0) return;
    StartRead(&in_);
    if (times_ != nullptr) {
      const Clock::time_point now = Clock::now();
      times_->push_back(std::chrono::duration<double, std::micro>(now - started_).count());
      if (--left_ > 0) {
        started_ = now;
        Send();
        return;
      }
      times_ = nullptr;
    }
    count_.fetch_add(1, std::memory_order_release);
    count_.notify_all();
  }

  void WaitFor(uint32_t count) {
    const Clock::time_point start = Clock::now();
    while (count_.load(std::memory_order_acquire) < count) {
      if (Clock::now() - start > std::chrono::microseconds(100)) {
        const uint32_t now = count_.load(std::memory_order_acquire);
        if (now < count) count_.wait(now);
      }
    }
  }

  std::string text_;
  grpc::ClientContext context_;
  ByteBuffer out_, in_;
  std::atomic<uint32_t> halves_ = 0, count_ = 0;
  std::atomic<bool> is_done_ = false;
  std::vector<double>* times_ = nullptr;
  int left_ = 0;
  Clock::time_point started_;
};

EchoClient::EchoClient(const std::string& address, size_t bytes)
    : stream_(std::make_unique<Stream>(address, bytes)) {}
EchoClient::~EchoClient() = default;

void EchoClient::PingFromThread() {
  const uint32_t count = stream_->count_.load() + 1;
  stream_->Send();
  stream_->WaitFor(count);
}

std::vector<double> EchoClient::PingPong(int n) {
  std::vector<double> times;
  const uint32_t count = stream_->count_.load() + 1;
  stream_->times_ = &times;
  stream_->left_ = n;
  stream_->started_ = Clock::now();
  stream_->Send();
  stream_->WaitFor(count);
  return times;
}

}  // namespace kiln::bench
