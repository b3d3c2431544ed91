// Small Hugging Face folders of generative models with tokenizers.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "weft/graph/run/session.h"
#include "weft/models/generate/seq2seq.h"
#include "weft/models/hf/folder.h"
#include "weft/models/tasks/common/text_generator.h"
#include "weft/models/tasks/tasks.h"
#include "weft/models/text/tokenizers/formats/tokenizer_json.h"
#include "weft/models/text/tokenizers/sentence_piece/sentence_piece_model.h"
#include "weft/models/text/tokenizers/tokenizer_folder.h"
#include "weft/models/text/tokenizers/train/new_tokenizer.h"
#include "weft/testing/temporary_folder.h"

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

/// Special tokens that the tokenizer adds before and after a text.
struct TemplateTokens {
  std::vector<std::string> before = {}, after = {};
};

/// Returns a byte-level tokenizer.json in which the tokens `special` have the first ids.
inline std::string tokenizer_json(const std::vector<std::string>& special,
                                  const TemplateTokens& template_tokens) {
  TextList texts(rhymes());
  Workers workers;
  const SubwordTokenizer learned = train_tokenizer(
      texts, {.vocab = 300 + static_cast<std::int64_t>(special.size()), .special_tokens = special},
      workers);
  Json file = Json::parse(learned.to_bytes());
  if (template_tokens.before.empty() && template_tokens.after.empty()) return file.dump();
  Json single = Json::array(), pair = Json::array(), tokens = Json::object();
  const auto add = [&](const std::string& name) {
    single.push_back({{"SpecialToken", {{"id", name}, {"type_id", 0}}}});
    tokens[name] = {{"id", name}, {"ids", {learned.find(name)}}, {"tokens", {name}}};
  };
  const Json text = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  for (const std::string& name : template_tokens.before) add(name);
  single.push_back(text);
  for (const std::string& name : template_tokens.after) add(name);
  pair = {text, {{"Sequence", {{"id", "B"}, {"type_id", 0}}}}};
  file["post_processor"] = {{"type", "TemplateProcessing"},
                            {"single", single},
                            {"pair", pair},
                            {"special_tokens", tokens}};
  return file.dump();
}

/// Writes a model with the given config and with weights from a fixed seed. `change` may modify the
/// weights.
inline void write_model(const std::string& path, const Json& config,
                        const std::function<void(VariableStore&)>& change = {}) {
  Graph graph;
  const hf::Model model = hf::build_model(graph, config.dump(), hf::minimal_inputs(config.dump()));
  const auto store = std::make_shared<VariableStore>();
  Session(graph, store, {.seed = 3}).initialise();
  if (change) change(*store);
  hf::write_folder(path, model, graph, *store);
}

inline constexpr std::int64_t kFolderVocab = 320;  // more ids than any tokenizer below has

/// Writes a GPT-2 model whose tokenizer adds no special tokens.
inline std::string write_gpt2(const TemporaryFolder& folder) {
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

/// A chat template in ChatML format, except for white space.
inline constexpr const char* kChatTemplate =
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] "
    "+ '<|im_end|>' + '\n' }}{% endfor %}{% if add_generation_prompt %}"
    "{{ '<|im_start|>assistant\n' }}{% endif %}";

/// Writes a LLaMA model with kChatTemplate. The markers of the template are single ids. `change`
/// may modify the weights.
inline std::string write_chat_model(const TemporaryFolder& folder, std::int64_t context,
                                    std::int64_t width = 16,
                                    const std::function<void(VariableStore&)>& change = {}) {
  write_model(folder.path(),
              {{"model_type", "llama"},
               {"architectures", {"LlamaForCausalLM"}},
               {"vocab_size", kFolderVocab},
               {"hidden_size", width},
               {"num_hidden_layers", 2},
               {"num_attention_heads", 4},
               {"num_key_value_heads", 2},
               {"intermediate_size", 32},
               {"max_position_embeddings", context},
               {"initializer_range", 0.4}},
              change);
  folder.write("tokenizer.json",
               tokenizer_json({"<unk>", "<s>", "</s>", "<|im_start|>", "<|im_end|>"}, {}));
  folder.write(
      "tokenizer_config.json",
      Json({{"bos_token", "<s>"}, {"eos_token", "</s>"}, {"chat_template", kChatTemplate}}).dump());
  folder.write("generation_config.json", R"({"eos_token_id": 2, "max_new_tokens": 9})");
  return folder.path();
}

