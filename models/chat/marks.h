// The marks that a chat format writes around messages, such as "<|im_end|>" and "</s>".
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
/// occurrence. A new tokenizer should have an id for each. Empty if the format rejects a
/// conversation of a question and an answer.
std::vector<std::string> marks_of(const ChatFormat& format);

/// The end mark of an answer.
struct AnswerEnd {
  /// The special id of the mark; -1 if the mark is spelled with several ids, or if there is no
  /// mark.
  std::int32_t id = -1;
  std::string text = {};
};
/// Returns the mark with which `format` ends answers. Empty if it writes no mark, or if it rejects
/// a conversation of a question and an answer.
AnswerEnd answer_end(const Tokenizer& tokenizer, const ChatFormat& format);

}  // namespace weft
