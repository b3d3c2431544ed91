// GPTs by name.
#pragma once

#include "weft/models/families/gpt_config.h"
#include "weft/models/train/preset.h"

namespace WEFT_API weft {

/// char-small, nanogpt-cpu, llama-cpu, nanogpt-baby, gpt2. The vocabulary is set by the text.
const std::vector<Preset<GptConfig>>& gpt_presets();

/// Of models that learn to answer: instruct-cpu, instruct-cpu-lora, then those of gpt_presets().
const std::vector<Preset<GptConfig>>& instruction_presets();

}  // namespace weft
