// Tiny Hugging Face model folders for tests, with random weights and a small vocabulary.
#pragma once

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "weft/graph/run/session.h"
#include "weft/models/hf/folder.h"
#include "weft/models/text/tokenizers/tokenizer_folder.h"
#include "weft/testing/temporary_folder.h"

namespace weft {

using nlohmann::json;

/// Returns the vocabulary of a BERT tokenizer in id order. The embedding has more rows than this
/// vocabulary.
inline const std::vector<std::string>& tiny_words() {
  static const std::vector<std::string> words = {
      "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the",  "a",    "film", "was",  "good",
      "bad",   "very",  "she",   "lives", "in",     "york", "new",  "##ly", ".",    ",",
      "who",   "where", "is",    "mary",  "brown",  "?",    "and",  "long", "dull", "##er",
      "it",    "he",    "saw",   "of",    "to",     "##s",  "anna", "bob",  "town", "river"};
  return words;
}
inline constexpr std::int64_t kTinyVocab = 48;
inline constexpr std::int64_t kTinyContext = 40;

/// Returns the config.json of a Hugging Face encoder.
inline json tiny_config(const std::string& type, const std::string& architecture) {
  json config = {{"model_type", type},
                 {"architectures", {architecture}},
                 {"vocab_size", kTinyVocab},
                 {"pad_token_id", 0},
                 {"initializer_range", 0.4}};
  if (type == "distilbert") {
    config.update({{"dim", 16},
                   {"n_layers", 2},
                   {"n_heads", 2},
                   {"hidden_dim", 32},
                   {"max_position_embeddings", kTinyContext}});
    return config;
  }
  config.update({{"hidden_size", 16},
                 {"num_hidden_layers", 2},
                 {"num_attention_heads", 2},
                 {"intermediate_size", 32},
                 {"max_position_embeddings", kTinyContext},
                 {"type_vocab_size", 2}});
  if (type == "mpnet" || type == "modernbert" || type == "eurobert")
    config.erase("type_vocab_size");
  if (type == "mpnet") config["pad_token_id"] = 1;  // fixed in the library
  if (type == "modernbert")
    config.update({{"local_attention", 8}, {"global_attn_every_n_layers", 2}});
  if (type == "eurobert") config["num_key_value_heads"] = 1;
  if (type == "albert") config.update({{"embedding_size", 8}, {"num_hidden_groups", 1}});
  if (type == "electra") config.update({{"embedding_size", 8}});
  if (type.starts_with("deberta")) {
    config.update({{"type_vocab_size", 0},
                   {"relative_attention", true},
                   {"pos_att_type", "c2p|p2c"},
                   {"position_biased_input", false}});
  }
  // The separator ends the question. The tokens of the question have global attention.
  if (type == "longformer") config.update({{"attention_window", {2, 6}}, {"sep_token_id", 3}});
  if (type == "roberta" || type == "camembert" || type == "xlm-roberta" ||
      type == "jina_embeddings_v3")
    config["type_vocab_size"] = 1;
  return config;
}

/// Returns the prefix of the class names of a model type, such as "Bert" or "XLMRoberta".
inline std::string class_prefix(const std::string& type) {
  static const std::map<std::string, std::string> prefixes = {
      {"bert", "Bert"},
      {"roberta", "Roberta"},
      {"distilbert", "DistilBert"},
      {"electra", "Electra"},
      {"albert", "Albert"},
      {"deberta", "Deberta"},
      {"camembert", "Camembert"},
      {"deberta-v2", "DebertaV2"},
      {"xlm-roberta", "XLMRoberta"},
      {"ernie", "Ernie"},
      {"mpnet", "MPNet"},
      {"roformer", "RoFormer"},
      {"modernbert", "ModernBert"},
      {"eurobert", "EuroBert"},
      {"nomic_bert", "NomicBert"},
      {"jina_embeddings_v3", "JinaEmbeddingsV3"},
      {"new", "New"},
      {"longformer", "Longformer"}};
  return prefixes.at(type);
}
inline const std::vector<std::string>& encoder_types() {
  static const std::vector<std::string> types = {
      "bert",        "roberta",   "distilbert", "electra",
      "albert",      "deberta",   "deberta-v2", "camembert",
      "xlm-roberta", "ernie",     "mpnet",      "roformer",
      "modernbert",  "eurobert",  "nomic_bert", "jina_embeddings_v3",
      "new",         "longformer"};
  return types;
}
/// Returns true if the class gives some tokens global attention, which embeddings never have.
inline bool has_default_global_attention(const std::string& type, const std::string& head) {
  return type == "longformer" &&
         (head == "ForSequenceClassification" || head == "ForQuestionAnswering");
}
/// Returns false for types without a class for question answering.
inline bool answers_questions(const std::string& type) {
  return type != "eurobert" && type != "nomic_bert";
}

/// A model folder with weights from a fixed seed and, unless `vocabulary` is false, a BERT
/// vocabulary.
class TinyFolder {
 public:
  explicit TinyFolder(const json& config, bool vocabulary = true)
      : files_("tiny_folder"), config_(config) {
    Graph graph;
    const hf::Model model =
        hf::build_model(graph, config.dump(), hf::minimal_inputs(config.dump()));
    const auto store = std::make_shared<VariableStore>();
    Session(graph, store, {.seed = 5}).initialise();
    hf::write_folder(path(), model, graph, *store);
    if (!vocabulary) return;
    std::vector<std::string> entries = tiny_words();
    std::swap(entries[0], entries.at(config.value("pad_token_id", std::size_t{0})));
    std::string words;
    for (const std::string& word : entries) words += word + "\n";
    write("vocab.txt", words);
  }
  TinyFolder(const std::string& type, const char* head)
      : TinyFolder(tiny_config(type, class_prefix(type) + head)) {}

  std::string path(const std::string& name = {}) const {
    return name.empty() ? files_.path("folder") : files_.path("folder/" + name);
  }
  std::string beside(const std::string& name) const { return files_.path(name); }
  std::string write(const std::string& name, std::string_view bytes) const {
    return files_.write("folder/" + name, bytes);
  }

  Tokenizer tokenizer() const { return read_tokenizer_folder(path()).tokenizer.value(); }
  /// Returns the encoding of one or two texts, including special tokens.
  Encoding ids(std::string_view text) const { return tokenizer().encode_text(text); }
  Encoding ids(std::string_view first, std::string_view second) const {
    return tokenizer().encode_pair({first, second});
  }
  /// Returns an output of the Hugging Face class for one row of ids, computed in a new session.
  Tensor output(const std::string& name, const Encoding& row, bool types = false) const {
    Graph graph;
    const std::int64_t length = std::ssize(row.ids);
    NamedTensors inputs = {{"input_ids", Tensor::of({1, length}, row.ids)}};
    if (types) inputs.emplace_back("token_type_ids", Tensor::of({1, length}, row.type_ids));
    const hf::Model model = hf::build_model(
        graph, config_.dump(), hf::input_types(TensorMap(inputs.begin(), inputs.end())));
    Session session(graph, hf::load_weights(model, graph, hf::read_folder(path())));
    return session.run(Program("run").output("out", model.outputs.at(name)), inputs)["out"];
  }

 private:
  testing::TemporaryFolder files_;
  json config_;
};

}  // namespace weft
