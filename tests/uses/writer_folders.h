// Small folders of Hugging Face's library with models that write, and their tokenizers.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "weft/graph/run/session.h"
#include "weft/models/hf/folder.h"
#include "weft/models/tokenizers/formats/tokenizer_json.h"
#include "weft/models/tokenizers/train/new_tokenizer.h"
#include "weft/tests/models/folder.h"

namespace weft::testing {

using Json = nlohmann::json;

inline const std::vector<std::string>& rhymes() {
  static const std::vector<std::string> lines = {
      "the grand old duke of york, he had ten thousand men",
      "he marched them up to the top of the hill, and he marched them down again",
      "and when they were up, they were up, and when they were down, they were down",
      "die schönen größten Mühlen mahlen süßes Öl im März"};
  return lines;
}

/// What stands around a text: names of special tokens.
struct Around {
  std::vector<std::string> before = {}, after = {};
};

/// A byte-level tokenizer.json whose first ids are `special`.
inline std::string tokenizer_json(const std::vector<std::string>& special, const Around& around) {
  TextList texts(rhymes());
  Workers workers;
  const SubwordTokenizer learned = learn_tokenizer(
      texts, {.vocab = 300 + static_cast<std::int64_t>(special.size()), .special_tokens = special},
      workers);
  Json file = Json::parse(learned.to_bytes());
  if (around.before.empty() && around.after.empty()) return file.dump();
  Json single = Json::array(), pair = Json::array(), tokens = Json::object();
  const auto add = [&](const std::string& name) {
    single.push_back({{"SpecialToken", {{"id", name}, {"type_id", 0}}}});
    tokens[name] = {{"id", name}, {"ids", {learned.find(name)}}, {"tokens", {name}}};
  };
  const Json text = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  for (const std::string& name : around.before) add(name);
  single.push_back(text);
  for (const std::string& name : around.after) add(name);
  pair = {text, {{"Sequence", {{"id", "B"}, {"type_id", 0}}}}};
  file["post_processor"] = {{"type", "TemplateProcessing"},
                            {"single", single},
                            {"pair", pair},
                            {"special_tokens", tokens}};
  return file.dump();
}

/// Writes a model of `config` with weights that depend on `seed`.
inline void write_model(const std::string& path, const Json& config, std::uint64_t seed = 3) {
  Graph graph;
  const hf::Model model = hf::build_model(graph, config.dump(), hf::least_inputs(config.dump()));
  const auto store = std::make_shared<VariableStore>();
  Session(graph, store, {.seed = seed}).initialise();
  hf::write_folder(path, model, graph, *store);
}

inline constexpr std::int64_t kFolderVocab = 320;  // more than any of the tokenizers has

/// GPT-2 without anything around texts.
inline std::string write_gpt2(const Folder& folder) {
  write_model(folder.path(), {{"model_type", "gpt2"},
                              {"architectures", {"GPT2LMHeadModel"}},
                              {"vocab_size", kFolderVocab},
                              {"n_embd", 16},
                              {"n_layer", 2},
                              {"n_head", 2},
                              {"n_positions", 48},
                              {"initializer_range", 0.4}});
  folder.write("tokenizer.json", tokenizer_json({"<|endoftext|>"}, {}));
  folder.write("tokenizer_config.json", R"({"bos_token": "<|endoftext|>"})");
  folder.write("generation_config.json", R"({"eos_token_id": 0, "bos_token_id": 0})");
  return folder.path();
}

/// LLaMA with <s> in front of texts.
inline std::string write_llama(const Folder& folder) {
  write_model(folder.path(), {{"model_type", "llama"},
                              {"architectures", {"LlamaForCausalLM"}},
                              {"vocab_size", kFolderVocab},
                              {"hidden_size", 16},
                              {"num_hidden_layers", 2},
                              {"num_attention_heads", 4},
                              {"num_key_value_heads", 2},
                              {"intermediate_size", 32},
                              {"max_position_embeddings", 64},
                              {"initializer_range", 0.4}});
  folder.write("tokenizer.json", tokenizer_json({"<unk>", "<s>", "</s>"}, {{"<s>"}, {}}));
  folder.write("tokenizer_config.json", R"({"bos_token": "<s>", "eos_token": "</s>"})");
  folder.write("generation_config.json",
               R"({"bos_token_id": 1, "eos_token_id": 2, "max_new_tokens": 12})");
  return folder.path();
}

/// T5 with </s> behind texts and no stated length.
inline std::string write_t5(const Folder& folder) {
  write_model(folder.path(), {{"model_type", "t5"},
                              {"architectures", {"T5ForConditionalGeneration"}},
                              {"vocab_size", kFolderVocab},
                              {"d_model", 16},
                              {"d_kv", 8},
                              {"d_ff", 32},
                              {"num_layers", 2},
                              {"num_heads", 2},
                              {"initializer_factor", 2.0},
                              {"pad_token_id", 0},
                              {"eos_token_id", 1},
                              {"is_encoder_decoder", true},
                              {"decoder_start_token_id", 0}});
  folder.write("tokenizer.json", tokenizer_json({"<pad>", "</s>", "<unk>"}, {{}, {"</s>"}}));
  folder.write("tokenizer_config.json", R"({"pad_token": "<pad>", "eos_token": "</s>"})");
  return folder.path();
}

/// BART, which searches with beams.
inline std::string write_bart(const Folder& folder) {
  write_model(folder.path(), {{"model_type", "bart"},
                              {"architectures", {"BartForConditionalGeneration"}},
                              {"vocab_size", kFolderVocab},
                              {"d_model", 16},
                              {"encoder_layers", 2},
                              {"decoder_layers", 2},
                              {"encoder_attention_heads", 2},
                              {"decoder_attention_heads", 2},
                              {"encoder_ffn_dim", 32},
                              {"decoder_ffn_dim", 32},
                              {"max_position_embeddings", 64},
                              {"init_std", 0.4}});
  folder.write("tokenizer.json",
               tokenizer_json({"<s>", "<pad>", "</s>", "<unk>"}, {{"<s>"}, {"</s>"}}));
  folder.write("tokenizer_config.json",
               R"({"bos_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>"})");
  folder.write("generation_config.json",
               R"({"decoder_start_token_id": 2, "eos_token_id": 2, "pad_token_id": 1,
                   "forced_eos_token_id": 2, "forced_bos_token_id": 0, "num_beams": 3,
                   "max_length": 14, "min_length": 5, "length_penalty": 2.0,
                   "no_repeat_ngram_size": 3, "early_stopping": true})");
  return folder.path();
}

