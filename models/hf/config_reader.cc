#include "weft/models/hf/config_reader.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"

namespace weft::hf {
namespace {

/// Keys that do not affect values or gradients in any config: bookkeeping, special ids and
/// generation defaults.
constexpr const char* kHarmless[] = {
    "_name_or_path",
    "architectures",
    "attn_implementation",
    "_attn_implementation",
    "bad_words_ids",
    "begin_suppress_tokens",
    "bos_token_id",
    "chunk_size_feed_forward",
    "cls_token_id",
    "decoder_start_token_id",
    "directionality",
    "diversity_penalty",
    "do_sample",
    "dtype",
    "early_stopping",
    "encoder_no_repeat_ngram_size",
    "eos_token_id",
    "exponential_decay_length_penalty",
    "finetuning_task",
    "forced_bos_token_id",
    "forced_eos_token_id",
    "gradient_checkpointing",
    "language",
    "length_penalty",
    "mask_token_id",
    "max_length",
    "min_length",
    "model_type",
    "no_repeat_ngram_size",
    "num_beam_groups",
    "num_beams",
    "num_return_sequences",
    "output_attentions",
    "output_hidden_states",
    "output_past",
    "output_scores",
    "prefix",
    "problem_type",
    "remove_invalid_values",
    "repetition_penalty",
    "return_dict",
    "return_dict_in_generate",
    "sep_token_id",
    "suppress_tokens",
    "task_specific_params",
    "temperature",
    "tf_legacy_loss",
    "tokenizer_class",
    "top_k",
    "top_p",
    "torch_dtype",
    "transformers_version",
    "typical_p",
    "unk_token_id",
    "use_bfloat16",
    "use_cache",
};

}  // namespace

ConfigReader::ConfigReader(std::string_view text, std::string file)
    : file_(std::move(file)),
      object_(parse_json_object(text, file_)),
      known_(std::begin(kHarmless), std::end(kHarmless)) {
  // Unsupported features that any config can enable.
  fixed("is_decoder", false, "an encoder used as a decoder is not supported");
  fixed("add_cross_attention", false, "cross attention in this model is not supported");
  fixed("cross_attention_hidden_size", nullptr, "cross attention is not supported");
  fixed("tie_encoder_decoder", false,
        "sharing weights between encoder and decoder is not supported");
  fixed("torchscript", false, "models with weights untied for TorchScript are not supported");
  fixed("pruned_heads", json::object(), "pruned models are not supported");
  fixed("quantization_config", nullptr, "quantized weights are not supported");
}

std::string ConfigReader::text(const char* key) const {
  const auto it = object_.find(key);
  return it != object_.end() && it->is_string() ? it->get<std::string>() : std::string();
}

const json* ConfigReader::find(const char* key) {
  known_.insert(key);
  const auto it = object_.find(key);
  return it == object_.end() || it->is_null() ? nullptr : &*it;
}

ConfigReader& ConfigReader::optional_id(const char* key, std::int64_t& value) {
  const auto it = object_.find(key);
  if (it != object_.end() && it->is_null()) value = -1;
  return field(key, value);
}

ConfigReader& ConfigReader::optional_size(const char* key, std::int64_t& value) {
  const auto it = object_.find(key);
  if (it != object_.end() && it->is_null()) value = 0;
  return field(key, value);
}

ConfigReader& ConfigReader::size(const char* key, std::int64_t& height, std::int64_t& width) {
  const json* found = find(key);
  if (found == nullptr) return *this;
  if (found->is_array()) {
    if (found->size() != 2) {
      throw FormatError(
          fmt::format("'{}' must be a size or [height, width], not {}", key, json_excerpt(*found)));
    }
    read_json(found->at(0), key, height);
    read_json(found->at(1), key, width);
    return *this;
  }
  read_json(*found, key, height);
  width = height;
  return *this;
}

std::vector<std::string> ConfigReader::list(const char* key) {
  std::vector<std::string> result;
  const json* found = find(key);
  if (found == nullptr) return result;
  if (found->is_array()) {
    for (const json& entry : *found) {
      if (!entry.is_string())
        throw FormatError(
            fmt::format("'{}' must be a list of strings, not {}", key, json_excerpt(*found)));
      result.push_back(entry.get<std::string>());
    }
    return result;
  }
  if (!found->is_string())
    throw FormatError(
        fmt::format("'{}' must be a list of strings, not {}", key, json_excerpt(*found)));
  std::string entry;
  for (const char c : found->get<std::string>() + "|") {
    if (c == '|') {
      if (!entry.empty()) result.push_back(entry);
      entry.clear();
    } else if (c != ' ') {
      entry += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    }
  }
  return result;
}

ConfigReader& ConfigReader::fixed(const char* key, const json& allowed, std::string_view why) {
  const json* found = find(key);
  if (found != nullptr && *found != allowed) {
    throw ArgumentError(fmt::format("{}: {} is {}: {}", file_, key, json_excerpt(*found), why));
  }
  return *this;
}

ConfigReader& ConfigReader::ignore(std::initializer_list<const char*> keys) {
  known_.insert(keys.begin(), keys.end());
  return *this;
}

std::int64_t ConfigReader::labels() {
  std::int64_t count = 2;
  field("num_labels", count);
  field("_num_labels", count);
  if (const json* names = find("id2label")) count = static_cast<std::int64_t>(names->size());
  ignore({"label2id"});
  if (count < 1)
    throw FormatError("config.json: id2label is empty, but a classifier needs at least one label");
  return count;
}

void ConfigReader::finish() const {
  for (const auto& [key, value] : object_.items()) {
    // Encoder-decoder families read this key. In all other families its value is false.
    if (known_.contains(key) || (key == "is_encoder_decoder" && value == false)) continue;
    throw ArgumentError(fmt::format(
        "config.json: unknown key {} = {} for model_type \"{}\", which might change the results",
        excerpt(key), json_excerpt(value), model_type()));
  }
}

void ConfigReader::finish(std::string_view what) const {
  for (const auto& [key, value] : object_.items()) {
    if (!known_.contains(key)) {
      throw ArgumentError(fmt::format("{}: unknown key {} = {}, which might change {}", file_,
                                      excerpt(key), json_excerpt(value), what));
    }
  }
}

}  // namespace weft::hf
