#include "server/command_kind.h"

namespace kiln::server {

std::string_view KindName(pb::Command::CommandCase kind) {
  static const google::protobuf::Descriptor& descriptor = *pb::Command::descriptor();
  const google::protobuf::FieldDescriptor* field =
      descriptor.FindFieldByNumber(static_cast<int>(kind));
  if (field == nullptr || field->message_type() == nullptr) return "Unknown";
  return field->message_type()->name();
}

}  // namespace kiln::server
