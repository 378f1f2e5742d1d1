#include "core/runtime/build_id.h"

#include <link.h>
#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace kiln::runtime {
namespace {

// The note that linkers leave: a hash of the file. Empty if there is none.
std::string_view BuildNote(const dl_phdr_info& info) {
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info.dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const char* at = reinterpret_cast<const char*>(info.dlpi_addr + segment.p_vaddr);
    const char* const end = at + segment.p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      ElfW(Nhdr) note;
      std::memcpy(&note, at, sizeof(note));
      const char* const name = at + sizeof(note);
      const char* const contents = name + (note.n_namesz + 3) / 4 * 4;
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
          std::memcmp(name, "GNU", 4) == 0) {
        return {contents, note.n_descsz};
      }
      at = contents + (note.n_descsz + 3) / 4 * 4;
    }
  }
  return {};
}

// The first object is the program itself, which has Kiln linked in.
int OnFirst(dl_phdr_info* info, size_t /*size*/, void* to) {
  *static_cast<std::string_view*>(to) = BuildNote(*info);
  return 1;
}

std::string MakeBuildId() {
  std::string_view note;
  dl_iterate_phdr(OnFirst, &note);
  if (!note.empty()) return absl::BytesToHexString({note.data(), note.size()});
  struct stat info;
  if (stat("/proc/self/exe", &info) != 0) return "unknown";
  return absl::StrCat(info.st_size, ".", info.st_mtim.tv_sec, ".", info.st_mtim.tv_nsec);
}

}  // namespace

const std::string& BuildId() {
  static const std::string& id = *new std::string(MakeBuildId());
  return id;
}

}  // namespace kiln::runtime
