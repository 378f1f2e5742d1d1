#include "tests/bench/reference_kernels.h"

#include <cblas.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "dnnl.hpp"

#include "backends/cpu/affinity.h"
#include "backends/cpu/worker_pool.h"

namespace kiln::bench {
namespace {

// Vectors of GCC and clang, made of what registers there are.
typedef float Vector __attribute__((vector_size(64), aligned(4)));
constexpr int64_t kLanes = 16;

// Calls work(begin, end) on parts of 0..n, one for each thread.
void InParallel(int64_t n, absl::FunctionRef<void(int, int64_t, int64_t)> work) {
  static cpu::WorkerPool pool(NumThreads() - 1, nullptr);
  const int threads = NumThreads();
  const int64_t part = (n / threads + kLanes - 1) / kLanes * kLanes;
  pool.Run(threads, [&](int i) {
    const int64_t begin = std::min(n, i * part);
    work(i, begin, i == threads - 1 ? n : std::min(n, begin + part));
  });
}

__attribute__((target_clones("avx512f", "avx2", "default"))) void AddPart(const float* a,
                                                                          const float* b,
                                                                          float* out, int64_t n) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    *reinterpret_cast<Vector*>(out + i) =
        *reinterpret_cast<const Vector*>(a + i) + *reinterpret_cast<const Vector*>(b + i);
  }
  for (; i < n; ++i) out[i] = a[i] + b[i];
}

__attribute__((target_clones("avx512f", "avx2", "default"))) float SumPart(const float* a,
                                                                           int64_t n) {
  Vector sums[4] = {};
  int64_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
    for (int64_t j = 0; j < 4; ++j) sums[j] += *reinterpret_cast<const Vector*>(a + i + j * kLanes);
  }
  const Vector sum = sums[0] + sums[1] + sums[2] + sums[3];
  float total = 0;
  for (int lane = 0; lane < kLanes; ++lane) total += sum[lane];
  for (; i < n; ++i) total += a[i];
  return total;
}

}  // namespace

void WithoutOverrides(char** argv) {
  bool found = false;
  for (const char* name : {"OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"}) {
    found = found || getenv(name) != nullptr;
    unsetenv(name);
  }
  if (found) execv("/proc/self/exe", argv);
}

int NumThreads() {
  static const int threads = static_cast<int>(cpu::AvailableCores().size());
  return threads;
}

void Add(const float* a, const float* b, float* out, int64_t n) {
  InParallel(n, [=](int, int64_t begin, int64_t end) {
    AddPart(a + begin, b + begin, out + begin, end - begin);
  });
}

float Sum(const float* a, int64_t n) {
  std::vector<float> sums(static_cast<size_t>(NumThreads()));
  InParallel(n, [&](int i, int64_t begin, int64_t end) {
    sums[static_cast<size_t>(i)] = SumPart(a + begin, end - begin);
  });
  float total = 0;
  for (const float sum : sums) total += sum;
  return total;
}

void Matmul(const float* a, const float* b, float* c, int m, int n, int k) {
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, a, k, b, n, 0, c, n);
}

std::string BlasName() { return openblas_get_corename(); }

struct Conv::State {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  dnnl::convolution_forward primitive;
  dnnl::memory x, w, y;
};

Conv::Conv(int64_t batch, int64_t in, int64_t out, int64_t size) : state_(new State) {
  using dnnl::memory;
  const auto any = [](memory::dims dims) {
    return memory::desc(dims, memory::data_type::f32, memory::format_tag::any);
  };
  const dnnl::convolution_forward::desc desc(dnnl::prop_kind::forward_inference,
                                             dnnl::algorithm::convolution_direct,
                                             any({batch, in, size, size}), any({out, in, 3, 3}),
                                             any({batch, out, size, size}), {1, 1}, {1, 1}, {1, 1});
  const dnnl::convolution_forward::primitive_desc chosen(desc, state_->engine);
  state_->primitive = dnnl::convolution_forward(chosen);
  const auto filled = [&](const memory::desc& d) {
    memory m(d, state_->engine);
    float* data = static_cast<float*>(m.get_data_handle());
    for (size_t i = 0; i < d.get_size() / sizeof(float); ++i) data[i] = static_cast<float>(i % 7);
    return m;
  };
  state_->x = filled(chosen.src_desc());
  state_->w = filled(chosen.weights_desc());
  state_->y = filled(chosen.dst_desc());
}

Conv::~Conv() = default;

void Conv::Run() {
  state_->primitive.execute(
      state_->stream,
      {{DNNL_ARG_SRC, state_->x}, {DNNL_ARG_WEIGHTS, state_->w}, {DNNL_ARG_DST, state_->y}});
  state_->stream.wait();
}

}  // namespace kiln::bench
