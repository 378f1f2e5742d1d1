#include "backends/llvm/host_cpu.h"

#include <unistd.h>

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/TargetParser/Host.h"

namespace kiln::backend_llvm {
namespace {

// Raised whenever the code made for one program changes.
constexpr int kEmitterVersion = 5;

HostCpu Detect() {
  HostCpu cpu;
  cpu.name = llvm::sys::getHostCPUName().str();
  const llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  const auto has = [&features](llvm::StringRef name) {
    const auto found = features.find(name);
    return found != features.end() && found->second;
  };
  std::vector<std::string> list;
  for (const auto& feature : features) {
    // NOTE: LLVM 19 makes a sum of 8 products that fit 8 bits a VPDPBUSD and forgets half of it.
    const bool is_wrong = feature.first().contains("vnni");
    list.push_back(absl::StrCat(feature.second && !is_wrong ? "+" : "-", feature.first().str()));
  }
  std::sort(list.begin(), list.end());  // The map's order is that of hashes.
  for (const std::string& f : list)
    absl::StrAppend(&cpu.features, cpu.features.empty() ? "" : ",", f);
  const bool wide = has("avx512f") && has("avx512vl") && has("avx512bw") && has("avx512dq");
  cpu.vector_bytes = wide ? 64 : has("avx2") ? 32 : 16;
  cpu.registers = wide ? 32 : 16;
  cpu.has_fma = has("fma") || has("fma4");
  cpu.has_f16c = has("f16c");
#if defined(__aarch64__)
  cpu.registers = 32;
  cpu.has_fma = cpu.has_f16c = true;
#endif
  const long l1 = sysconf(_SC_LEVEL1_DCACHE_SIZE), l2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
  if (l1 > 0) cpu.l1_bytes = l1;
  if (l2 > 0) cpu.l2_bytes = l2;
  return cpu;
}

}  // namespace

const HostCpu& ThisCpu() {
  static const HostCpu* const cpu = new HostCpu(Detect());
  return *cpu;
}

codegen::OpSupport OpsOf(const HostCpu& cpu) {
  codegen::OpSupport ops = {Op::kNeg,  Op::kRecip, Op::kSqrt,  Op::kTrunc, Op::kSub,
                            Op::kFDiv, Op::kMax,   Op::kCmpEq, Op::kShl,   Op::kShr};
  if (cpu.has_fma) ops.Add(Op::kMulAcc, DType::kFloat32).Add(Op::kMulAcc, DType::kFloat64);
  return ops;
}

std::string CompilerId(const HostCpu& cpu) {
  return absl::StrCat("llvm ", LLVM_VERSION_STRING, " emitter ", kEmitterVersion, " ", cpu.name,
                      " ", cpu.features);
}

}  // namespace kiln::backend_llvm