/// mBART, whose texts have the code of a language behind them, or (`fifty`) in front.
inline std::string write_mbart(const Folder& folder, bool fifty) {
  write_model(folder.path(), {{"model_type", "mbart"},
                              {"architectures", {"MBartForConditionalGeneration"}},
                              {"vocab_size", kFolderVocab},
                              {"d_model", 16},
                              {"encoder_layers", 1},
                              {"decoder_layers", 1},
                              {"encoder_attention_heads", 2},
                              {"decoder_attention_heads", 2},
                              {"encoder_ffn_dim", 32},
                              {"decoder_ffn_dim", 32},
                              {"max_position_embeddings", 64},
                              {"init_std", 0.4},
                              {"decoder_start_token_id", 2}});
  const std::vector<std::string> special = {"<s>",   "<pad>", "</s>", "<unk>",
                                            "de_DE", "en_XX", "ro_RO"};
  folder.write("tokenizer.json", fifty ? tokenizer_json(special, {{"en_XX"}, {"</s>"}})
                                       : tokenizer_json(special, {{}, {"</s>", "en_XX"}}));
  folder.write("tokenizer_config.json",
               R"({"bos_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>"})");
  folder.write("generation_config.json",
               R"({"decoder_start_token_id": 2, "eos_token_id": 2, "pad_token_id": 1,
                   "max_length": 10})");
  return folder.path();
}

}  // namespace weft::testing
