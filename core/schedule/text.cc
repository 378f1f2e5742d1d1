#include "core/uop/text.h"

#include "absl/strings/str_cat.h"

#include "core/schedule/schedule.h"

namespace kiln::schedule {
namespace {

std::string BufferText(const Schedule& s, int32_t index) {
  constexpr const char* kKinds[] = {"input", "output", "temporary"};
  const Buffer& b = s.buffers[static_cast<size_t>(index)];
  return absl::StrCat(kKinds[static_cast<size_t>(b.kind)], b.number, ":",
                      std::string(dtype::Name(b.dtype)), "[", b.elems, "]@",
                      s.devices[static_cast<size_t>(b.device)]);
}

}  // namespace

std::string ToText(const Schedule& s) {
  std::string text;
  for (const Item& item : s.items) {
    if (const auto* copy = std::get_if<Copy>(&item)) {
      absl::StrAppend(&text, "copy ", BufferText(s, copy->to), " <- ", BufferText(s, copy->from),
                      "\n\n");
      continue;
    }
    const Launch& launch = std::get<Launch>(item);
    absl::StrAppend(&text, "kernel ", launch.name, " on ",
                    s.devices[static_cast<size_t>(launch.device)], "\n");
    for (size_t i = 0; i < launch.buffers.size(); ++i) {
      absl::StrAppend(&text, "  data", i, " = ", BufferText(s, launch.buffers[i]), "\n");
    }
    absl::StrAppend(&text, uop::ToText(launch.kernel, uop::Layout::kLines), "\n\n");
  }
  for (const Output& output : s.outputs) {
    absl::StrAppend(&text, "output ", BufferText(s, output.buffer), " of shape (",
                    uop::ToText(output.dims), ")\n");
  }
  return text;
}

}  // namespace kiln::schedule
