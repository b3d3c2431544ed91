// GPTs by name.
#pragma once

#include "weft/models/families/gpt_config.h"
#include "weft/models/train/preset.h"

namespace weft {

/// char-small, nanogpt-cpu, llama-cpu, nanogpt-baby, gpt2. The vocabulary is set by the text.
const std::vector<Preset<GptConfig>>& gpt_presets();

}  // namespace weft