/// Writes the same model as write_chat_model(), but with weights that generate `answer` for every
/// message. Each id of the answer is followed by the next id; the last id is followed by the end
/// marker or, if `endless`, by the first id. No id may occur twice in `answer`.
inline std::string write_echo_model(const TemporaryFolder& folder, std::int64_t context,
                                    const std::string& answer, bool endless = false) {
  write_chat_model(folder, context);  // writes the tokenizer
  const Tokenizer tokenizer = *read_tokenizer_folder(folder.path()).tokenizer;
  TokenIds chain;
  for (const std::int32_t id : tokenizer.encode("\n" + answer)) chain.push_back(id);
  chain.push_back(endless ? chain[1] : tokenizer.find("<|im_end|>"));
  return write_chat_model(folder, context, kFolderVocab, [&](VariableStore& store) {
    // Embeddings are one-hot vectors, which the blocks pass to the head unchanged.
    Tensor in = Tensor::zeros(DType::f32, {kFolderVocab, kFolderVocab}),
           out = Tensor::zeros(DType::f32, {kFolderVocab, kFolderVocab});
    for (std::int64_t id = 0; id < kFolderVocab; ++id)
      in.mutable_data<float>()[id * kFolderVocab + id] = 1;
    for (std::size_t i = 0; i + 1 < chain.size(); ++i)
      out.mutable_data<float>()[chain[i + 1] * kFolderVocab + chain[i]] = 9;
    for (const std::string& name : store.names()) {
      if (name.find("c_proj") == std::string::npos) continue;
      store.set(name, Tensor::zeros(DType::f32, store.tensor(name).sizes()));
    }
    store.set("transformer.wte.weight", in);
    store.set("lm_head.weight", out);
  });
}

