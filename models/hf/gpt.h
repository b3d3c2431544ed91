// Decoders of the GPT family from Hugging Face folders.
#pragma once

#include <string>

#include "weft/models/families/gpt.h"
#include "weft/models/hf/model.h"

namespace WEFT_API weft {
namespace hf {

/// Returns true if `config_json` (the contents of a config.json) describes a decoder of the GPT
/// family.
bool is_gpt(const std::string& config_json);

/// The supported Hugging Face classes of a decoder.
enum class GptClass { base, language_model, sequence_classification };
/// Returns the Hugging Face name of a class, for example "GPT2Model", "GPT2LMHeadModel",
/// "LlamaForCausalLM" or "GPT2ForSequenceClassification".
std::string gpt_class(const std::string& model_type, GptClass which);

/// Returns the config of a GPT-1, GPT-2, GPT-NeoX, LLaMA or Mistral model from the contents of its
/// config.json. Missing keys have the defaults of Hugging Face transformers. Keys that affect
/// results are either honoured or rejected with an ArgumentError that names the key.
GptConfig gpt_config(const std::string& config_json);

/// A decoder and its parameter names in Hugging Face transformers.
struct GptModel {
  Gpt gpt;
  Model model;
};
/// Declares the parameters of a decoder at the root of a graph and maps their names to those in the
/// folder. `architecture` is a Hugging Face class; the default is the class for language modelling,
/// and other classes are built without a head. The model has no outputs yet.
GptModel build_gpt_model(Graph& graph, const std::string& config_json,
                         const std::string& architecture = {});

}  // namespace hf
}  // namespace weft
