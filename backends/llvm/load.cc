// Linking of object files into this process.
#include <atomic>

#include "absl/strings/str_cat.h"

#include "llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h"
#include "llvm/ExecutionEngine/Orc/Core.h"
#include "llvm/ExecutionEngine/Orc/ExecutorProcessControl.h"
#include "llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h"
#include "llvm/Support/MemoryBuffer.h"

#include "backends/llvm/compile.h"
#include "backends/llvm/emitter.h"
#include "core/dtype/status.h"

namespace kiln::backend_llvm {
namespace {

namespace orc = llvm::orc;

absl::Status ToStatus(llvm::Error error) {
  return absl::DataLossError(absl::StrCat("cannot link: ", llvm::toString(std::move(error))));
}

// What all objects share. Thread-safe; lives as long as the process.
class Linker {
 public:
  static absl::StatusOr<Linker*> Get() {
    static const absl::StatusOr<Linker*> linker = Make();
    return linker;
  }

  // A library of its own for each object: they all define the same name.
  absl::StatusOr<std::pair<orc::JITDylib*, KernelFunction>> Link(std::string_view object) {
    const uint64_t number = num_libraries_.fetch_add(1);
    orc::JITDylib& library = session_.createBareJITDylib(absl::StrCat("object", number));
    absl::StatusOr<KernelFunction> entry = LinkInto(library, object);
    if (entry.ok()) return std::pair(&library, *entry);
    Remove(library);
    return entry.status();
  }
  void Remove(orc::JITDylib& library) {
    llvm::consumeError(session_.removeJITDylib(library));  // Frees its memory in any case.
  }

 private:
  static absl::StatusOr<Linker*> Make() {
    auto control = orc::SelfExecutorProcessControl::Create(
        nullptr, std::make_unique<orc::InPlaceTaskDispatcher>());
    if (!control) return ToStatus(control.takeError());
    auto memory = llvm::jitlink::InProcessMemoryManager::Create();
    if (!memory) return ToStatus(memory.takeError());
    return new Linker(std::move(*control), std::move(*memory));
  }
  Linker(std::unique_ptr<orc::ExecutorProcessControl> control,
         std::unique_ptr<llvm::jitlink::JITLinkMemoryManager> memory)
      : session_(std::move(control)), layer_(session_, std::move(memory)) {
    session_.setErrorReporter([](llvm::Error error) { llvm::consumeError(std::move(error)); });
  }

  absl::StatusOr<KernelFunction> LinkInto(orc::JITDylib& library, std::string_view object) {
    auto bytes = llvm::MemoryBuffer::getMemBufferCopy({object.data(), object.size()}, "kernel");
    if (llvm::Error error = layer_.add(library, std::move(bytes)))
      return ToStatus(std::move(error));
    auto symbol = session_.lookup({&library}, session_.intern(kEntryName));
    if (!symbol) return ToStatus(symbol.takeError());
    return symbol->getAddress().toPtr<KernelFunction>();
  }

  orc::ExecutionSession session_;
  orc::ObjectLinkingLayer layer_;
  std::atomic<uint64_t> num_libraries_ = 0;
};

class Loaded final : public LoadedObject {
 public:
  Loaded(Linker& linker, orc::JITDylib& library, KernelFunction function)
      : linker_(linker), library_(library), entry_(function) {}
  ~Loaded() override { linker_.Remove(library_); }
  KernelFunction entry() const override { return entry_; }

 private:
  Linker& linker_;
  orc::JITDylib& library_;
  const KernelFunction entry_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<LoadedObject>> LoadObject(std::string_view object) {
  KILN_ASSIGN_OR_RETURN(Linker* const linker, Linker::Get());
  KILN_ASSIGN_OR_RETURN(const auto linked, linker->Link(object));
  return std::make_unique<Loaded>(*linker, *linked.first, linked.second);
}

}  // namespace kiln::backend_llvm
