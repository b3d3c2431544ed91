// Generation settings that belong to a model and are stored in its file.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "weft/models/generate/options.h"
#include "weft/models/generate/speech_settings.h"

namespace WEFT_API weft {

/// Settings for one of several tasks of a model, for example "translation_en_to_de".
struct TaskGeneration {
  std::string prefix = {};              // added before every text: "translate English to German: "
  GenerationOptions options = {};       // all options, not only those that differ from the model's
  bool states_length = false;           // see GenerationSettings
  TokenIds start = {};                  // see GenerationSettings
  std::string unsupported_reason = {};  // empty if the task is supported
};

/// Generation settings of a model from a Hugging Face folder: the contents of
/// generation_config.json, and the special ids that are added to texts.
struct GenerationSettings {
  /// Only the options that belong to a model: no stop texts or sequences, `start` or batches.
  GenerationOptions options = {};
  /// True if the model specifies a maximum length. If false, the lengths in `options` are just the
  /// Hugging Face transformers defaults.
  bool states_length = false;
  /// The first ids of an encoder-decoder's output; empty if the model does not specify them.
  TokenIds start = {};
  /// The id with which a decoder starts if there is no prompt (bos_token_id); -1 if the model does
  /// not specify it. Not set in files of earlier versions.
  std::optional<std::int64_t> bos_id = {};
  /// Ids that are added before and after every input text if the tokenizer does not add them.
  TokenIds before = {}, after = {};
  /// Task settings by task name. Empty in files of earlier versions.
  std::map<std::string, TaskGeneration, std::less<>> tasks = {};
  /// Set for speech recognition.
  std::optional<SpeechSettings> speech = {};

  /// Returns the settings of a task. Throws ArgumentError if the name is unknown (the message lists
  /// the known tasks) or if the task is not supported.
  const TaskGeneration& task(std::string_view name) const;
  std::string to_json() const;
  /// Throws FormatError if a field is missing, unknown or of the wrong type. The values are checked
  /// when the settings are used.
  static GenerationSettings from_json(std::string_view json);
};

}  // namespace weft
