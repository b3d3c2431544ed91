// Generation settings of speech recognition, which belong to a model and are stored in its file.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// The special ids of a Whisper model and its default options, the keys of generation_config.json
/// that only Whisper has.
struct SpeechSettings {
  using Ids = std::map<std::string, std::int64_t, std::less<>>;

  Ids languages = {};  // by code: "en" (lang_to_id, "<|en|>")
  Ids tasks = {};      // "transcribe", "translate" (task_to_id)
  /// -1 if the model has no such id. The ids after it are timestamps, from 0 in steps of two
  /// frames; the id before it means "no speech".
  std::int64_t no_timestamps_id = -1;
  std::int64_t previous_id = -1;            // precedes the previous text (prev_sot_token_id)
  std::int64_t max_initial_timestamp = -1;  // see TimestampRules::max_initial
  bool multilingual = true;
  // The defaults of TranscribeOptions.
  std::string language = {}, task = {};
  bool timestamps = false;             // return_timestamps
  bool condition_on_previous = false;  // condition_on_prev_tokens
  std::optional<double> compression_threshold = {}, logprob_threshold = {},
                        no_speech_threshold = {};

  std::int64_t first_timestamp_id() const { return no_timestamps_id + 1; }
  std::int64_t no_speech_id() const { return no_timestamps_id - 1; }
  /// Returns a JSON object with every field.
  std::string to_json() const;
  /// Throws FormatError if a field is missing or of the wrong type.
  static SpeechSettings from_json(std::string_view json);
  friend bool operator==(const SpeechSettings&, const SpeechSettings&) = default;
};

}  // namespace weft
