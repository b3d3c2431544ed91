#include "weft/models/hf/generation_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "weft/core/error.h"
#include "weft/models/hf/config_reader.h"
#include "weft/models/hf/config_writer.h"
#include "weft/models/hf/gpt.h"

namespace weft::hf {
namespace {

std::int64_t id_of(const char* key, const json& value) {
  if (!value.is_number_integer())
    throw FormatError(fmt::format("'{}' must contain ids, not {}", key, json_excerpt(value)));
  std::int64_t id = 0;
  read_json(value, key, id);
  return id;
}

/// Reads an id or a list of ids. Returns an empty list if the key is absent.
TokenIds ids_of(ConfigReader& config, const char* key) {
  const json* found = config.find(key);
  TokenIds ids;
  if (found == nullptr) return ids;
  if (!found->is_array()) return {id_of(key, *found)};
  for (const json& id : *found) ids.push_back(id_of(key, id));
  return ids;
}

void read_ends(ConfigReader& config, GenerationOptions& o) {
  const TokenIds ends = ids_of(config, "eos_token_id");
  if (!ends.empty()) {
    o.eos_id = ends.front();
    o.stop_ids.assign(ends.begin() + 1, ends.end());
  }
  // If there is no padding id, sequences are padded with the end id.
  o.pad_id = std::max<std::int64_t>(o.eos_id, 0);
  config.field("pad_token_id", o.pad_id);
  o.pad_id = std::max<std::int64_t>(o.pad_id, 0);
  const TokenIds forced = ids_of(config, "forced_eos_token_id");
  if (forced.size() > 1)
    throw ArgumentError("forced_eos_token_id contains several ids, but only one is supported");
  if (!forced.empty()) o.forced_eos_id = forced.front();
}

void read_forbidden(ConfigReader& config, GenerationOptions& o) {
  o.bad_token_ids = ids_of(config, "suppress_tokens");
  o.bad_first_token_ids = ids_of(config, "begin_suppress_tokens");
  if (const json* words = config.find("bad_words_ids")) {
    for (const json& word : *words) {
      TokenIds ids;
      if (!word.is_array() || word.empty())
        throw FormatError(
            fmt::format("'bad_words_ids' must contain lists of ids, not {}", json_excerpt(word)));
      for (const json& id : word) ids.push_back(id_of("bad_words_ids", id));
      // As in Hugging Face transformers, bad words cannot prevent a sequence from ending.
      if (ids.size() > 1) {
        o.bad_token_sequences.push_back(ids);
      } else if (!o.is_end(ids.front())) {
        o.bad_token_ids.push_back(ids.front());
      }
    }
  }
  if (const json* forced = config.find("forced_decoder_ids")) {
    for (const json& pair : *forced) {
      if (!pair.is_array() || pair.size() != 2)
        throw FormatError(
            fmt::format("'forced_decoder_ids' must contain pairs of position and id, not {}",
                        json_excerpt(pair)));
      if (!pair.at(1).is_null())
        o.forced[id_of("forced_decoder_ids", pair.at(0))] = id_of("forced_decoder_ids", pair.at(1));
    }
  }
}

void read_early_stopping(ConfigReader& config, GenerationOptions& o) {
  const json* found = config.find("early_stopping");
  if (found == nullptr || *found == false) return;
  if (*found == true) {
    o.early_stopping = EarlyStopping::first;
  } else if (*found == "never") {
    o.early_stopping = EarlyStopping::never;
  } else {
    throw FormatError(fmt::format("'early_stopping' must be true, false or \"never\", not {}",
                                  json_excerpt(*found)));
  }
}

template <class Config>
void sampling_keys(Config& config, SamplingOptions& sampling) {
  config.field("temperature", sampling.temperature)
      .field("top_k", sampling.top_k)
      .field("top_p", sampling.top_p)
      .field("min_p", sampling.min_p);
}

void read_sampling(ConfigReader& config, GenerationOptions& o) {
  bool sample = false;
  config.field("do_sample", sample);
  SamplingOptions sampling{.top_k = 50};  // the default of Hugging Face transformers
  sampling_keys(config, sampling);
  if (!sample) {
    config.ignore({"typical_p", "epsilon_cutoff", "eta_cutoff", "top_h"});
    const std::string why = "contrastive search is not supported";
    config.fixed("penalty_alpha", nullptr, why);
    return;
  }
  const std::string why = "sampling with this setting is not supported";
  config.fixed("typical_p", 1.0, why)
      .fixed("epsilon_cutoff", 0.0, why)
      .fixed("eta_cutoff", 0.0, why)
      .fixed("top_h", nullptr, why)
      .ignore({"penalty_alpha"});
  o.sampling = sampling;
}

/// Config keys that correspond directly to fields of GenerationOptions.
template <class Config>
void plain_keys(Config& config, GenerationOptions& o) {
  config.optional_id("forced_bos_token_id", o.forced_bos_id)
      .field("num_beams", o.beams)
      .field("num_return_sequences", o.results)
      .field("min_length", o.min_length)
      .field("min_new_tokens", o.min_new)
      .field("length_penalty", o.length_penalty)
      .field("repetition_penalty", o.repetition_penalty)
      .field("no_repeat_ngram_size", o.no_repeat_ngram);
}

void reject_unsupported_keys(ConfigReader& config) {
  const std::string why = "generation with this setting is not supported";
  config.fixed("diversity_penalty", 0.0, why)
      .fixed("num_beam_groups", 1, why)
      .fixed("encoder_repetition_penalty", 1.0, why)
      .fixed("exponential_decay_length_penalty", nullptr, why)
      .fixed("renormalize_logits", false, why)
      .fixed("constraints", nullptr, why)
      .fixed("force_words_ids", nullptr, why)
      .fixed("sequence_bias", nullptr, why)
      .fixed("guidance_scale", nullptr, why)
      .fixed("watermarking_config", nullptr, why)
      .fixed("stop_strings", nullptr,
             "stop strings in this file are not supported because they require a tokenizer")
      .fixed("max_time", nullptr, why)
      .fixed("dola_layers", nullptr, why)
      .fixed("token_healing", false, why)
      .fixed("low_memory", nullptr, why);
}

/// Reads all generation keys of one configuration.
void read_all(ConfigReader& config, GenerationConfig& result) {
  GenerationOptions& o = result.options;
  config.field("decoder_start_token_id", result.start_id)
      .optional_id("bos_token_id", result.bos_id);
  read_ends(config, o);
  result.states_length =
      config.find("max_length") != nullptr || config.find("max_new_tokens") != nullptr;
  plain_keys(config, o);
  std::int64_t ngram = 0;
  config.field("encoder_no_repeat_ngram_size", ngram);
  if (ngram > 0) o.encoder_no_repeat_ngram = ngram;
  config.field("max_length", o.max_length).field("max_new_tokens", o.max_new);
  read_early_stopping(config, o);
  read_sampling(config, o);
  read_forbidden(config, o);
  reject_unsupported_keys(config);
}

/// Reads or writes a map from names to ids, with the brackets of special tokens ("<|en|>") removed
/// or added.
void speech_ids(ConfigReader& config, const char* key, SpeechSettings::Ids& ids, bool bracketed) {
  const json* found = config.find(key);
  if (found == nullptr) return;
  if (!found->is_object())
    throw FormatError(fmt::format("'{}' must map names to ids, not {}", key, json_excerpt(*found)));
  for (const auto& [name, id] : found->items()) {
    const bool has = name.size() > 4 && name.starts_with("<|") && name.ends_with("|>");
    if (bracketed && !has)
      throw FormatError(
          fmt::format("'{}' must contain names such as \"<|en|>\", not \"{}\"", key, name));
    ids[bracketed ? name.substr(2, name.size() - 4) : name] = id_of(key, id);
  }
}
void speech_ids(ConfigWriter& config, const char* key, const SpeechSettings::Ids& ids,
                bool bracketed) {
  json object = json::object();
  for (const auto& [name, id] : ids) object[bracketed ? "<|" + name + "|>" : name] = id;
  if (!ids.empty()) config.field(key, object);
}

void optional_real(ConfigReader& config, const char* key, std::optional<double>& value) {
  if (const json* found = config.find(key)) read_json(*found, key, value.emplace());
}
void optional_real(ConfigWriter& config, const char* key, const std::optional<double>& value) {
  if (value) config.field(key, *value);
}

/// The keys of Whisper, for reading and writing.
template <class Config>
void speech_keys(Config& config, SpeechSettings& s) {
  speech_ids(config, "lang_to_id", s.languages, true);
  speech_ids(config, "task_to_id", s.tasks, false);
  optional_real(config, "compression_ratio_threshold", s.compression_threshold);
  optional_real(config, "logprob_threshold", s.logprob_threshold);
  optional_real(config, "no_speech_threshold", s.no_speech_threshold);
  config.optional_id("no_timestamps_token_id", s.no_timestamps_id)
      .optional_id("prev_sot_token_id", s.previous_id)
      .optional_id("max_initial_timestamp_index", s.max_initial_timestamp)
      .field("is_multilingual", s.multilingual)
      .field("language", s.language)
      .field("task", s.task)
      .field("return_timestamps", s.timestamps)
      .field("condition_on_prev_tokens", s.condition_on_previous)
      // Heads for the times of words, which weft transcribe does not compute.
      .ignore({"alignment_heads"});
}

/// As in Hugging Face transformers, Marian's beam search excludes padding before the softmax, and
/// its greedy search does not.
void suppress_padding(bool is_marian, GenerationOptions& o) {
  if (is_marian) o.suppressed.push_back(o.pad_id);
}

/// Throws ArgumentError if a generation settings file contains unknown keys.
void finish(ConfigReader& config) {
  config
      .ignore({"assistant_confidence_threshold",
               "assistant_early_exit",
               "assistant_lookbehind",
               "cache_config",
               "cache_implementation",
               "compile_config",
               "disable_compile",
               "generation_kwargs",
               "is_assistant",
               "max_matching_ngram_size",
               "num_assistant_tokens",
               "num_assistant_tokens_schedule",
               "output_attentions",
               "output_hidden_states",
               "output_logits",
               "output_scores",
               "prefill_chunk_size",
               "prompt_lookup_num_tokens",
               "remove_invalid_values",
               "return_dict_in_generate",
               "return_legacy_cache",
               "target_lookbehind",
               "use_cache"})
      .finish("the generated output");
}

/// Reads the settings of a task: `base` overridden by `params`.
TaskGeneration read_task(const json& base, const json& params, const std::string& where,
                         const std::string& prefix, bool is_marian) {
  TaskGeneration task{.prefix = prefix};
  if (!params.is_object())
    throw FormatError(fmt::format("{} must be an object, not {}", where, json_excerpt(params)));
  ConfigReader own(params.dump(), where);
  own.field("prefix", task.prefix).ignore({"max_position_embeddings"});
  GenerationConfig read;
  read_all(own, read);
  finish(own);
  json all = base;
  all.update(params);
  ConfigReader merged(all.dump(), where);
  read = {};
  read_all(merged, read);
  suppress_padding(is_marian, read.options);
  task.options = std::move(read.options);
  task.states_length = read.states_length;
  if (read.start_id >= 0) task.start = {read.start_id};
  return task;
}

}  // namespace

GenerationConfig generation_config(const std::string& config_json, const std::string& generation) {
  const ConfigReader model(config_json);
  ConfigReader config = generation.empty() ? ConfigReader(config_json)
                                           : ConfigReader(generation, "generation_config.json");
  GenerationConfig result;
  // Each model type has its own default, which a separate file overrides.
  if (generation.empty()) result.bos_id = default_bos_id(config_json);
  read_all(config, result);
  if (model.model_type() == "whisper") speech_keys(config, result.speech.emplace());
  // In config.json, the other keys describe the model and are read by its builder.
  if (!generation.empty()) {
    finish(config);
  }
  const bool is_marian = model.model_type() == "marian";
  suppress_padding(is_marian, result.options);
  const auto tasks = model.object().find("task_specific_params");
  if (tasks == model.object().end() || tasks->is_null()) return result;
  if (!tasks->is_object())
    throw FormatError(fmt::format("config.json: 'task_specific_params' must be an object, not {}",
                                  json_excerpt(*tasks)));
  for (const auto& [name, params] : tasks->items()) {
    const std::string where = "config.json: task_specific_params." + name;
    TaskGeneration& task = result.tasks[name];
    try {
      task = read_task(config.object(), params, where, model.text("prefix"), is_marian);
    } catch (const Error& e) {  // reported if the task is used
      task.unsupported_reason = e.what();
    }
  }
  return result;
}

std::string generation_config_json(GenerationConfig config) {
  GenerationOptions& o = config.options;
  ConfigWriter out;
  if (config.bos_id >= 0) out.field("bos_token_id", config.bos_id);
  if (config.start_id >= 0) out.field("decoder_start_token_id", config.start_id);
  if (o.eos_id >= 0) {
    TokenIds ends = {o.eos_id};
    ends.insert(ends.end(), o.stop_ids.begin(), o.stop_ids.end());
    out.field("eos_token_id", ends.size() == 1 ? json(ends.front()) : json(ends));
  }
  out.field("pad_token_id", o.pad_id).optional_id("forced_eos_token_id", o.forced_eos_id);
  plain_keys(out, o);
  if (o.encoder_no_repeat_ngram)
    out.field("encoder_no_repeat_ngram_size", *o.encoder_no_repeat_ngram);
  // max_length and max_new_tokens are written only if the original files specify them, because the
  // mere presence of each key is significant.
  if (config.states_length && o.max_new >= 0) out.field("max_new_tokens", o.max_new);
  if (config.states_length && (o.max_new < 0 || o.max_length != GenerationOptions().max_length))
    out.field("max_length", o.max_length);
  if (o.early_stopping != EarlyStopping::heuristic) {
    out.field("early_stopping",
              o.early_stopping == EarlyStopping::first ? json(true) : json("never"));
  }
  out.field("do_sample", o.sampling.has_value());
  if (o.sampling) sampling_keys(out, *o.sampling);
  if (!o.bad_token_ids.empty()) out.field("suppress_tokens", o.bad_token_ids);
  if (!o.bad_first_token_ids.empty()) out.field("begin_suppress_tokens", o.bad_first_token_ids);
  if (!o.bad_token_sequences.empty()) out.field("bad_words_ids", o.bad_token_sequences);
  if (config.speech) {
    SpeechSettings speech = *config.speech;
    speech_keys(out, speech);
    for (const char* key : {"language", "task"}) {
      if (out.object().at(key) == "") out.field(key, json());
    }
  }
  json forced = json::array();
  for (const auto& [place, id] : o.forced) forced.push_back({place, id});
  if (!forced.empty()) out.field("forced_decoder_ids", forced);
  json object = out.object();
  for (const auto& [key, value] : out.object().items()) {
    if (value.is_null()) object.erase(key);
  }
  return object.dump(2) + "\n";
}

GenerationConfig read_generation_config(const Folder& folder) {
  return generation_config(folder.config, folder.text("generation_config.json"));
}

}  // namespace weft::hf
