// The layouts of published embedding models: tiny folders with random weights are read, give the
// vectors of direct formulas, are trained, written back and read again.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <filesystem>

#include "tiny_folder.h"
#include "weft/models/hf/gpt.h"
#include "weft/models/tasks/tasks.h"
#include "weft/models/tasks/text_embedding/embedding_task.h"
#include "weft/models/tasks/text_embedding/task.h"
#include "weft/models/training/adapters.h"
#include "weft/models/training/trainable.h"
#include "weft/serialization/files/read_file.h"
#include "weft/serialization/safetensors.h"
#include "weft/serialization/tensor_file.h"
#include "weft/tests/support/program_shell.h"
#include "weft/tests/support/text_files.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(embedding_families)
namespace {

namespace fs = std::filesystem;
using Texts = std::vector<std::string>;
using Vector = std::vector<double>;

constexpr std::int64_t kWidth = 16;
const Texts kTexts = {"the film was good", "bad", "she lives in new york , and saw the river ."};

/// A published layout: the transformers model, the modules after it, and the prompts.
struct Family {
  std::string name;
  json config;
  std::string pooling = "mean";
  bool dense = false;  // two Dense modules, as in EmbeddingGemma
  bool normalise = true;
  json prompts = json::object();
  std::string prompt_name = {};  // of the texts in the test
};

json decoder(const std::string& type, const std::string& architecture, const json& more) {
  json config = {{"model_type", type},          {"architectures", {architecture}},
                 {"vocab_size", kTinyVocab},    {"hidden_size", kWidth},
                 {"num_hidden_layers", 3},      {"num_attention_heads", 4},
                 {"num_key_value_heads", 2},    {"head_dim", 6},
                 {"intermediate_size", 32},     {"max_position_embeddings", kTinyContext},
                 {"tie_word_embeddings", true}, {"initializer_range", 0.4}};
  config.update(more);
  return config;
}

json encoder(const std::string& type, const std::string& architecture, const json& more = {}) {
  json config = tiny_config(type, architecture);
  // Without dropout, training on shards can be compared.
  config.update({{"hidden_dropout_prob", 0}, {"attention_probs_dropout_prob", 0}});
  if (!more.is_null()) config.update(more);
  return config;
}

std::vector<Family> families() {
  const json e5 = {{"query", "query : "}, {"passage", "passage : "}};
  return {
      {"MiniLM", encoder("bert", "BertModel")},
      {"MPNet", encoder("mpnet", "MPNetForMaskedLM", {{"pad_token_id", 1}})},
      {"BGE", encoder("bert", "BertModel"), "cls", false, true, {{"query", "where is "}}, "query"},
      {"GTE", encoder("bert", "BertModel")},
      {"GTE 1.5", encoder("new", "NewModel", {{"type_vocab_size", 0}}), "cls"},
      {"E5", encoder("bert", "BertModel"), "mean", false, true, e5, "passage"},
      {"multilingual E5", encoder("xlm-roberta", "XLMRobertaModel"), "mean", false, true, e5,
       "query"},
      {"Nomic",
       encoder("nomic_bert", "NomicBertModel"),
       "mean",
       false,
       false,
       {{"query", "the "}, {"document", "a "}},
       "document"},
      {"ModernBERT",
       {{"model_type", "modernbert"},
        {"architectures", {"ModernBertModel"}},
        {"vocab_size", kTinyVocab},
        {"pad_token_id", 0},
        {"hidden_size", kWidth},
        {"num_hidden_layers", 3},
        {"num_attention_heads", 2},
        {"intermediate_size", 24},
        {"max_position_embeddings", kTinyContext},
        {"local_attention", 4},
        {"initializer_range", 0.4}},
       "cls"},
      {"Qwen3-Embedding",
       decoder("qwen3", "Qwen3ForCausalLM", json::object()),
       "lasttoken",
       false,
       true,
       {{"query", "where is "}, {"document", ""}},
       "query"},
      {"EmbeddingGemma",
       decoder("gemma3_text", "Gemma3TextModel",
               {{"use_bidirectional_attention", true},
                {"query_pre_attn_scalar", 6},
                {"sliding_window", 4},
                {"layer_types", {"sliding_attention", "sliding_attention", "full_attention"}},
                {"pad_token_id", 0}}),
       "mean",
       true,
       true,
       {{"query", "the "}, {"document", "a "}},
       "query"},
  };
}

bool is_decoder(const Family& family) { return hf::is_gpt(family.config.dump()); }

/// Writes the folder of a family. Decoders are written with the tensors of their base class.
struct FamilyFolder : TinyFolder {
  explicit FamilyFolder(const Family& family) : TinyFolder(family.config), family_(family) {
    write("tokenizer_config.json",
          R"({"tokenizer_class": "BertTokenizer", "do_lower_case": true})");
    if (is_decoder(family)) {
      TensorMap bare;
      for (const auto& [name, tensor] : read_tensors(path())) {
        if (name != "lm_head.weight")
          bare[name.starts_with("model.") ? name.substr(6) : name] = tensor;
      }
      write_safetensors(path("model.safetensors"), bare, {{"format", "pt"}});
    }
    json modules = json::array();
    const auto add = [&](const std::string& type) {
      const std::string index = std::to_string(modules.size());
      modules.push_back({{"idx", modules.size()},
                         {"name", index},
                         {"path", modules.empty() ? "" : index + "_" + type},
                         {"type", "sentence_transformers.models." + type}});
      return index + "_" + type;
    };
    add("Transformer");
    json pooling = {{"word_embedding_dimension", kWidth}, {"include_prompt", true}};
    pooling["pooling_mode_mean_tokens"] = family.pooling == "mean";
    pooling["pooling_mode_cls_token"] = family.pooling == "cls";
    pooling["pooling_mode_lasttoken"] = family.pooling == "lasttoken";
    write(add("Pooling") + "/config.json", pooling.dump());
    if (family.dense) {
      add_dense(add("Dense"), kWidth, 24, 1);
      add_dense(add("Dense"), 24, 8, 2);
    }
    if (family.normalise) add("Normalize");
    write("modules.json", modules.dump());
    write("sentence_bert_config.json", R"({"max_seq_length": 30, "do_lower_case": false})");
    write("config_sentence_transformers.json", json{{"__version__", {{"pytorch", "2.6.0"}}},
                                                    {"prompts", family.prompts},
                                                    {"default_prompt_name", nullptr},
                                                    {"similarity_fn_name", "cosine"}}
                                                   .dump());
  }

