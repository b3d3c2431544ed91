// Decoders of Hugging Face folders.
#pragma once

#include <string>

#include "weft/models/families/gpt.h"
#include "weft/models/hf/model.h"

namespace weft::hf {

/// True if the text of a config.json is of a decoder of the GPT family.
bool is_gpt(const std::string& config_json);

/// The config of a GPT-1, GPT-2, GPT-NeoX, LLaMA or Mistral from the text of its config.json
/// (missing keys have that library's defaults). Every key that changes numbers is honoured or
/// refused by name (ArgumentError).
GptConfig gpt_config(const std::string& config_json);

/// The config.json of a decoder built here: of GPT-1, GPT-2, GPT-NeoX, LLaMA or Mistral, whichever
/// it is. Throws ArgumentError that names the field which none of them has.
std::string gpt_config_json(const GptConfig& config);

/// The parameters of a decoder, declared at the root of a graph, and what they are called in its
/// folder. The model has no outputs yet.
struct GptModel {
  Gpt gpt;
  Model model;
};
GptModel build_gpt_model(Graph& graph, const std::string& config_json);

}  // namespace weft::hf
