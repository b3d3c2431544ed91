// A tiny Whisper folder with random weights.
#pragma once

#include <fmt/format.h>

#include <string>

#include "weft/tests/support/audio_files.h"
#include "writer_folders.h"

namespace weft::testing {

/// Options of write_whisper().
struct TinyWhisper {
  bool multilingual = true;
  bool timestamps = true;            // <|notimestamps|> and the times
  Json generation = Json::object();  // further keys of generation_config.json
  Json config = Json::object();      // further keys of config.json
};

/// Writes a Whisper model with windows of one second. Its tokenizer has the special tokens of
/// Whisper after those of the text, and times up to one second.
inline std::string write_whisper(const TemporaryFolder& folder, const TinyWhisper& how = {}) {
  Json tokenizer = Json::parse(tokenizer_json({"<|endoftext|>"}, {}));
  std::int64_t next = SubwordTokenizer::from_bytes(tokenizer.dump()).vocab_size();
  Json ids = {{"<|endoftext|>", 0}};
  const auto add = [&](const std::string& name, bool special) {
    Json token = tokenizer["added_tokens"][0];
    token.update({{"id", next}, {"content", name}, {"special", special}});
    tokenizer["added_tokens"].push_back(token);
    ids[name] = next++;
  };
  std::vector<std::string> names = {"<|startoftranscript|>"};
  if (how.multilingual) names.insert(names.end(), {"<|en|>", "<|de|>", "<|haw|>"});
  names.insert(names.end(),
               {"<|translate|>", "<|transcribe|>", "<|startoflm|>", "<|startofprev|>"});
  if (how.timestamps) names.insert(names.end(), {"<|nospeech|>", "<|notimestamps|>"});
  for (const std::string& name : names) add(name, true);
  for (int i = 0; how.timestamps && i <= 50; ++i) add(fmt::format("<|{:.2f}|>", 0.02 * i), false);
  folder.write("tokenizer.json", tokenizer.dump());
  folder.write("tokenizer_config.json",
               R"({"eos_token": "<|endoftext|>", "tokenizer_class": "WhisperTokenizer"})");
  Json config = {{"model_type", "whisper"},
                 {"architectures", {"WhisperForConditionalGeneration"}},
                 {"vocab_size", next},
                 {"d_model", 16},
                 {"num_mel_bins", 8},
                 {"encoder_layers", 1},
                 {"decoder_layers", 2},
                 {"encoder_attention_heads", 2},
                 {"decoder_attention_heads", 2},
                 {"encoder_ffn_dim", 32},
                 {"decoder_ffn_dim", 32},
                 {"max_source_positions", 50},
                 {"max_target_positions", 48},
                 {"init_std", 0.5},
                 {"pad_token_id", 0},
                 {"eos_token_id", 0},
                 {"decoder_start_token_id", ids["<|startoftranscript|>"]}};
  config.update(how.config);
  write_model(folder.path(), config, [&](VariableStore& store) {
    store.set("encoder.positions.weight", spectrogram_positions(50, config["d_model"]));
  });
  Json generation = {{"eos_token_id", 0},
                     {"pad_token_id", 0},
                     {"decoder_start_token_id", ids["<|startoftranscript|>"]},
                     {"suppress_tokens", {5, 7}},
                     {"begin_suppress_tokens", {0, 9}},
                     {"max_initial_timestamp_index", 10},
                     {"alignment_heads", {{0, 1}}},
                     {"is_multilingual", how.multilingual},
                     {"prev_sot_token_id", ids["<|startofprev|>"]}};
  if (how.timestamps) generation["no_timestamps_token_id"] = ids["<|notimestamps|>"];
  if (how.multilingual) {
    generation["task_to_id"] = {{"transcribe", ids["<|transcribe|>"]},
                                {"translate", ids["<|translate|>"]}};
    for (const char* name : {"<|en|>", "<|de|>", "<|haw|>"})
      generation["lang_to_id"][name] = ids[name];
  }
  generation.update(how.generation);
  folder.write("generation_config.json", generation.dump(2));
  folder.write("preprocessor_config.json",
               R"({"feature_extractor_type": "WhisperFeatureExtractor", "feature_size": 8,
                   "chunk_length": 1})");
  return folder.path();
}

/// Returns a recording that changes over time.
inline std::vector<float> made_up_speech(double seconds, int rate = 16000) {
  std::vector<float> samples = tone(220, seconds, rate, 0.3);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const double t = static_cast<double>(i) / rate;
    samples[i] += static_cast<float>(0.2 * std::sin(2000 * t * (1 + std::sin(3 * t))) *
                                     (std::sin(9 * t) > 0 ? 1 : 0.05));
  }
  return samples;
}

}  // namespace weft::testing