  /// Returns the vectors of the texts by direct formulas, in double precision after the encoder.
  std::vector<Vector> expected() const {
    const std::string prompt =
        family_.prompt_name.empty() ? "" : family_.prompts[family_.prompt_name].get<std::string>();
    std::vector<Vector> all;
    for (const std::string& text : kTexts) {
      const Tensor h = hidden(ids(prompt + text));
      const std::int64_t length = h.size(1);
      Vector x(kWidth, 0);
      const std::int64_t begin = family_.pooling == "lasttoken" ? length - 1 : 0,
                         end = family_.pooling == "cls" ? 1 : length;
      for (std::int64_t t = begin; t < end; ++t) {
        for (std::int64_t k = 0; k < kWidth; ++k)
          x[static_cast<std::size_t>(k)] += h.at(t * kWidth + k) / static_cast<double>(end - begin);
      }
      for (const Tensor& weight : dense_) {
        Vector y(static_cast<std::size_t>(weight.size(0)), 0);
        for (std::size_t o = 0; o < y.size(); ++o) {
          for (std::size_t k = 0; k < x.size(); ++k)
            y[o] += weight.at(static_cast<std::int64_t>(o * x.size() + k)) * x[k];
        }
        x = y;
      }
      double length_of_x = 0;
      for (const double v : x) length_of_x += v * v;
      for (double& v : x) v /= family_.normalise ? std::sqrt(length_of_x) : 1;
      all.push_back(x);
    }
    return all;
  }

