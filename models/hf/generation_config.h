// Generation settings in Hugging Face model folders.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "weft/models/generate/settings.h"
#include "weft/models/hf/folder.h"

namespace WEFT_API weft {
namespace hf {

struct GenerationConfig {
  /// First output id of an encoder-decoder; -1 if not specified.
  std::int64_t start_id = -1;
  /// The id with which a decoder starts if there is no prompt; -1 if not specified.
  std::int64_t bos_id = -1;
  bool states_length = false;  // true if max_length or max_new_tokens is specified
  GenerationOptions options;
  std::optional<SpeechSettings> speech = {};  // set for Whisper
  /// Task settings from "task_specific_params" in config.json: `options` with the overrides of each
  /// task. For an unsupported task, the entry holds the reason instead.
  std::map<std::string, TaskGeneration, std::less<>> tasks;
};

/// Reads generation_config.json, or the generation keys of config.json if there is no such file.
/// Missing keys have the defaults of Hugging Face transformers. Keys that affect the generated
/// output are either honoured or rejected with an ArgumentError that names the key; sampling keys
/// apply only if do_sample is true. Tasks are read in the same way as in Hugging Face pipelines:
/// task values override those of both files, and a task without a prefix uses the prefix in
/// config.json.
GenerationConfig read_generation_config(const Folder& folder);
/// As above, but takes the contents of the files. `generation` is empty if there is no
/// generation_config.json.
GenerationConfig generation_config(const std::string& config, const std::string& generation);

/// Returns the contents of a generation_config.json; the inverse of generation_config(). Settings
/// for which the file has no key are omitted (GenerationOptions::suppressed, which is implied for
/// Marian).
std::string generation_config_json(GenerationConfig config);

}  // namespace hf
}  // namespace weft
