// Generation settings of Hugging Face folders.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "weft/models/generate/settings.h"
#include "weft/models/hf/folder.h"

namespace WEFT_API weft {
namespace hf {

struct GenerationConfig {
  std::int64_t start_id = -1;  // first id of an encoder-decoder's output; -1 = not stated
  bool states_length = false;  // true if max_length or max_new_tokens is stated
  GenerationOptions options;
  /// Settings of tasks, from "task_specific_params" in config.json: `options` with the changes of
  /// the task. A task that is not supported contains the reason.
  std::map<std::string, TaskGeneration, std::less<>> tasks;
};

/// Reads generation_config.json, or the generation keys of config.json if there is no such file.
/// Missing keys have the defaults of Hugging Face transformers. Every key that changes the
/// generated output is honoured or an error that names it (ArgumentError); sampling keys apply only
/// if do_sample is true. Tasks are read as in the pipelines of Hugging Face transformers: their
/// values override those of both files, and a task without a prefix uses that of config.json.
GenerationConfig read_generation_config(const Folder& folder);
/// As above, from the texts of the files. `generation` is empty if there is no
/// generation_config.json.
GenerationConfig generation_config(const std::string& config, const std::string& generation);

/// The inverse: returns the text of a generation_config.json. `bos_id` is the id at the start of
/// texts, or -1; only this file contains it. Settings that the file has no key for are left out
/// (GenerationOptions::suppressed, which is implied for Marian).
std::string generation_config_json(GenerationConfig config, std::int64_t bos_id = -1);

}  // namespace hf
}  // namespace weft
