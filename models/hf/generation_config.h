// What a Hugging Face folder says about generating.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "weft/models/generate/settings.h"
#include "weft/models/hf/folder.h"

namespace WEFT_API weft {
namespace hf {

struct GenerationConfig {
  std::int64_t start_id = -1;  // what decoders of encoder-decoders start from; -1 = not stated
  bool states_length = false;  // whether max_length or max_new_tokens is stated
  GenerationOptions options;
  /// Of "task_specific_params" in config.json: the same with what a task changes of it. A task that
  /// is not supported says why.
  std::map<std::string, TaskGeneration, std::less<>> tasks;
};

/// Reads generation_config.json, or where there is none the keys of generation in config.json.
/// Missing keys have that library's defaults. Every key that changes what is generated is honoured
/// or refused by name (ArgumentError); those of sampling count only where do_sample is true. Tasks
/// are read as the library's pipelines do: what they say goes before both files, and where they
/// have no prefix, that of config.json is theirs.
GenerationConfig read_generation_config(const Folder& folder);
/// The same from texts; `generation` may be empty: there is no such file.
GenerationConfig generation_config(const std::string& config, const std::string& generation);

/// The inverse: the text of a generation_config.json. `bos_id`, which only that file knows: what
/// stands in front of texts, or -1. Settings that it has no key for (ids that are not even scored,
/// but for Marian's) are not in it.
std::string generation_config_json(GenerationConfig config, std::int64_t bos_id = -1);

}  // namespace hf
}  // namespace weft
