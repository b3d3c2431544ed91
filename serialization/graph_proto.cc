#include "weft/serialization/graph_proto.h"

#include <fmt/format.h>

#include "weft/core/excerpt.h"

namespace weft {
namespace {

using google::protobuf::FieldDescriptor;

/// Throws ArgumentError for the first string in `message` or its nested messages that is not valid
/// UTF-8.
void check_strings(const google::protobuf::Message& message) {
  const google::protobuf::Reflection& fields = *message.GetReflection();
  std::vector<const FieldDescriptor*> present;
  fields.ListFields(message, &present);
  for (const FieldDescriptor* field : present) {
    const bool text = field->type() == FieldDescriptor::TYPE_STRING;
    if (!text && field->type() != FieldDescriptor::TYPE_MESSAGE) continue;
    const int count = field->is_repeated() ? fields.FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      if (!text) {
        check_strings(field->is_repeated() ? fields.GetRepeatedMessage(message, field, i)
                                           : fields.GetMessage(message, field));
        continue;
      }
      const std::string value = field->is_repeated() ? fields.GetRepeatedString(message, field, i)
                                                     : fields.GetString(message, field);
      if (as_utf8(value) == value) continue;
      throw ArgumentError(fmt::format("save: \"{}\" is not valid UTF-8 (field '{}' of {})",
                                      excerpt(value), field->name(),
                                      field->containing_type()->name()));
    }
  }
}

}  // namespace

std::string message_bytes(const google::protobuf::Message& message) {
  check_strings(message);
  return message.SerializeAsString();
}

}  // namespace weft