/// Writes a LLaMA model with a tokenizer that adds <s> before texts.
inline std::string write_llama(const TemporaryFolder& folder) {
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

/// Writes a T5 model with a tokenizer that adds </s> after texts, and with a config that sets no
/// maximum length. `more` is merged into the config.
inline std::string write_t5(const TemporaryFolder& folder, const Json& more = Json::object()) {
  Json config = {{"model_type", "t5"},
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
                 {"decoder_start_token_id", 0}};
  config.update(more);
  write_model(folder.path(), config);
  folder.write("tokenizer.json", tokenizer_json({"<pad>", "</s>", "<unk>"}, {{}, {"</s>"}}));
  folder.write("tokenizer_config.json", R"({"pad_token": "<pad>", "eos_token": "</s>"})");
  return folder.path();
}

/// Writes a BART model, which uses beam search.
inline std::string write_bart(const TemporaryFolder& folder, const Json& more = Json::object()) {
  Json config = {
      {"model_type", "bart"},          {"architectures", {"BartForConditionalGeneration"}},
      {"vocab_size", kFolderVocab},    {"d_model", 16},
      {"encoder_layers", 2},           {"decoder_layers", 2},
      {"encoder_attention_heads", 2},  {"decoder_attention_heads", 2},
      {"encoder_ffn_dim", 32},         {"decoder_ffn_dim", 32},
      {"max_position_embeddings", 64}, {"init_std", 0.4}};
  config.update(more);
  write_model(folder.path(), config);
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

/// Writes an mBART model. The tokenizer adds a language code at the end of texts or, if `fifty`
/// (mBART-50), at the beginning.
inline std::string write_mbart(const TemporaryFolder& folder, bool fifty) {
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

inline const std::vector<std::string> kNllbTokens = {"<s>",      "<pad>",    "</s>",    "<unk>",
                                                     "eng_Latn", "fra_Latn", "deu_Latn"};

/// Writes an NLLB model. Its decoder starts with </s>. `settings` are merged into
/// tokenizer_config.json, `rows` is the number of embeddings.
inline std::string write_nllb(const TemporaryFolder& folder, const Json& settings = Json::object(),
                              std::int64_t rows = kFolderVocab) {
  write_model(folder.path(), {{"model_type", "m2m_100"},
                              {"architectures", {"M2M100ForConditionalGeneration"}},
                              {"vocab_size", rows},
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
  folder.write("tokenizer.json", tokenizer_json(kNllbTokens, {{"eng_Latn"}, {"</s>"}}));
  Json config = {{"tokenizer_class", "NllbTokenizer"},
                 {"bos_token", "<s>"},
                 {"pad_token", "<pad>"},
                 {"eos_token", "</s>"},
                 {"unk_token", "<unk>"}};
  config.update(settings);
  folder.write("tokenizer_config.json", config.dump());
  folder.write("generation_config.json",
               R"({"decoder_start_token_id": 2, "eos_token_id": 2, "pad_token_id": 1,
                   "max_length": 10})");
  return folder.path();
}

/// Returns a SentencePiece model with the given words and single letters as pieces.
inline SentencePieceModel word_model(const std::vector<std::string>& words) {
  using Kind = SentencePieceModel::Kind;
  SentencePieceModel model;
  model.algorithm = SentencePieceModel::Algorithm::unigram;
  model.normalizer.name = "identity";
  model.pieces = {{"<unk>", 0, Kind::unknown},
                  {"<s>", 0, Kind::control},
                  {"</s>", 0, Kind::control},
                  {"\u2581", -4, Kind::normal}};
  for (char letter = 'a'; letter <= 'z'; ++letter)
    model.pieces.push_back({std::string(1, letter), -5, Kind::normal});
  for (const std::string& word : words) model.pieces.push_back({"\u2581" + word, -1, Kind::normal});
  return model;
}

/// Writes a Marian model with one SentencePiece model per language and a shared vocabulary. The id
/// of </s> is 0, the id of <unk> is 1, and <pad>, with which outputs begin, has the last id.
/// `targets` are the target language tokens of a multilingual model (">>fra<<").
inline std::string write_marian(const TemporaryFolder& folder,
                                const std::vector<std::string>& targets = {},
                                const std::function<void(VariableStore&)>& change = {}) {
  const SentencePieceModel source = word_model({"the", "grand", "old", "duke", "he", "up", "them"});
  const SentencePieceModel target = word_model({"der", "alte", "graf", "er", "hinauf", "sie"});
  Json vocab = {{"</s>", 0}, {"<unk>", 1}};
  const auto add = [&](const std::string& piece) {
    if (!vocab.contains(piece)) vocab[piece] = vocab.size();
  };
  for (const std::string& language : targets) add(">>" + language + "<<");
  for (const auto* model : {&source, &target}) {
    for (std::size_t i = 3; i < model->pieces.size(); ++i) add(model->pieces[i].text);
  }
  add("<pad>");
  const std::size_t size = vocab.size(), pad = size - 1;
  write_model(folder.path(),
              {{"model_type", "marian"},
               {"architectures", {"MarianMTModel"}},
               {"vocab_size", size},
               {"decoder_vocab_size", size},
               {"d_model", 16},
               {"encoder_layers", 2},
               {"decoder_layers", 2},
               {"encoder_attention_heads", 2},
               {"decoder_attention_heads", 2},
               {"encoder_ffn_dim", 32},
               {"decoder_ffn_dim", 32},
               {"activation_function", "swish"},
               {"scale_embedding", true},
               {"static_position_embeddings", true},
               {"max_position_embeddings", 48},
               {"init_std", 0.4},
               {"pad_token_id", pad},
               {"eos_token_id", 0},
               {"forced_eos_token_id", 0},
               {"decoder_start_token_id", pad},
               {"bad_words_ids", {{pad}}},
               {"num_beams", 4},
               {"max_length", 16}},
              change);
  folder.write("vocab.json", vocab.dump());
  folder.write("source.spm", source.to_bytes());
  folder.write("target.spm", target.to_bytes());
  folder.write(
      "tokenizer_config.json",
      R"({"tokenizer_class": "MarianTokenizer", "source_lang": "eng", "target_lang": "deu"})");
  return folder.path();
}

/// Writes a PEGASUS model. The first ids belong to PEGASUS itself (<pad> is 0 and </s> is 1); they
/// are followed by the ids of the SentencePiece model.
inline std::string write_pegasus(const TemporaryFolder& folder) {
  const SentencePieceModel pieces = word_model({"he", "marched", "them", "up", "the", "hill"});
  constexpr std::size_t kOffset = 5;
  write_model(
      folder.path(),
      {{"model_type", "pegasus"},
       {"architectures", {"PegasusForConditionalGeneration"}},
       {"vocab_size", pieces.pieces.size() + kOffset},
       {"d_model", 16},
       {"encoder_layers", 2},
       {"decoder_layers", 2},
       {"encoder_attention_heads", 2},
       {"decoder_attention_heads", 2},
       {"encoder_ffn_dim", 32},
       {"decoder_ffn_dim", 32},
       {"activation_function", "relu"},
       {"scale_embedding", true},
       {"static_position_embeddings", true},
       {"normalize_before", true},
       {"add_final_layer_norm", true},
       {"normalize_embedding", false},
       {"extra_pos_embeddings", 1},
       {"max_position_embeddings", 48},
       {"init_std", 0.4},
       {"pad_token_id", 0},
       {"eos_token_id", 1},
       {"forced_eos_token_id", 1},
       {"decoder_start_token_id", 0},
       {"num_beams", 8},
       {"length_penalty", 0.8},
       {"max_length", 14},
       {"task_specific_params",
        {{"summarization_xsum",
          {{"length_penalty", 0.6}, {"max_length", 9}, {"max_position_embeddings", 24}}}}}});
  folder.write("spiece.model", pieces.to_bytes());
  folder.write("tokenizer_config.json", R"({"tokenizer_class": "PegasusTokenizer", "offset": 5})");
  return folder.path();
}

/// A model read from a folder, with a session and a text generator.
struct OpenedWriter {
  explicit OpenedWriter(const std::string& path)
      : loaded(load_any_model(path)),
        session(*loaded.model->graph, loaded.model->store, {.threads = 2}),
        writer(text_generator(session, *loaded.model)) {}

  std::vector<WrittenText> translate(const std::vector<std::string>& texts,
                                     const TranslateOptions& options = {}) {
    return translate_texts(session, *loaded.model, texts, options);
  }

  LoadedModel loaded;
  Session session;
  std::unique_ptr<TextGenerator> writer;
};

/// Generates ids with the encoder-decoder in a folder. The model is built by models/hf.
struct IdTranslator {
  explicit IdTranslator(const std::string& path)
      : folder(hf::read_folder(path)),
        model(hf::build_model(graph, folder.config, hf::minimal_inputs(folder.config))),
        programs(make_seq2seq_programs(*model.encoder_decoder)),
        session(graph, hf::load_weights(model, graph, folder), {.threads = 2}) {}

  SearchResult operator()(const TokenIds& prompt, const TokenIds& start,
                          GenerationOptions options) {
    options.start = start;
    return Seq2SeqGenerator(session, programs).generate({prompt}, options).run();
  }

  hf::Folder folder;
  Graph graph;
  hf::Model model;
  Seq2SeqPrograms programs;
  Session session;
};

inline TokenIds wide(const std::vector<std::int32_t>& ids) { return {ids.begin(), ids.end()}; }

}  // namespace weft::testing
