// Vectors of texts from decoders with the modules of Sentence Transformers: the hidden state of the
// last token, as in Qwen3-Embedding.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <filesystem>

#include "folder_round_trip.h"
#include "weft/models/tasks/common/text_encoder.h"
#include "weft/serialization/safetensors.h"
#include "weft/serialization/tensor_file.h"
#include "weft/tests/support/program_shell.h"
#include "writer_folders.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(decoder_embedding)
namespace {

using nlohmann::json;
using testing::TemporaryFolder;

const std::vector<std::string> kTexts = {"the grand old duke of york", "a", "up and down again!"};

/// Writes a decoder with tensors that have the names of the class without a head if `bare` is set.
void write_decoder(const TemporaryFolder& folder, const std::string& pooling, bool normalise,
                   bool bare, DType dtype) {
  const json config = {{"model_type", "qwen3"},
                       {"architectures", {"Qwen3ForCausalLM"}},
                       {"vocab_size", testing::kFolderVocab},
                       {"hidden_size", 16},
                       {"num_hidden_layers", 2},
                       {"num_attention_heads", 4},
                       {"num_key_value_heads", 2},
                       {"head_dim", 6},
                       {"intermediate_size", 32},
                       {"max_position_embeddings", 64},
                       {"tie_word_embeddings", true},
                       {"torch_dtype", dtype == DType::bf16 ? "bfloat16" : "float32"},
                       {"initializer_range", 0.4}};
  testing::write_model(folder.path(), config);
  TensorMap tensors;
  for (const auto& [name, tensor] : read_tensors(folder.path())) {
    if (name == "lm_head.weight") continue;
    tensors[bare && name.starts_with("model.") ? name.substr(6) : name] =
        tensor.to(DType::bf16).to(dtype);
  }
  write_safetensors(folder.path("model.safetensors"), tensors, {{"format", "pt"}});
  folder.write("tokenizer.json", testing::tokenizer_json({"<unk>", "<s>", "</s>"}, {{}, {"</s>"}}));
  folder.write("tokenizer_config.json",
               R"({"bos_token": "<s>", "eos_token": "</s>", "tokenizer_class": "LlamaTokenizer",
                   "clean_up_tokenization_spaces": false})");
  json modules = json::array();
  for (const char* name : {"Transformer", "Pooling", "Normalize"}) {
    if (std::string(name) == "Normalize" && !normalise) continue;
    const std::string index = std::to_string(modules.size());
    modules.push_back({{"idx", modules.size()},
                       {"name", index},
                       {"path", modules.empty() ? "" : index + "_" + name},
                       {"type", std::string("sentence_transformers.models.") + name}});
  }
  folder.write("modules.json", modules.dump());
  folder.write("1_Pooling/config.json", json{{"word_embedding_dimension", 16},
                                             {"pooling_mode_mean_tokens", pooling == "mean"},
                                             {"pooling_mode_lasttoken", pooling == "lasttoken"},
                                             {"include_prompt", true}}
                                            .dump());
  folder.write("config_sentence_transformers.json",
               R"({"prompts": {"query": "the ", "document": ""}, "default_prompt_name": null})");
}

/// Returns the pooled hidden states of the class without a head for each text alone.
std::vector<std::vector<double>> expected(const std::string& path, const std::string& pooling,
                                          bool normalise, const std::string& prompt = "") {
  const hf::Folder folder = hf::read_folder(path);
  const Tokenizer tokenizer = read_tokenizer_folder(path).tokenizer.value();
  std::vector<std::vector<double>> all;
  for (const std::string& text : kTexts) {
    const std::vector<std::int32_t> ids = tokenizer.encode_text(prompt + text).ids;
    BOOST_TEST_REQUIRE(ids.back() == tokenizer.eos_id());
    Graph graph;
    const NamedTensors inputs = {{"input_ids", Tensor::of({1, std::ssize(ids)}, ids)}};
    const hf::Model model =
        hf::build_model(graph, folder.config,
                        hf::input_types(TensorMap(inputs.begin(), inputs.end())), "Qwen3Model");
    Session session(graph, hf::load_weights(model, graph, folder), {.threads = 1});
    const Tensor h =
        session.run(Program("h").output("h", model.outputs.at("last_hidden_state")), inputs)["h"];
    std::vector<double> vector(16, 0);
    for (std::int64_t i = pooling == "mean" ? 0 : std::ssize(ids) - 1; i < std::ssize(ids); ++i) {
      for (std::size_t k = 0; k < vector.size(); ++k)
        vector[k] += h.at(i * 16 + static_cast<std::int64_t>(k)) /
                     (pooling == "mean" ? static_cast<double>(ids.size()) : 1);
    }
    double length = 0;
    for (const double x : vector) length += x * x;
    for (double& x : vector) x /= normalise ? std::sqrt(length) : 1;
    all.push_back(vector);
  }
  return all;
}

