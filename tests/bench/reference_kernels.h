// What kernels are compared with: hand-written loops, OpenBLAS, oneDNN, with the same threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace kiln::bench {

// Starts the process anew without the variables that slow OpenBLAS down, which reads them before
// main. First thing in main.
void WithoutOverrides(char** argv);

// Number of threads of all references: that of the cores this process may run on.
int NumThreads();

void Add(const float* a, const float* b, float* out, int64_t n);
float Sum(const float* a, int64_t n);
// c[m, n] = a[m, k] @ b[k, n], by OpenBLAS.
void Matmul(const float* a, const float* b, float* c, int m, int n, int k);
std::string BlasName();  // The kernel that OpenBLAS has chosen.

// 3x3 convolution with padding 1, by oneDNN, in the layout that it likes best.
class Conv {
 public:
  Conv(int64_t batch, int64_t in, int64_t out, int64_t size);
  ~Conv();
  void Run();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kiln::bench
