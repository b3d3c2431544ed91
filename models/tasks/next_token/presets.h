// GPT presets.
#pragma once

#include "weft/models/families/gpt_config.h"
#include "weft/models/training/preset.h"

namespace WEFT_API weft {

/// Returns the presets char-small, nanogpt-cpu, llama-cpu, nanogpt-baby and gpt2. The text
/// determines the vocabulary.
const std::vector<Preset<GptConfig>>& gpt_presets();

/// Returns the presets for instruction tuning: instruct-cpu, instruct-cpu-lora, and then those in
/// gpt_presets().
const std::vector<Preset<GptConfig>>& instruction_presets();

}  // namespace weft
