// Marks that a chat format writes around messages, for example "<|im_end|>" and "</s>".
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/models/chat/chat_format.h"

namespace WEFT_API weft {

/// Returns the size in bytes of the mark at the start of `text`, or 0 if there is none. A mark is
/// one of `specials`, or any text of the form "<...>" without whitespace.
std::size_t mark_size(std::string_view text, const SpecialTexts& specials);

/// Returns all distinct marks that the format writes around messages, in order of their first
/// occurrence. Train a new tokenizer with each mark as a special token. The result is empty if the
/// format rejects a conversation that consists of one question and one answer.
std::vector<std::string> marks_of(const ChatFormat& format);

/// The mark that ends an answer.
struct AnswerEnd {
  /// The special id of the mark, or -1 if several ids spell the mark or if there is no mark.
  std::int32_t id = -1;
  std::string text = {};
};
/// Returns the mark that `format` writes at the end of answers. The result is empty if the format
/// writes no mark, or if it rejects a conversation that consists of one question and one answer.
AnswerEnd answer_end(const Tokenizer& tokenizer, const ChatFormat& format);

}  // namespace weft
