// Decoders of the GPT family from Hugging Face folders.
#pragma once

#include <string>

#include "weft/models/families/gpt.h"
#include "weft/models/hf/model.h"

namespace WEFT_API weft {
namespace hf {

/// Returns true if the text of a config.json describes a decoder of the GPT family.
bool is_gpt(const std::string& config_json);

/// The supported classes of a decoder.
enum class GptClass { base, language_model, sequence_classification };
/// Returns the Hugging Face name of a class ("GPT2Model", "GPT2LMHeadModel" or "LlamaForCausalLM",
/// "GPT2ForSequenceClassification").
std::string gpt_class(const std::string& model_type, GptClass which);

/// Returns the config of a GPT-1, GPT-2, GPT-NeoX, LLaMA or Mistral model from the text of its
/// config.json. Missing keys have the defaults of Hugging Face transformers. Every key that changes
/// results is honoured or an error that names it (ArgumentError).
GptConfig gpt_config(const std::string& config_json);

/// A decoder with its Hugging Face names.
struct GptModel {
  Gpt gpt;
  Model model;
};
/// Declares the parameters of a decoder at the root of a graph, with their names in the folder.
/// `architecture` is a Hugging Face class, by default the language model; other classes are built
/// without a head. The model has no outputs yet.
GptModel build_gpt_model(Graph& graph, const std::string& config_json,
                         const std::string& architecture = {});

}  // namespace hf
}  // namespace weft
