// Decoders of Hugging Face folders.
#pragma once

#include <string>

#include "weft/models/families/gpt.h"
#include "weft/models/hf/model.h"

namespace WEFT_API weft {
namespace hf {

/// True if the text of a config.json is of a decoder of the GPT family.
bool is_gpt(const std::string& config_json);

/// The classes of a decoder that can be built, and what the library calls them ("GPT2Model",
/// "GPT2LMHeadModel" or "LlamaForCausalLM", "GPT2ForSequenceClassification").
enum class GptClass { base, language_model, sequence_classification };
std::string gpt_class(const std::string& model_type, GptClass which);

/// The config of a GPT-1, GPT-2, GPT-NeoX, LLaMA or Mistral from the text of its config.json
/// (missing keys have that library's defaults). Every key that changes numbers is honoured or
/// refused by name (ArgumentError).
GptConfig gpt_config(const std::string& config_json);

/// The parameters of a decoder, declared at the root of a graph, and what they are called in its
/// folder: of the language model or of another of the library's classes (`architecture`), which has
/// no head here. The model has no outputs yet.
struct GptModel {
  Gpt gpt;
  Model model;
};
GptModel build_gpt_model(Graph& graph, const std::string& config_json,
                         const std::string& architecture = {});

}  // namespace hf
}  // namespace weft
