// A device whose kernels can be held, and who sees in which order they run.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"

#include "core/runtime/engine.h"
#include "core/runtime/host_timeline.h"
#include "tests/support/status_matchers.h"
#include "tests/unit/runtime/engine_testing.h"
#include "tests/unit/runtime/fake_device.h"

namespace kiln::runtime {

// Remembers whose kernels ran, in order. Thread-safe.
class KernelLog final : public KernelObserver {
 public:
  void OnKernel(const KernelEvent& event) override {
    absl::MutexLock lock(&mu_);
    streams_.push_back(event.stream);
    names_.emplace_back(event.name);
    device_ns_ += event.end_ns - event.begin_ns;
  }
  std::vector<uint64_t> streams() const {
    absl::MutexLock lock(&mu_);
    return streams_;
  }
  std::vector<std::string> names() const {
    absl::MutexLock lock(&mu_);
    return names_;
  }
  int64_t device_ns() const {
    absl::MutexLock lock(&mu_);
    return device_ns_;
  }

 private:
  mutable absl::Mutex mu_;
  std::vector<uint64_t> streams_ ABSL_GUARDED_BY(mu_);
  std::vector<std::string> names_ ABSL_GUARDED_BY(mu_);
  int64_t device_ns_ ABSL_GUARDED_BY(mu_) = 0;
};

class StreamsTest : public testing::Test {
 protected:
  StreamsTest() {
    RegisterFakeBackend(registry_, 2);
    engine_ = *Engine::Create(registry_, {.default_device = "fake:0"});
    engine_->SetKernelObserver(log_);
  }

  FakeDevice& device(const char* name = "fake:0") {
    return static_cast<FakeDevice&>(**registry_.Get(name));
  }
  // Kernel n (1, 2...) of the device goes on when the timeline is at n.
  void HoldKernels(HostTimeline& gate) {
    const auto begun = std::make_shared<std::atomic<uint64_t>>(0);
    device().SetOnRun([this, &gate, begun](const Executable&, absl::Span<const BufferSlice>) {
      const uint64_t n = ++*begun;
      begun_.Signal(n);
      return gate.Wait(n);
    });
  }
  // Until kernel n has begun.
  void AwaitKernel(uint64_t n) { KILN_EXPECT_OK(begun_.Wait(n)); }
  // Each kernel takes some time.
  void SlowKernels(absl::Duration time) {
    device().SetOnRun([time](const Executable&, absl::Span<const BufferSlice>) {
      absl::SleepFor(time);
      return absl::OkStatus();
    });
  }

  std::shared_ptr<Buffer> Floats(const std::vector<float>& values, const char* on = "fake:0") {
    return Upload(*engine_, values, on);
  }
  RunResult Run(Stream& stream, const TensorGraph& graph, std::shared_ptr<Buffer> input,
                bool here = false) {
    const std::vector<Binding> inputs = {{0, std::move(input)}};
    auto result = engine_->Run(
        graph, {.inputs = inputs, .variables = {}, .stream = &stream, .run_here_if_idle = here});
    EXPECT_TRUE(result.ok()) << result.status();
    return *std::move(result);
  }
  static HostBytes Bytes(std::shared_ptr<std::vector<float>> values) {
    const auto* data = reinterpret_cast<const std::byte*>(values->data());
    const size_t bytes = values->size() * sizeof(float);
    return {{data, bytes}, std::move(values)};
  }
  absl::StatusOr<Dependency> CopyIn(Stream& stream, const std::shared_ptr<Buffer>& to,
                                    std::vector<float> values, int64_t offset = 0) {
    return engine_->CopyIn(stream, to, offset,
                           Bytes(std::make_shared<std::vector<float>>(std::move(values))));
  }

  Registry registry_;
  std::unique_ptr<Engine> engine_;
  const std::shared_ptr<KernelLog> log_ = std::make_shared<KernelLog>();
  HostTimeline begun_;
};

}  // namespace kiln::runtime
