#include "weft/models/hf/config/harmless_keys.h"

#include <algorithm>
#include <array>
#include <utility>

namespace weft::hf {
namespace {

/// Names that start with an underscore are internal attributes of Hugging Face transformers, such
/// as _name_or_path, _commit_hash and _attn_implementation_autoset.
constexpr std::array<std::string_view, 4> kBookkeepingPrefixes = {
    "_", "unsloth_", "transformers.js", "transformers_js"};
constexpr std::array<std::string_view, 3> kBookkeeping = {"auto_map", "name_or_path",
                                                          "transformers_version"};

constexpr std::array kModelKeys = {
    // Bookkeeping and settings of other programs.
    "architectures", "attn_implementation", "dtype", "finetuning_task", "feature_extractor_type",
    "gradient_checkpointing", "image_processor_type", "is_llama_config", "language",
    "max_sequence_length", "max_seq_len", "max_seq_length", "model_max_length", "model_type",
    "neftune_noise_alpha", "output_attentions", "output_hidden_states", "output_past",
    "pretraining_tp", "problem_type", "processor_class", "return_dict",
    "sbert_ce_default_activation_function", "sentence_transformers", "tf_legacy_loss",
    "tokenizer_class", "torch_dtype", "use_bfloat16", "use_cache", "use_return_dict",
    // Memory and speed of training.
    "chunk_size_feed_forward",
    // Dropout in heads, and keys that no supported class reads.
    "classif_dropout", "classifier_dropout", "classifier_dropout_prob", "directionality",
    "max_window_layers", "pooler_fc_size", "pooler_num_attention_heads", "pooler_num_fc_layers",
    "pooler_size_per_head", "pooler_type", "summary_activation", "summary_first_dropout",
    "summary_last_dropout", "summary_proj_to_labels", "summary_type", "summary_use_proj",
    // Special ids and tokens.
    "bos_token", "bos_token_id", "cls_token_id", "decoder_start_token_id", "eos_token",
    "eos_token_id", "mask_token_id", "pad_token", "sep_token_id", "unk_token", "unk_token_id",
    // Defaults of text generation.
    "bad_words_ids", "begin_suppress_tokens", "diversity_penalty", "do_sample", "early_stopping",
    "encoder_no_repeat_ngram_size", "encoder_repetition_penalty", "epsilon_cutoff", "eta_cutoff",
    "exponential_decay_length_penalty", "forced_bos_token_id", "forced_decoder_ids",
    "forced_eos_token_id", "guidance_scale", "length_penalty", "max_length", "max_new_tokens",
    "min_length", "min_new_tokens", "min_p", "no_repeat_ngram_size", "num_beam_groups", "num_beams",
    "num_return_sequences", "output_scores", "penalty_alpha", "prefix", "remove_invalid_values",
    "renormalize_logits", "repetition_penalty", "return_dict_in_generate", "sequence_bias",
    "suppress_tokens", "task_specific_params", "temperature", "top_k", "top_p", "typical_p"};

template <class Names>
bool contains(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

bool is_bookkeeping_key(std::string_view name) {
  return contains(kBookkeeping, name) ||
         std::any_of(kBookkeepingPrefixes.begin(), kBookkeepingPrefixes.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

bool is_harmless_model_key(std::string_view name) { return contains(kModelKeys, name); }

bool is_off(const nlohmann::json& value) {
  return value.is_null() || value == false || (value.is_structured() && value.empty());
}

bool is_usual_value(std::string_view name, const nlohmann::json& value,
                    const nlohmann::json& config) {
  if (name == "layer_types") {
    return value.is_array() && std::all_of(value.begin(), value.end(), [](const auto& type) {
             return type == "full_attention";
           });
  }
  if (name == "sliding_window") {
    const auto use = config.find("use_sliding_window");
    return use != config.end() && *use == false;
  }
  constexpr std::array kUsualTexts = {std::pair{"position_embedding_type", "absolute"},
                                      std::pair{"attention_type", "original_full"}};
  for (const auto& [key, usual] : kUsualTexts) {
    if (name == key) return value == usual;
  }
  constexpr std::array kFactors = {"embedding_multiplier", "logits_scaling",
                                   "partial_rotary_factor", "residual_multiplier"};
  return contains(kFactors, name) && value == 1;
}

}  // namespace weft::hf
