// Fields that several kinds of requests contain. Internal: includes the JSON library.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "weft/models/generate/options.h"
#include "weft/models/serve/http/protocol/json_fields.h"
#include "weft/models/text/chat/conversation.h"

namespace weft {

/// Reads "messages" for a chat template: the content of each message is one text, the arguments of
/// tool calls are objects, and developers are the system. Throws ApiError (400).
Conversation read_messages(Fields& fields);

/// Reads a list of token ids. Throws ApiError (400): `name` must be `wanted`.
TokenIds read_ids(const Fields& fields, const std::string& name, const Json& list,
                  const std::string& wanted);

/// Reads the field `name`: a string, a list of strings, a list of token ids, or a list of lists of
/// token ids, at most `most`. Throws ApiError (400).
std::vector<std::variant<std::string, TokenIds>> read_texts_or_ids(Fields& fields,
                                                                   const std::string& name,
                                                                   std::int64_t most);

}  // namespace weft