  EmbedOptions options() const {
    if (family_.prompt_name.empty()) return {};
    return {.prompt_name = family_.prompt_name};
  }

 private:
  void add_dense(const std::string& at, std::int64_t in, std::int64_t out, std::uint64_t seed) {
    write(at + "/config.json", json{{"in_features", in},
                                    {"out_features", out},
                                    {"bias", false},
                                    {"activation_function", "torch.nn.modules.linear.Identity"}}
                                   .dump());
    std::vector<float> values;
    for (std::int64_t i = 0; i < in * out; ++i)
      values.push_back(std::sin(static_cast<float>(i * 7 + static_cast<std::int64_t>(seed))));
    dense_.push_back(Tensor::of({out, in}, values));
    write_safetensors(path(at + "/model.safetensors"), {{"linear.weight", dense_.back()}},
                      {{"format", "pt"}});
  }
  /// Returns the last hidden states of one text alone, [1, tokens, width].
  Tensor hidden(const Encoding& row) const {
    if (!is_decoder(family_)) return output("last_hidden_state", row);
    const hf::Folder folder = hf::read_folder(path());
    Graph graph;
    const NamedTensors inputs = {{"input_ids", Tensor::of({1, std::ssize(row.ids)}, row.ids)}};
    const hf::Model model = hf::build_model(
        graph, folder.config, hf::input_types(TensorMap(inputs.begin(), inputs.end())),
        hf::gpt_base_class(folder.config));
    Session session(graph, hf::load_weights(model, graph, folder), {.threads = 1});
    return session.run(Program("h").output("h", model.outputs.at("last_hidden_state")),
                       inputs)["h"];
  }

