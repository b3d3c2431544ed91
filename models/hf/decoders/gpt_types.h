// The model types of the GPT family. Internal to hf.
#pragma once

#include <string>
#include <vector>

#include "weft/models/families/gpt_config.h"
#include "weft/models/hf/config_writer.h"
#include "weft/models/hf/file_layout.h"
#include "weft/models/hf/name_map.h"

namespace weft::hf {

/// Names in Hugging Face transformers of the modules of a Gpt.
struct GptNames {
  std::string base;  // prefix of the names below in classes with a head
  ModuleNames modules;
  std::string blocks;         // list of the blocks
  ModuleNames block_modules;  // relative to a block
  /// Parameters that files store in another form, relative to a block.
  std::vector<FileLayout> layouts = {};
  std::string head = "lm_head";
  /// Further patterns of tensors that the model does not use, relative to the base model.
  std::vector<std::string> unused = {};
};

/// A model type: how its config.json, tensor names and classes differ from those of other types.
struct GptType {
  std::string name;    // model_type in config.json
  std::string prefix;  // prefix of the class names, for example "GPT2"
  /// Defaults of the keys, and the fields that have no key. If `inner` or `head_dim` is not 0,
  /// transformers does not derive it from the width, so it is always written.
  GptConfig defaults;
  Keys<GptConfig> keys;
  GptNames names;
  /// Changes names that depend on the config; may be null.
  void (*adjust_names)(const GptConfig&, GptNames&) = nullptr;
  std::string language_model = "ForCausalLM";  // the class with this head, without the prefix
  /// Name of the layer with the scores of ...ForTokenClassification. Empty if there is no such
  /// class.
  std::string token_scores = "score";
  bool has_sequence_classifier = true;
  PaddedCausality padded = {.added = true};
  bool takes_position_ids = true;
  bool takes_token_type_ids = false;
  std::int64_t default_bos_id = -1;  // bos_token_id if config.json does not contain it
  /// pad_token_id if config.json does not contain it, for classes that find the ends of rows.
  std::int64_t default_pad_id = -1;
  /// Prefix of `language_model` if it differs from that of the other classes ("Gemma3").
  std::string language_model_prefix = {};
  /// Prefix of the class names in files for the code of the model's authors ("MPT").
  std::string authors_prefix = {};

  /// Returns the name of a class in transformers, given that name or the one in the authors' code.
  std::string library_class(const std::string& given) const {
    if (authors_prefix.empty() || !given.starts_with(authors_prefix)) return given;
    return prefix + given.substr(authors_prefix.size());
  }
  std::string language_model_class() const {
    return (language_model_prefix.empty() ? prefix : language_model_prefix) + language_model;
  }
};

/// Returns all model types of the family, in the order in which export_model() tries them.
const std::vector<GptType>& gpt_types();

// The entries of each file.
std::vector<GptType> gpt2_types();      // GPT-1 to GPT-J and CodeGen
std::vector<GptType> alibi_types();     // BLOOM, MPT, Falcon
std::vector<GptType> llama_types();     // LLaMA, Mistral and types with few differences
std::vector<GptType> qwen_types();      // Qwen 2 and 3, including mixtures of experts
std::vector<GptType> norm_types();      // types that differ in their norms: Gemma, OLMo, GLM, ...
std::vector<GptType> parallel_types();  // Phi, Cohere, StableLM and others
std::vector<GptType> expert_types();    // Mixtral, OLMoE, GPT-OSS, Llama 4
std::vector<GptType> deepseek_types();

}  // namespace weft::hf