void check_vectors(const TrainedModel& model, const std::vector<std::vector<double>>& wanted,
                   const EmbedOptions& options = {}) {
  const auto encoder = text_encoder(model);
  Session session(*encoder->graph, encoder->store, {.threads = 2});
  const Tensor found = embed(session, *encoder, kTexts, options);
  BOOST_TEST_REQUIRE(found.size(1) == 16);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    for (std::size_t k = 0; k < 16; ++k)
      BOOST_TEST(std::abs(found.at(static_cast<std::int64_t>(i * 16 + k)) - wanted[i][k]) < 1e-5);
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(vectors_are_the_pooled_hidden_states_of_the_class_without_a_head) {
  for (const std::string pooling : {"lasttoken", "mean"}) {
    for (const bool normalise : {true, false}) {
      for (const bool bare : {true, false}) {
        for (const DType dtype : {DType::f32, DType::bf16}) {
          BOOST_TEST_CONTEXT(pooling << normalise << bare << dtype_name(dtype)) {
            const TemporaryFolder folder("embedder"), files("files");
            write_decoder(folder, pooling, normalise, bare, dtype);
            const auto loaded = load_any_model(folder.path());
            const auto wanted = expected(folder.path(), pooling, normalise);
            check_vectors(*loaded.model, wanted);
            check_vectors(*loaded.model, expected(folder.path(), pooling, normalise, "the "),
                          {.prompt_name = "query"});
            save_model(files.path("m.weft"), *loaded.model);
            const auto file = load_any_model(files.path("m.weft"));
            check_vectors(*file.model, wanted);
            save_folder(files.path("again"), *file.model);
            check_vectors(*load_any_model(files.path("again")).model, wanted);
            const auto table = file.model->store->tensor("transformer.wte.weight");
            BOOST_TEST((table.dtype() == dtype));
          }
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(the_folder_of_an_embedding_model_also_generates_text) {
  const Shell weft;
  const TemporaryFolder folder("embedder");
  write_decoder(folder, "lasttoken", true, false, DType::f32);
  const Outcome vectors = weft("embed " + folder.path() + " 'the grand old duke' --json");
  BOOST_TEST(vectors.code == 0, vectors.err);
  const Outcome text = weft("generate " + folder.path() + " --prompt the --tokens 3");
  BOOST_TEST(text.code == 0, text.err);
}

BOOST_AUTO_TEST_CASE(a_vocabulary_that_does_not_fit_the_decoder_is_an_error) {
  const TemporaryFolder folder("embedder");
  write_decoder(folder, "lasttoken", true, false, DType::f32);
  std::vector<std::string> words = {"<unk>", "<s>", "</s>"};
  for (int i = 0; i < 2 * testing::kFolderVocab; ++i) words.push_back("word" + std::to_string(i));
  folder.write("tokenizer.json", testing::tokenizer_json(words, {{}, {"</s>"}}));
  BOOST_CHECK_EXCEPTION(load_any_model(folder.path()), ArgumentError, [&](const Error& e) {
    const std::string what = e.what();
    return what.starts_with(folder.path()) &&
           what.find("but the model's embedding table has") != std::string::npos;
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace weft
