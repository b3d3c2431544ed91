// Decoders of the GPT family from Hugging Face folders.
#pragma once

#include <cstdint>
#include <string>

#include "weft/models/families/gpt.h"
#include "weft/models/hf/model.h"

namespace WEFT_API weft {
namespace hf {

/// Returns true if `config_json` (the contents of a config.json) describes a decoder of the GPT
/// family.
bool is_gpt(const std::string& config_json);

/// Returns true if `config_json` describes a decoder that can be used as a language model: its
/// class is the one for language modelling or the base class, or is not specified. In files of base
/// classes, such as those of early GPTs, the embedding table serves as the head.
bool is_gpt_language_model(const std::string& config_json);

/// Returns the class without a head of a decoder of the GPT family: "LlamaModel".
std::string gpt_base_class(const std::string& config_json);

/// Returns the value of bos_token_id if `config_json` does not contain this key: the default of the
/// model type in Hugging Face transformers, or -1 if it has none or is not a decoder.
std::int64_t default_bos_id(const std::string& config_json);

/// Returns the config of a decoder of the GPT family from the contents of its config.json. Missing
/// keys have the defaults of Hugging Face transformers. Keys that affect results are either
/// honoured or rejected with an ArgumentError that names the key.
GptConfig gpt_config(const std::string& config_json);

/// A decoder and its parameter names in Hugging Face transformers.
struct GptModel {
  Gpt gpt;
  Model model;
};
/// Declares the parameters of the class for language modelling at the root of a graph and maps
/// their names to those in the folder. The model has no outputs yet.
GptModel build_gpt_model(Graph& graph, const std::string& config_json);

}  // namespace hf
}  // namespace weft
