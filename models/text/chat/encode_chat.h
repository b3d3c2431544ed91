// Encodes conversations as token ids.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/models/text/chat/chat_format.h"
#include "weft/models/text/chat/conversation.h"
#include "weft/models/text/tokenizers/tokenizer.h"
#include "weft/models/text/unicode/span.h"

namespace WEFT_API weft {

struct EncodeChatOptions {
  ChatOptions chat = {};
  /// If true, the text of a special token within a message or variable is also encoded as that
  /// token. By default, only the format can produce special tokens, so "<|im_end|>" in a message
  /// does not end the turn.
  bool special_in_messages = false;
  /// Messages with these roles count as answers.
  std::vector<std::string> answer_roles = {"assistant"};
};

/// A conversation as token ids. `ids`, `answer` and `spans` have the same size.
struct EncodedChat {
  std::vector<std::int32_t> ids;
  /// 1 for ids that are part of an answer, which a model learns to generate, and 0 for all other
  /// ids. If the template has {% generation %} blocks, the answer ids are the ids within these
  /// blocks. Otherwise, they are the ids of an answer's contents, of text that the format inserts
  /// between parts of the contents, and of the token that ends the answer (if only whitespace
  /// separates the token from the contents). If the tokenizer has no single id for this end marker
  /// ("<|im_end|>"), all ids that spell the marker are included.
  std::vector<std::uint8_t> answer;
  /// The bytes of `text` that each id represents.
  std::vector<Span> spans;
  std::string text;

  std::size_t size() const { return ids.size(); }
};

/// Renders `conversation` with `format` and encodes the resulting text. No special tokens are
/// added, because the format itself writes the beginning and the end of the text. Throws the same
/// exceptions as ChatFormat::render() and Tokenizer::encode_text(), and DataError if the text
/// exceeds 4 GiB.
EncodedChat encode_chat(const Tokenizer& tokenizer, const ChatFormat& format,
                        const Conversation& conversation, const EncodeChatOptions& options = {});

}  // namespace weft