  Family family_;
  std::vector<Tensor> dense_;
};

Tensor vectors_of(const TrainedModel& model, const EmbedOptions& options) {
  const auto encoder = text_encoder(model);
  Session session(*encoder->graph, encoder->store, {.threads = 1});
  return embed(session, *encoder, kTexts, options);
}

double largest_difference(const Tensor& a, const Tensor& b) {
  BOOST_REQUIRE(a.sizes() == b.sizes());
  double largest = 0;
  for (std::int64_t i = 0; i < a.numel(); ++i)
    largest = std::max(largest, std::abs(a.at(i) - b.at(i)));
  return largest;
}

std::string pairs_file(const TextFiles& files) {
  return files.write("pairs.tsv",
                     "who lives in york ?\tshe lives in new york\tthe film was bad\n"
                     "is the film good ?\tit is a very good film\n"
                     "where is bob ?\tbob saw the river\tanna is in town\n"
                     "is it long ?\tthe dull film was very long\n");
}

/// Returns a model that was trained for two steps on pairs, from the folder at `path`.
std::unique_ptr<TrainedModel> trained(const std::string& path, const std::string& pairs,
                                      std::int64_t shards = 1,
                                      const std::string& query_prompt = {}) {
  TaskArguments args;
  args.options.add("--data", pairs);
  if (!query_prompt.empty()) args.options.fields("Embedding") = {{"query_prompt", query_prompt}};
  args.from = load_pretrained(path);
  args.training = {{"steps", "2"},
                   {"batch", "4"},
                   {"lr", "0.01"},
                   {"validation_fraction", "0"},
                   {"shards", std::to_string(shards)}};
  const auto run = text_embedding_task().start(args);
  // Only the head of the class is missing in the new model.
  BOOST_TEST(run->loaded->newly_initialised().empty());
  make_trainable(run->model());
  Session session(*run->model().graph, run->model().store, {.threads = 1});
  Trainer(session, run->task(session), {.settings = run->model().settings}).run();
  return run->model().clone();
}

BOOST_AUTO_TEST_CASE(published_layouts_are_read_trained_and_written_back) {
  const TextFiles files("families");
  const std::string pairs = pairs_file(files);
  for (const Family& family : families()) {
    BOOST_TEST_CONTEXT(family.name) {
      const FamilyFolder folder(family);
      const auto loaded = load_any_model(folder.path()).model;
      const Tensor found = vectors_of(*loaded, folder.options());
      const std::vector<Vector> expected = folder.expected();
      BOOST_REQUIRE(found.size(1) == std::ssize(expected[0]));
      for (std::size_t i = 0; i < expected.size(); ++i) {
        for (std::size_t k = 0; k < expected[i].size(); ++k) {
          BOOST_TEST(std::abs(found.at(static_cast<std::int64_t>(i * expected[i].size() + k)) -
                              expected[i][k]) < 2e-5);
        }
      }

      const auto model = trained(folder.path(), pairs);
      const Tensor after = vectors_of(*model, folder.options());
      BOOST_TEST(largest_difference(found, after) > 1e-3);
      // Gradient caching over two shards gives the same model up to rounding.
      BOOST_TEST(largest_difference(vectors_of(*trained(folder.path(), pairs, 2), folder.options()),
                                    after) < 1e-3);
      const std::string file = folder.beside("m.weft"), again = folder.beside("again");
      save_model(file, *model);
      save_folder(again, *load_any_model(file).model);
      for (const char* name : {"modules.json", "1_Pooling/config.json", "sentence_bert_config.json",
                               "config_sentence_transformers.json"})
        BOOST_TEST(json::parse(read_whole_file(again + "/" + name)) ==
                       json::parse(read_whole_file(folder.path(name))),
                   name);
      BOOST_TEST(fs::exists(again + "/2_Dense/model.safetensors") == family.dense);
      for (const std::string& path : {file, again})
        BOOST_TEST(largest_difference(vectors_of(*load_any_model(path).model, folder.options()),
                                      after) < 1e-5);
      // Training continues from both.
      for (const std::string& path : {file, again}) {
        BOOST_TEST(largest_difference(vectors_of(*trained(path, pairs), folder.options()), after) >
                   1e-4);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(prompts_that_leave_no_token_of_the_text_are_errors) {
  const TextFiles files("families");
  const FamilyFolder folder(families().front());
  auto pooling = json::parse(read_whole_file(folder.path("1_Pooling/config.json")));
  pooling["include_prompt"] = false;
  folder.write("1_Pooling/config.json", pooling.dump());
  std::string prompt;
  for (int i = 0; i < 20; ++i) prompt += "who lives in york ? ";
  const std::string message =
      "fills all 30 tokens that the model reads, so that none of them belong to the text: shorten "
      "the prompt";
  check_error_message<DataError>([&] { trained(folder.path(), pairs_file(files), 1, prompt); },
                                 message);
  const auto loaded = load_any_model(folder.path()).model;
  check_error_message<DataError>([&] { vectors_of(*loaded, {.prompt = prompt}); }, message);
}

BOOST_AUTO_TEST_CASE(classifiers_of_pairs_in_weft_files_are_trained_as_embedding_models) {
  const TextFiles files("families");
  const TinyFolder folder("bert", "ForSequenceClassification");
  const std::string file = files.path("classifier.weft");
  save_model(file, *load_any_model(folder.path()).model);
  BOOST_REQUIRE(load_pretrained(file).reading.value().token_types);
  const auto model = trained(file, pairs_file(files));
  BOOST_TEST(vectors_of(*model, {}).size(1) == kWidth);
}

BOOST_AUTO_TEST_CASE(evaluations_insert_the_default_prompt_before_queries_and_passages) {
  const TextFiles files("families");
  const RetrievalPairs pairs = read_retrieval_pairs(std::vector<std::string>{pairs_file(files)});
  const FamilyFolder folder(families().front());
  const auto loss = [&](const json& settings) {
    folder.write("config_sentence_transformers.json", settings.dump());
    const auto encoder = text_encoder(*load_any_model(folder.path()).model);
    Session session(*encoder->graph, encoder->store, {.threads = 1});
    return evaluate(session, *encoder, pairs).loss;
  };
  const double found = loss({{"prompts", {{"all", "where is "}}}, {"default_prompt_name", "all"}});
  BOOST_TEST(found == loss({{"prompts", {{"query", "where is "}, {"passage", "where is "}}}}));
  BOOST_TEST(found != loss({{"prompts", {{"all", "where is "}}}}));
}

BOOST_AUTO_TEST_CASE(decoders_are_adapted_and_evaluated_as_embedding_models) {
  const TextFiles files("families");
  const std::string pairs = pairs_file(files);
  const Shell weft;
  for (const Family& family : families()) {
    if (!is_decoder(family)) continue;
    BOOST_TEST_CONTEXT(family.name) {
      const FamilyFolder folder(family);
      const std::string out = weft.path("lora.weft"), merged = weft.path("merged.weft"),
                        written = weft.path("written");
      const auto done = [&](const std::string& command) {
        const Outcome outcome = weft(command);
        BOOST_TEST_CONTEXT(command << "\n" << outcome.out << outcome.err) {
          BOOST_REQUIRE(outcome.code == 0);
        }
        return outcome.out;
      };
      done("train encoder --task embedding --from " + folder.path() + " --data " + pairs +
           " --validation " + pairs +
           " --steps 3 --batch 2 --lora-rank 2 --query-prompt 'where ' "
           "--max-tokens 20 --dimensions 4 --out " +
           out);
      done("merge " + folder.path() + " --adapters " + weft.path("lora.lora.safetensors") +
           " --out " + merged);
      BOOST_TEST(contains(done("evaluate " + out + " --validation " + pairs), "ndcg@10"));
      BOOST_TEST(contains(done("evaluate " + merged + " --validation " + pairs), "recall@100"));
      done("convert " + merged + " --out " + written);
      done("embed " + written + " bob --prompt-name query --json");
      fs::remove_all(written);
      const Outcome layers = weft("train encoder --task embedding --from " + folder.path() +
                                  " --data " + pairs + " --layers 2 --out " + weft.path("x.weft"));
      BOOST_TEST(layers.code == 2);
      BOOST_TEST(contains(layers.err, "holds a decoder, to which --layers does not apply"));
    }
  }
}

BOOST_AUTO_TEST_CASE(given_prompts_and_limits_are_written_into_the_folder) {
  const TextFiles files("families");
  const std::string pairs = pairs_file(files);
  const FamilyFolder folder(families().front());
  const Shell weft;
  const std::string out = weft.path("m.weft"), written = weft.path("written");
  const Outcome run = weft("train encoder --task embedding --from " + folder.path() + " --data " +
                           pairs + " --validation " + pairs +
                           " --steps 1 --batch 2 --query-prompt 'query : ' "
                           "--passage-prompt 'passage : ' --max-tokens 12 --out " +
                           out);
  BOOST_TEST_CONTEXT(run.out << run.err) { BOOST_REQUIRE(run.code == 0); }
  BOOST_TEST(contains(run.out, "queries   begin with \"query : \""));
  BOOST_TEST(contains(run.out, "baseline  ndcg@10"));
  BOOST_TEST(contains(run.out, "BM25"));
  BOOST_TEST(contains(run.out, "the model before training"));
  BOOST_TEST(fs::exists(weft.path("m.recall.svg")));
  BOOST_REQUIRE(weft("convert " + out + " --out " + written).code == 0);
  const json config = json::parse(read_whole_file(written + "/config_sentence_transformers.json"));
  BOOST_TEST(config["prompts"] == json({{"query", "query : "}, {"document", "passage : "}}));
  BOOST_TEST(
      json::parse(read_whole_file(written + "/sentence_bert_config.json"))["max_seq_length"] == 12);
  for (const auto& [options, message] : std::vector<std::pair<std::string, std::string>>{
           {"--pool cls", "which determine the pooling: leave out --pool"},
           {"--max-tokens 41", "max_tokens is 41, but the context of the model is 40 tokens"},
           {"--max-tokens 2", "is 2 tokens, but the tokenizer adds 2 special tokens"},
           {"--dimensions 17", "dimensions contains 17, but the vectors of the model have 16"}}) {
    const Outcome failed = weft("train encoder --task embedding --from " + folder.path() +
                                " --data " + pairs + " " + options + " --out " + out + "2");
    BOOST_TEST(failed.code == 2);
    BOOST_TEST(contains(failed.err, message), failed.err);
  }
  // The contrastive loss compares vectors by cosine or dot product only.
  folder.write("config_sentence_transformers.json", R"({"similarity_fn_name": "euclidean"})");
  const Outcome failed = weft("train encoder --task embedding --from " + folder.path() +
                              " --data " + pairs + " --out " + out + "2");
  BOOST_TEST(failed.code == 2);
  BOOST_TEST(contains(failed.err, "similarity_fn_name of the model is \"euclidean\""));
}

/// The last hidden states of a bidirectional Gemma 3, computed by
/// tests/fixtures/embedding/gemma3.py in double precision.
BOOST_AUTO_TEST_CASE(bidirectional_attention_matches_a_plain_implementation) {
  const std::string fixtures = WEFT_FIXTURES;
  hf::Folder folder = hf::read_folder(fixtures + "/goldens/gemma3-default");
  json config = json::parse(folder.config);
  config["use_bidirectional_attention"] = true;
  folder.config = config.dump();
  const GptConfig read = hf::gpt_config(folder.config);
  BOOST_TEST(!read.causal);
  BOOST_TEST(read.window == 3);  // at most 2 tokens on either side for sliding_window = 4
  const json cases =
      json::parse(read_whole_file(fixtures + "/embedding/gemma3_bidirectional.json"));
  for (const bool padded : {false, true}) {
    for (const json& text : cases) {
      auto ids = text["ids"].get<std::vector<std::int32_t>>();
      const auto expected = text["last_hidden_state"].get<Vector>();
      std::vector<std::int32_t> mask(ids.size(), 1);
      const std::int64_t length = std::ssize(ids);
      if (padded) {
        ids.insert(ids.end(), 3, 0);
        mask.insert(mask.end(), 3, 0);
      }
      const auto n = std::ssize(ids);
      NamedTensors inputs = {{"input_ids", Tensor::of({1, n}, ids)}};
      if (padded) inputs.emplace_back("attention_mask", Tensor::of({1, n}, mask));
      Graph graph;
      const hf::Model model = hf::build_model(
          graph, folder.config, hf::input_types(TensorMap(inputs.begin(), inputs.end())),
          "Gemma3TextModel");
      Session session(graph, hf::load_weights(model, graph, folder));
      const Tensor h =
          session.run(Program("h").output("h", model.outputs.at("last_hidden_state")), inputs)["h"];
      double largest = 0;
      for (std::int64_t i = 0; i < length * 24; ++i)
        largest = std::max(largest, std::abs(h.at(i) - expected[static_cast<std::size_t>(i)]));
      BOOST_TEST(largest < 2e-5);
    }
  }
  // config.json is written with the same window.
  const GptConfig written = hf::gpt_config(hf::config_json(read, {"Model"}));
  BOOST_TEST(!written.causal);
  BOOST_TEST(written.window == read.window);
}

BOOST_AUTO_TEST_CASE(a_bidirectional_decoder_does_not_generate_text) {
  Graph graph;
  GptConfig config = GptConfig::llama();
  config.vocab = 20;
  config.layers = 1;
  config.heads = 2;
  config.width = 8;
  config.context = 8;
  config.causal = false;
  const Gpt gpt(Scope(graph).evaluation(), config);
  const Value tokens = graph.input("tokens", DType::i32, {"batch", "new"});
  check_error_message<ArgumentError>([&] { gpt.decode_program(tokens); },
                                     "(causal = false) cannot generate text");
  config.positions = GptPositions::linear_bias;
  check_error_message<ArgumentError>([&] { config.check(); },
                                     "positions linear_bias needs causal attention");
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()

}  // namespace weft
