// Markers that a chat format writes around messages, for example "<|im_end|>" and "</s>".
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "weft/models/text/chat/chat_format.h"

namespace WEFT_API weft {

/// Returns the size in bytes of the marker at the start of `text`, or 0 if there is none. A marker
/// is one of `specials`, or any text of the form "<...>" without whitespace.
std::size_t mark_size(std::string_view text, const SpecialTexts& specials);

/// Returns all distinct markers that the format writes around messages, in order of their first
/// occurrence. Train a new tokenizer with each marker as a special token. The result is empty if
/// the format rejects a conversation that consists of one question and one answer.
std::vector<std::string> marks_of(const ChatFormat& format);

/// The marker that ends an answer.
struct AnswerEnd {
  /// The special id of the marker, or -1 if several ids spell the marker or if there is none.
  std::int32_t id = -1;
  std::string text = {};
};
/// Returns the marker that `format` writes at the end of answers. The result is empty if the format
/// writes no marker, or if it rejects a conversation that consists of one question and one answer.
AnswerEnd answer_end(const Tokenizer& tokenizer, const ChatFormat& format);

}  // namespace weft
