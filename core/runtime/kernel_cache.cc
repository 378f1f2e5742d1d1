#include "core/runtime/kernel_cache.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/dtype/status.h"
#include "core/runtime/build_id.h"
#include "core/runtime/bytes.h"
#include "core/runtime/clock.h"
#include "core/runtime/compact.h"

namespace kiln::runtime {
namespace {

using internal::AppendText;
using internal::AppendVarint;
using internal::ByteReader;

// Everything that machine code depends on.
Digest IdOf(const KernelSource& source, const Device& device) {
  std::string all = "kiln kernel 1";
  AppendText(all, BuildId());
  AppendText(all, device.kind());
  AppendText(all, device.compiler_id());
  AppendText(all, device.target().name);
  AppendVarint(all, static_cast<uint64_t>(source.math));
  AppendText(all, source.name);
  AppendText(all, source.compact);
  return DigestOf(all);
}

uint64_t Bits(int64_t v) { return static_cast<uint64_t>(v); }

}  // namespace

std::string ToBytes(const CompiledKernel& kernel) {
  const ProgramSignature& s = kernel.signature;
  std::string bytes;
  AppendText(bytes, s.name);
  AppendVarint(bytes, Bits(s.num_cores));
  AppendVarint(bytes, s.buffers.size());
  for (const codegen::ProgramBuffer& b : s.buffers) {
    AppendVarint(bytes, static_cast<uint64_t>(b.dtype));
    AppendVarint(bytes, Bits(b.elems));
    AppendVarint(bytes, (b.is_read ? 1u : 0u) | (b.is_written ? 2u : 0u));
  }
  AppendVarint(bytes, s.variables.size());
  for (const codegen::ProgramVariable& v : s.variables) {
    AppendText(bytes, v.name);
    AppendVarint(bytes, Bits(v.min));
    AppendVarint(bytes, Bits(v.max));
    AppendVarint(bytes, static_cast<uint64_t>(v.dtype));
  }
  AppendText(bytes, kernel.object);
  return bytes;
}

absl::StatusOr<CompiledKernel> CompiledKernelFrom(std::string_view bytes) {
  ByteReader in(bytes);
  CompiledKernel kernel;
  ProgramSignature& s = kernel.signature;
  s.name = in.Text();
  s.num_cores = static_cast<int32_t>(in.Varint());
  const uint64_t num_buffers = in.Varint();
  for (uint64_t i = 0; i < num_buffers && in.ok(); ++i) {
    codegen::ProgramBuffer b;
    b.dtype = static_cast<DType>(in.Varint());
    b.elems = static_cast<int64_t>(in.Varint());
    const uint64_t flags = in.Varint();
    b.is_read = (flags & 1) != 0;
    b.is_written = (flags & 2) != 0;
    s.buffers.push_back(b);
  }
  const uint64_t num_variables = in.Varint();
  for (uint64_t i = 0; i < num_variables && in.ok(); ++i) {
    codegen::ProgramVariable v;
    v.name = in.Text();
    v.min = static_cast<int64_t>(in.Varint());
    v.max = static_cast<int64_t>(in.Varint());
    v.dtype = static_cast<DType>(in.Varint());
    s.variables.push_back(std::move(v));
  }
  kernel.object = in.Text();
  if (!in.ok() || !in.at_end()) return absl::DataLossError("not a compiled kernel");
  return kernel;
}

KernelCache::KernelCache(Options options)
    : store_(options.store), loaded_(options.max_loaded), compiled_(options.max_compiled) {}

absl::StatusOr<std::shared_ptr<const Executable>> KernelCache::Get(const KernelSource& source,
                                                                   Device& device) {
  ++num_asked_;
  const Digest id = IdOf(source, device);
  return loaded_.Get({id, device.name()}, [&] { return Load(id, source, device); });
}

absl::StatusOr<std::shared_ptr<const Executable>> KernelCache::Load(const Digest& id,
                                                                    const KernelSource& source,
                                                                    Device& device) {
  KILN_ASSIGN_OR_RETURN(const std::shared_ptr<const CompiledKernel> compiled,
                        FindOrCompile(id, source, device));
  ++num_loaded_;
  absl::StatusOr<std::shared_ptr<const Executable>> executable =
      device.Load(compiled->object, compiled->signature);
  if (absl::IsDataLoss(executable.status())) {
    // Unaltered, but not for this device: whoever stored it had another one under the same id.
    KILN_ASSIGN_OR_RETURN(const CompiledKernel again, Compile(source, device),
                          _ << "while compiling kernel \"" << source.name << "\"");
    if (store_ != nullptr) store_->Store(id, ToBytes(again));
    executable = device.Load(again.object, again.signature);
  }
  KILN_RETURN_IF_ERROR(executable) << "while loading kernel \"" << source.name << "\"";
  return executable;
}

absl::StatusOr<std::shared_ptr<const CompiledKernel>> KernelCache::FindOrCompile(
    const Digest& id, const KernelSource& source, Device& device) {
  return compiled_.Get(id, [&]() -> absl::StatusOr<std::shared_ptr<const CompiledKernel>> {
    if (store_ != nullptr) {
      if (const std::optional<std::string> bytes = store_->Find(id); bytes.has_value()) {
        absl::StatusOr<CompiledKernel> kernel = CompiledKernelFrom(*bytes);
        if (kernel.ok()) return std::make_shared<const CompiledKernel>(*std::move(kernel));
      }
    }
    KILN_ASSIGN_OR_RETURN(CompiledKernel kernel, Compile(source, device),
                          _ << "while compiling kernel \"" << source.name << "\"");
    if (store_ != nullptr) store_->Store(id, ToBytes(kernel));
    return std::make_shared<const CompiledKernel>(std::move(kernel));
  });
}

absl::StatusOr<CompiledKernel> KernelCache::Compile(const KernelSource& source, Device& device) {
  Graph g;
  const int64_t begin = ThreadTimeNs();
  KILN_ASSIGN_OR_RETURN(const std::vector<Ref> roots, FromCompact(g, source.compact));
  if (roots.size() != 1) return absl::InternalError("a kernel has one root");
  ++num_lowered_;
  KILN_ASSIGN_OR_RETURN(const codegen::Program program,
                        codegen::LowerKernel(g, roots[0], device.target(),
                                             {.name = source.name, .math = source.math}));
  const int64_t lowered = ThreadTimeNs();
  ++num_compiled_;
  KILN_ASSIGN_OR_RETURN(std::string object, device.Compile(program));
  lower_ns_ += lowered - begin;
  compile_ns_ += ThreadTimeNs() - lowered;
  return CompiledKernel{std::move(object), SignatureOf(program)};
}

KernelCache::Counters KernelCache::counters() const {
  return {num_asked_, num_lowered_, num_compiled_, num_loaded_, lower_ns_, compile_ns_};
}

}  // namespace kiln::runtime
