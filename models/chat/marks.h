// The marks that a chat format puts around messages: "<|im_end|>", "</s>".
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/models/chat/chat_format.h"

namespace WEFT_API weft {

/// Bytes of the mark that `text` begins with, 0 where it begins with none: a text of `specials`, or
/// what is written like one, "<...>" without white space.
std::size_t mark_size(std::string_view text, const SpecialTexts& specials);

/// What the format writes around messages that looks like a special token, each once, in their
/// order: what a new tokenizer should have ids for. Empty for a format that refuses a question and
/// its answer.
std::vector<std::string> marks_of(const ChatFormat& format);

/// What ends a model's answer.
struct AnswerEnd {
  /// One special id, where the tokenizer has it; -1: `text` is spelled in several ids, or there is
  /// no end.
  std::int32_t id = -1;
  std::string text = {};
};
/// Nothing where the format ends answers by no mark, or refuses a question and its answer.
AnswerEnd answer_end(const Tokenizer& tokenizer, const ChatFormat& format);

}  // namespace weft
