#include "core/runtime/registry.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/dtype/status.h"

namespace kiln::runtime {
namespace {

struct DeviceName {
  std::string kind;
  int index;  // -1: none that there is.
  std::string full_name;
};

DeviceName Parse(std::string_view name) {
  DeviceName parsed = {absl::AsciiStrToLower({name.data(), name.size()}), 0, ""};
  if (const size_t colon = parsed.kind.find(':'); colon != std::string::npos) {
    if (!absl::SimpleAtoi(parsed.kind.substr(colon + 1), &parsed.index)) parsed.index = -1;
    parsed.kind.resize(colon);
  }
  parsed.full_name = absl::StrCat(parsed.kind, ":", parsed.index);
  return parsed;
}

}  // namespace

absl::Status Registry::Register(Backend backend) {
  absl::MutexLock lock(&mu_);
  for (const Backend& b : backends_) {
    if (b.kind == backend.kind) {
      return absl::AlreadyExistsError(absl::StrCat("there is a backend \"", b.kind, "\" already"));
    }
  }
  backends_.push_back(std::move(backend));
  return absl::OkStatus();
}

void Registry::Alias(std::string_view alias, std::string_view name) {
  absl::MutexLock lock(&mu_);
  aliases_[Parse(alias).full_name] = Parse(name).full_name;
}

absl::StatusOr<Device*> Registry::Get(std::string_view name) {
  absl::MutexLock lock(&mu_);
  DeviceName parsed = Parse(name);
  if (auto alias = aliases_.find(parsed.full_name); alias != aliases_.end()) {
    parsed = Parse(alias->second);
  }
  const auto& [kind, index, full_name] = parsed;
  if (auto found = devices_.find(full_name); found != devices_.end()) return found->second.get();
  for (const Backend& b : backends_) {
    if (b.kind != kind || index < 0 || index >= b.num_devices) continue;
    KILN_ASSIGN_OR_RETURN(std::unique_ptr<Device> device, b.create(index, full_name),
                          _ << "while opening device " << full_name);
    return devices_.emplace(full_name, std::move(device)).first->second.get();
  }
  std::vector<std::string> known;
  for (const Backend& b : backends_) {
    known.push_back(b.num_devices == 1 ? absl::StrCat(b.kind, ":0")
                                       : absl::StrCat(b.kind, ":0..", b.num_devices - 1));
  }
  return absl::NotFoundError(absl::StrCat("no device \"", std::string(name),
                                          "\"; there are: ", absl::StrJoin(known, ", ")));
}

std::vector<std::string> Registry::Names() const {
  absl::MutexLock lock(&mu_);
  std::vector<std::string> names;
  for (const Backend& b : backends_) {
    for (int i = 0; i < b.num_devices; ++i) names.push_back(absl::StrCat(b.kind, ":", i));
  }
  return names;
}

}  // namespace kiln::runtime
