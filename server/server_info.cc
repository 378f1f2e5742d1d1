#include "server/server_info.h"

#include <utility>

#include "server/graph/functions.h"
#include "server/secret.h"

namespace kiln::server {
namespace {

pb::Limits Describe(const SessionLimits& limits) {
  pb::Limits message;
  const auto set = [](int64_t n) { return static_cast<uint64_t>(n); };
  message.set_max_message_bytes(set(limits.max_message_bytes));
  message.set_max_inline_bytes(set(limits.max_inline_bytes));
  message.set_max_graph_nodes(set(limits.max_graph_nodes));
  message.set_max_name_bytes(set(limits.max_name_bytes));
  message.set_max_buffers(set(limits.max_buffers));
  message.set_max_graphs(set(limits.max_graphs));
  message.set_max_events(set(limits.max_events));
  message.set_max_transfers(set(limits.max_transfers));
  message.set_max_session_bytes(set(limits.max_bytes));
  message.set_max_queued_commands(set(limits.max_queued_commands));
  message.set_max_queued_bytes(set(limits.max_queued_bytes));
  message.set_max_queued_device_ms(set(absl::ToInt64Milliseconds(limits.max_queued_device_time)));
  message.set_max_unacked_bytes(set(limits.max_unacked_bytes));
  message.set_max_blob_bytes(set(limits.max_blob_bytes));
  message.set_max_principal_blob_bytes(set(limits.max_principal_blob_bytes));
  message.set_chunk_bytes(set(limits.chunk_bytes));
  message.set_lease_ms(set(absl::ToInt64Milliseconds(limits.lease)));
  message.set_transfer_timeout_ms(set(absl::ToInt64Milliseconds(limits.transfer_timeout)));
  return message;
}

}  // namespace

ServerDescription::ServerDescription(std::vector<runtime::Device*> devices,
                                     const SessionLimits& limits, std::string shared_memory_socket)
    : devices_(std::move(devices)) {
  info_.set_version(kVersion);
  info_.set_protocol(kProtocol);
  for (runtime::Device* device : devices_) {
    pb::DeviceInfo& d = *info_.add_devices();
    const runtime::MemoryLimits memory = device->memory().Limits();
    d.set_name(device->name());
    d.set_kind(std::string(device->kind()));
    d.set_arch(device->compiler_id());
    d.set_memory_bytes(static_cast<uint64_t>(memory.total_bytes));
    d.set_alignment(static_cast<uint32_t>(memory.alignment));
    d.set_is_default(device == devices_.front());
  }
  *info_.mutable_limits() = Describe(limits);
  info_.set_functions_digest(FunctionsDigest());
  info_.set_boot_id(RandomBytes(16));
  info_.set_shared_memory_socket(std::move(shared_memory_socket));
}

pb::ServerInfo ServerDescription::Info() const {
  pb::ServerInfo info = info_;
  for (size_t i = 0; i < devices_.size(); ++i) {
    info.mutable_devices(static_cast<int>(i))
        ->set_used_bytes(static_cast<uint64_t>(devices_[i]->memory().used_bytes()));
  }
  return info;
}

const pb::ListFunctionsResponse& ServerDescription::Functions() const {
  return DescribeFunctions();
}

}  // namespace kiln::server
