// The model types of the GPT family. Internal to hf.
#pragma once

#include <string>
#include <vector>

#include "weft/models/families/gpt_config.h"
#include "weft/models/hf/config_writer.h"
#include "weft/models/hf/name_map.h"

namespace weft::hf {

/// Names in Hugging Face transformers of the modules of a Gpt.
struct GptNames {
  std::string base;  // prefix of the names below in classes with a head
  ModuleNames modules;
  std::string blocks;         // list of the blocks
  ModuleNames block_modules;  // relative to a block
  std::string head = "lm_head";
};

/// A model type: how its config.json, tensor names and classes differ from those of other types.
struct GptType {
  std::string name;    // model_type in config.json
  std::string prefix;  // prefix of the class names, for example "GPT2"
  /// Defaults of the keys, and the fields that have no key. If `inner` or `head_dim` is not 0,
  /// transformers does not derive it from the width, so it is always written.
  GptConfig defaults;
  Keys<GptConfig> keys;
  GptNames names;
  std::string language_model = "ForCausalLM";  // the class with this head, without the prefix
  PaddedCausality padded = {};
  bool takes_position_ids = true;
  bool takes_token_type_ids = false;
  std::int64_t default_bos_id = -1;  // bos_token_id if config.json does not contain it
};

/// Returns all model types of the family, in the order in which export_model() tries them.
const std::vector<GptType>& gpt_types();

}  // namespace weft::hf
