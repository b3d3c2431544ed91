// Configs of Hugging Face's decoders.
#pragma once

#include <string>

#include "weft/models/families/gpt_config.h"

namespace weft::hf {

/// The config of a GPT-1, GPT-2, GPT-NeoX, LLaMA or Mistral from the text of its config.json
/// (missing keys have that library's defaults). Every key that changes numbers is honoured or
/// refused by name (ArgumentError).
GptConfig gpt_config(const std::string& config_json);

}  // namespace weft::hf
