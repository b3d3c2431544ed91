// GPT presets.
#pragma once

#include "weft/models/families/gpt_config.h"
#include "weft/models/train/preset.h"

namespace WEFT_API weft {

/// char-small, nanogpt-cpu, llama-cpu, nanogpt-baby, gpt2. The text determines the vocabulary.
const std::vector<Preset<GptConfig>>& gpt_presets();

/// Presets for instruction tuning: instruct-cpu, instruct-cpu-lora, then those of gpt_presets().
const std::vector<Preset<GptConfig>>& instruction_presets();

}  // namespace weft
