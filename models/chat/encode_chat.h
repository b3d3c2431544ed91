// Conversations as ids.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/models/chat/chat_format.h"
#include "weft/models/chat/conversation.h"
#include "weft/models/tokenizers/tokenizer.h"
#include "weft/models/tokenizers/unicode/span.h"

namespace WEFT_API weft {

struct EncodeChatOptions {
  ChatOptions chat = {};
  /// What spells a special token within messages (and settings) becomes it. Otherwise it is text:
  /// nobody ends a turn by writing "<|im_end|>".
  bool special_in_messages = false;
  /// Whose messages are answers.
  std::vector<std::string> answer_roles = {"assistant"};
};

/// A conversation as ids. All vectors are of one size.
struct EncodedChat {
  std::vector<std::int32_t> ids;
  /// 1 for ids of answers: what a model learns to write. They are what the format marks by {%
  /// generation %}; otherwise the contents of answers, what the format puts between parts of one,
  /// and the token that ends it, if only white space is between them; of a mark that the tokenizer
  /// has no id for ("<|im_end|>"), all that spell it.
  std::vector<std::uint8_t> answer;
  std::vector<Span> spans;  // the bytes of `text` that an id stands for
  std::string text;

  std::size_t size() const { return ids.size(); }
};

/// Ids of a conversation, as those of the text that `format` makes of it (nothing is put around it:
/// formats write what begins and ends a text). Throws as ChatFormat::render and
/// Tokenizer::encode_text.
EncodedChat encode_chat(const Tokenizer& tokenizer, const ChatFormat& format,
                        const Conversation& conversation, const EncodeChatOptions& options = {});

}  // namespace weft
