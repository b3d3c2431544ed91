// The ids from which the output of a speech recogniser starts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/models/tasks/speech/speech_model.h"

namespace WEFT_API weft {

/// Returns the code of a language, which may be given as a code ("en"), as a token ("<|en|>") or,
/// ignoring case, as an English name ("english"). Throws an ArgumentError that lists the model's
/// codes if the model does not support the language.
std::string speech_language(const SpeechModel& model, std::string_view language);

/// Returns the task: `given`, the model's default or "transcribe". Throws ArgumentError if the
/// model does not support it.
std::string speech_task_name(const SpeechModel& model, const std::string& given);

/// Returns the ids before the text: the start id, the language and the task if the model has ids
/// for them and `language` is not empty, and the id for "no timestamps" unless `timestamps` is set.
TokenIds speech_start(const SpeechModel& model, const std::string& language,
                      const std::string& task, bool timestamps);

/// Encodes a text without special ids. Throws FormatError if the model has no tokenizer.
TokenIds speech_text_ids(const SpeechModel& model, std::string_view text);

}  // namespace weft
