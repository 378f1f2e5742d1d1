// Kernels ready to run, on three levels: loaded; compiled, in memory; compiled, on disk.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

#include "core/codegen/lower_kernel.h"
#include "core/runtime/device.h"
#include "core/runtime/digest.h"
#include "core/runtime/object_store.h"
#include "core/runtime/single_flight_cache.h"

namespace kiln::runtime {

// What is compiled: a value, so that any thread may do it.
struct KernelSource {
  std::string compact;  // The kernel, see compact.h.
  std::string name;     // Of the program.
  symbolic::Math math = symbolic::Math::kExact;
};

// Machine code and how it is called.
struct CompiledKernel {
  std::string object;
  ProgramSignature signature;
};
// As bytes, and back. DataLoss if they are not what ToBytes makes.
std::string ToBytes(const CompiledKernel& kernel);
absl::StatusOr<CompiledKernel> CompiledKernelFrom(std::string_view bytes);

// Thread-safe.
class KernelCache {
 public:
  struct Options {
    size_t max_loaded = 4096;      // Executables.
    size_t max_compiled = 4096;    // Machine code in memory: for other devices of the kind.
    ObjectStore* store = nullptr;  // Borrowed. Null: nothing is on disk.
  };
  explicit KernelCache(Options options);

  // The kernel, loaded on `device`. Lowers and compiles it on this thread unless it is in one of
  // the caches or another thread is at it. Errors name the kernel.
  absl::StatusOr<std::shared_ptr<const Executable>> Get(const KernelSource& source, Device& device);

  struct Counters {
    int64_t asked = 0;  // Calls of Get.
    int64_t lowered = 0, compiled = 0, loaded = 0;
    int64_t lower_ns = 0, compile_ns = 0;  // Of computing, in all threads together.
  };
  Counters counters() const;

 private:
  using LoadedKey = std::pair<Digest, std::string>;  // And the name of the device.
  absl::StatusOr<std::shared_ptr<const Executable>> Load(const Digest& id,
                                                         const KernelSource& source,
                                                         Device& device);
  absl::StatusOr<std::shared_ptr<const CompiledKernel>> FindOrCompile(const Digest& id,
                                                                      const KernelSource& source,
                                                                      Device& device);
  absl::StatusOr<CompiledKernel> Compile(const KernelSource& source, Device& device);

  ObjectStore* const store_;
  SingleFlightCache<LoadedKey, std::shared_ptr<const Executable>> loaded_;
  SingleFlightCache<Digest, std::shared_ptr<const CompiledKernel>> compiled_;
  std::atomic<int64_t> num_asked_ = 0, num_lowered_ = 0, num_compiled_ = 0, num_loaded_ = 0;
  std::atomic<int64_t> lower_ns_ = 0, compile_ns_ = 0;
};

}  // namespace kiln::runtime
