// Sentence Transformers folders: modules, poolings, prompts and limits.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <filesystem>
#include <functional>

#include "tiny_folder.h"
#include "weft/core/error.h"
#include "weft/models/inputs/sentences/torch_activation.h"
#include "weft/models/tasks/tasks.h"
#include "weft/serialization/files/read_file.h"
#include "weft/serialization/safetensors.h"
#include "weft/tests/support/text_files.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(sentences)
namespace {

namespace fs = std::filesystem;
using Texts = std::vector<std::string>;
using Vector = std::vector<double>;

const Texts kTexts = {"the film was good", "bad", "she lives in new york , and saw the river ."};
constexpr std::int64_t kWidth = 16;
const std::string kKind = "sentence_transformers.models.";

Tensor embedded(const std::string& path, const Texts& texts, const EmbedOptions& options = {}) {
  const auto encoder = text_encoder(*load_model_for(Use::embed, path).model);
  Session session(*encoder->graph, encoder->store, {.threads = 1});
  return embed(session, *encoder, texts, options);
}

Vector row_of(const Tensor& vectors, std::size_t row) {
  Vector result;
  for (std::int64_t i = 0; i < vectors.size(1); ++i)
    result.push_back(vectors.at(static_cast<std::int64_t>(row) * vectors.size(1) + i));
  return result;
}

void check_close(const Vector& found, const Vector& expected) {
  BOOST_TEST_REQUIRE(found.size() == expected.size());
  double largest = 0;
  for (std::size_t i = 0; i < found.size(); ++i)
    largest = std::max(largest, std::abs(found[i] - expected[i]));
  BOOST_TEST(largest < 1e-5);
}

/// Checks the vectors of the model at `path`, of the .weft file made from it, and of the folder
/// made from that file.
void check_vectors(const TinyFolder& folder, const std::string& path, const Texts& texts,
                   const std::vector<Vector>& expected, const EmbedOptions& options = {}) {
  const std::string file = folder.beside("m.weft"), again = folder.beside("again"),
                    direct = folder.beside("direct");
  save_folder(direct, *load_any_model(path).model);
  save_model(file, *load_any_model(path).model);
  save_folder(again, *load_any_model(file).model);
  for (const std::string& model : {path, file, again, direct}) {
    BOOST_TEST_CONTEXT(model) {
      const Tensor found = embedded(model, texts, options);
      for (std::size_t i = 0; i < texts.size(); ++i) check_close(row_of(found, i), expected[i]);
    }
  }
  for (const std::string& made : {again, direct}) fs::remove_all(made);
}

/// Returns the last hidden states of a row, [tokens][width].
std::vector<Vector> hidden(const TinyFolder& folder, const Encoding& row) {
  const Tensor h = folder.output("last_hidden_state", row);
  std::vector<Vector> result;
  for (std::size_t i = 0; i < row.ids.size(); ++i) {
    result.emplace_back();
    for (std::int64_t k = 0; k < kWidth; ++k)
      result.back().push_back(h.at(static_cast<std::int64_t>(i) * kWidth + k));
  }
  return result;
}

/// Pools the hidden states from token `first` on, in double precision.
Vector pooled(const std::vector<Vector>& h, const std::string& mode, std::size_t first = 0) {
  if (mode == "cls") return h[first];
  if (mode == "lasttoken") return h.back();
  Vector result(h[0].size(), mode == "max" ? -1e9 : 0);
  double weights = 0;
  for (std::size_t i = first; i < h.size(); ++i) {
    const double weight = mode == "weightedmean" ? static_cast<double>(i + 1) : 1;
    weights += weight;
    for (std::size_t k = 0; k < result.size(); ++k)
      result[k] = mode == "max" ? std::max(result[k], h[i][k]) : result[k] + weight * h[i][k];
  }
  for (double& x : result) {
    if (mode != "max") x /= mode == "mean_sqrt_len_tokens" ? std::sqrt(weights) : weights;
  }
  return result;
}

Vector normalised(Vector v) {
  double sum = 0;
  for (const double x : v) sum += x * x;
  for (double& x : v) x /= std::sqrt(sum);
  return v;
}

json modules(const std::vector<std::pair<std::string, std::string>>& after) {
  json list = {{{"idx", 0}, {"name", "0"}, {"path", ""}, {"type", kKind + "Transformer"}}};
  for (const auto& [path, type] : after) {
    list.push_back({{"idx", list.size()},
                    {"name", std::to_string(list.size())},
                    {"path", path},
                    {"type", type.find('.') == std::string::npos ? kKind + type : type}});
  }
  return list;
}

/// A folder with a Transformer and the given modules after it.
struct SentenceFolder : TinyFolder {
  SentenceFolder(const std::vector<std::pair<std::string, std::string>>& after, const json& pooling,
                 const char* head = "Model", const std::string& type = "bert")
      : TinyFolder(type, head) {
    write("modules.json", modules(after).dump());
    write("1_Pooling/config.json", pooling.dump());
  }
};

const json kMean = {{"word_embedding_dimension", kWidth}, {"pooling_mode_mean_tokens", true}};

BOOST_AUTO_TEST_CASE(reference_folders_give_the_reference_vectors_for_both_classes) {
  const fs::path cases = fs::path(WEFT_FIXTURES) / "sentence_transformers";
  for (const char* base : {"model_bertmodel", "model_maskedlm"}) {
    for (const auto& overlay : fs::directory_iterator(cases / "overlays")) {
      BOOST_TEST_CONTEXT(base << " with " << overlay.path().filename()) {
        const TinyFolder beside("bert", "Model");  // only a temporary folder
        const std::string path = beside.beside("case");
        fs::copy(cases / base, path, fs::copy_options::recursive);
        fs::copy(overlay.path(), path,
                 fs::copy_options::recursive | fs::copy_options::overwrite_existing);
        fs::remove(path + "/expected.json");
        const json expected =
            json::parse(read_whole_file((overlay.path() / "expected.json").string()));
        Texts texts;
        std::vector<Vector> vectors;
        for (const json& text : expected["texts"]) {
          texts.push_back(text["text"]);
          vectors.push_back(text["vector"].get<Vector>());
        }
        check_vectors(beside, path, texts, vectors);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(poolings_of_all_config_forms_are_concatenated_in_the_order_of_the_library) {
  const auto flags = [](const std::vector<std::string>& keys) {
    json config = {{"word_embedding_dimension", kWidth}, {"include_prompt", true}};
    for (const std::string key : {"cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens",
                                  "weightedmean_tokens", "lasttoken"})
      config["pooling_mode_" + key] = std::find(keys.begin(), keys.end(), key) != keys.end();
    return config;
  };
  const auto mode = [](const json& modes) {
    return json{{"embedding_dimension", kWidth}, {"pooling_mode", modes}};
  };
  struct Form {
    json config;
    Texts modes;
  };
  std::vector<Form> forms = {
      {flags({"cls_token"}), {"cls"}},
      {flags({"max_tokens"}), {"max"}},
      {flags({"mean_sqrt_len_tokens"}), {"mean_sqrt_len_tokens"}},
      {flags({"weightedmean_tokens"}), {"weightedmean"}},
      {flags({"lasttoken"}), {"lasttoken"}},
      {flags({"lasttoken", "mean_tokens", "cls_token"}), {"cls", "mean", "lasttoken"}},
      {flags({"mean_tokens", "max_tokens"}), {"max", "mean"}},
      {flags({}), {"mean"}},
      {{{"word_embedding_dimension", kWidth}}, {"mean"}},
      {{{"word_embedding_dimension", kWidth}, {"pooling_mode_cls_token", true}}, {"cls"}},
      {mode({"mean", "cls"}), {"mean", "cls"}},
      {mode({"max"}), {"max"}},
      // pooling_mode has priority over the keys of earlier versions.
      {{{"embedding_dimension", kWidth},
        {"pooling_mode", "lasttoken"},
        {"pooling_mode_mean_tokens", true}},
       {"lasttoken"}}};
  for (const std::string_view name : choice_names(TextPooling{}).names)
    forms.push_back({mode(std::string(name)), {std::string(name)}});
  for (const Form& form : forms) {
    BOOST_TEST_CONTEXT(form.config.dump()) {
      const SentenceFolder folder({{"1_Pooling", "Pooling"}}, form.config, "ForMaskedLM");
      std::vector<Vector> expected;
      for (const std::string& text : kTexts) {
        expected.emplace_back();
        const auto h = hidden(folder, folder.ids(text));
        for (const std::string& mode : form.modes) {
          const Vector part = pooled(h, mode);
          expected.back().insert(expected.back().end(), part.begin(), part.end());
        }
      }
      check_vectors(folder, folder.path(), kTexts, expected);
    }
  }
}

BOOST_AUTO_TEST_CASE(the_pooling_applies_to_every_encoder_class) {
  for (const std::string& type : encoder_types()) {
    for (const char* head : {"Model", "ForMaskedLM", "ForSequenceClassification",
                             "ForTokenClassification", "ForQuestionAnswering"}) {
      if (head == std::string("ForQuestionAnswering") && !answers_questions(type)) continue;
      if (has_default_global_attention(type, head)) continue;
      BOOST_TEST_CONTEXT(type << head) {
        const SentenceFolder folder(
            {{"pool", "sentence_transformers.sentence_transformer.modules.pooling.Pooling"}}, kMean,
            head, type);
        folder.write("pool/config.json",
                     json{{"embedding_dimension", kWidth}, {"pooling_mode", "max"}}.dump());
        std::vector<Vector> expected;
        for (const std::string& text : kTexts)
          expected.push_back(pooled(hidden(folder, folder.ids(text)), "max"));
        check_vectors(folder, folder.path(), kTexts, expected);
        BOOST_TEST(load_any_model(folder.path()).task.info().id == "text-embedding");
      }
    }
  }
  // Other inference tasks still use the head.
  const SentenceFolder folder({{"1_Pooling", "Pooling"}}, kMean, "ForMaskedLM");
  BOOST_TEST(load_model_for(Use::fill, folder.path()).task.info().name == "mlm");
}

BOOST_AUTO_TEST_CASE(the_transformers_model_may_be_in_a_subfolder) {
  for (const char* inner : {"0_Transformer", "encoder/bert"}) {
    const SentenceFolder folder({{"1_Pooling", "Pooling"}}, kMean, "ForMaskedLM");
    const Encoding row = folder.ids(kTexts[0]);
    const Vector expected = pooled(hidden(folder, row), "mean");
    json list = modules({{"1_Pooling", "Pooling"}});
    list[0]["path"] = inner;
    folder.write("modules.json", list.dump());
    fs::create_directories(folder.path(inner));
    for (const char* name : {"model.safetensors", "vocab.txt", "config.json"})
      fs::rename(folder.path(name), folder.path(std::string(inner) + "/" + name));
    folder.write(std::string(inner) + "/sentence_bert_config.json",
                 R"({"max_seq_length": 30, "do_lower_case": false})");
    folder.write("config.json", R"({"__version__": "0.3.0"})");  // written by early versions
    check_vectors(folder, folder.path(), {kTexts[0]}, {expected});
    save_folder(folder.beside("flat"), *load_any_model(folder.path()).model);
    BOOST_TEST(json::parse(read_whole_file(folder.beside("flat/modules.json")))[0]["path"] == "");
    fs::remove_all(folder.path(inner));
    check_error_message<IoError>([&] { load_any_model(folder.path()); }, "has no config.json");
  }
}

BOOST_AUTO_TEST_CASE(modules_after_the_pooling_are_applied_in_order) {
  const auto dense = [](std::int64_t in, std::int64_t out, const std::string& activation) {
    return json{{"in_features", in},
                {"out_features", out},
                {"bias", true},
                {"activation_function", activation}};
  };
  const SentenceFolder folder({{"1_Pooling", "Pooling"},
                               {"2_LayerNorm", "LayerNorm"},
                               {"3_Normalize", "Normalize"},
                               {"4_Dense", "Dense"},
                               {"5_Dropout", "Dropout"},
                               {"6_Dense", "Dense"}},
                              kMean, "ForMaskedLM");
  folder.write("2_LayerNorm/config.json", R"({"dimension": 16})");
  folder.write("4_Dense/config.json", dense(16, 6, "torch.nn.modules.activation.GELU").dump());
  json second = dense(6, 3, "torch.nn.modules.linear.Identity");
  second.update({{"bias", false},
                 {"use_residual", true},
                 {"module_input_name", "sentence_embedding"},
                 {"module_output_name", nullptr}});
  folder.write("5_Dropout/config.json", R"({"dropout": 0.5})");
  folder.write("6_Dense/config.json", second.dump());
  const auto numbers = [](const Sizes& sizes, int seed) {
    Tensor tensor = Tensor::empty(DType::f32, sizes);
    for (std::int64_t i = 0; i < tensor.numel(); ++i)
      tensor.mutable_data<float>()[i] = static_cast<float>((i * 37 + seed * 11) % 19 - 9) / 9;
    return tensor;
  };
  const TensorMap norm = {{"norm.weight", numbers({16}, 1)}, {"norm.bias", numbers({16}, 2)}},
                  first = {{"linear.weight", numbers({6, 16}, 3)},
                           {"linear.bias", numbers({6}, 4)}},
                  last = {{"linear.weight", numbers({3, 6}, 5)},
                          {"residual.weight", numbers({3, 6}, 6)}};
  fs::create_directories(folder.path("2_LayerNorm"));
  write_safetensors(folder.path("2_LayerNorm/model.safetensors"), norm);
  write_safetensors(folder.path("4_Dense/model.safetensors"), first);
  write_safetensors(folder.path("6_Dense/model.safetensors"), last);

  const auto times = [](const Tensor& w, const Vector& x) {
    Vector y(static_cast<std::size_t>(w.size(0)));
    for (std::size_t i = 0; i < y.size(); ++i) {
      for (std::size_t k = 0; k < x.size(); ++k)
        y[i] += w.at(static_cast<std::int64_t>(i * x.size() + k)) * x[k];
    }
    return y;
  };
  std::vector<Vector> expected;
  for (const std::string& text : kTexts) {
    Vector x = pooled(hidden(folder, folder.ids(text)), "mean");
    double mean = 0, variance = 0;
    for (const double v : x) mean += v / 16;
    for (const double v : x) variance += (v - mean) * (v - mean) / 16;
    for (std::size_t k = 0; k < x.size(); ++k) {
      x[k] = (x[k] - mean) / std::sqrt(variance + 1e-5) *
                 norm.at("norm.weight").at(static_cast<std::int64_t>(k)) +
             norm.at("norm.bias").at(static_cast<std::int64_t>(k));
    }
    x = times(first.at("linear.weight"), normalised(x));
    for (std::size_t k = 0; k < x.size(); ++k) {
      x[k] += first.at("linear.bias").at(static_cast<std::int64_t>(k));
      x[k] *= 0.5 * (1 + std::erf(x[k] / std::sqrt(2.0)));
    }
    Vector y = times(last.at("linear.weight"), x);
    const Vector residual = times(last.at("residual.weight"), x);
    for (std::size_t k = 0; k < y.size(); ++k) y[k] += residual[k];
    expected.push_back(y);
  }
  check_vectors(folder, folder.path(), kTexts, expected);
  BOOST_TEST(text_encoder(*load_any_model(folder.path()).model)->sentences()->width(kWidth) == 3);
  for (Vector& v : expected) v = normalised(v);
  check_vectors(folder, folder.path(), kTexts, expected, {.normalise = true});
  check_error_message<ArgumentError>(
      [&] { embedded(folder.path(), kTexts, {.pooling = TextPooling::max}); },
      "the pooling max was requested, but the model applies modules (2_LayerNorm)");
}

BOOST_AUTO_TEST_CASE(activations_have_the_values_of_pytorch) {
  // The formulas of PyTorch's documentation in double precision, for the inputs -2.5, -0.5, 0.75
  // and 4.
  const std::map<std::string, Vector> expected = {
      {"ELU", {-0.917915001, -0.393469340, 0.75, 4}},
      {"Hardsigmoid", {0.083333333, 0.416666667, 0.625, 1}},
      {"Hardswish", {-0.208333333, -0.208333333, 0.46875, 4}},
      {"Hardtanh", {-1, -0.5, 0.75, 1}},
      {"Identity", {-2.5, -0.5, 0.75, 4}},
      {"LeakyReLU", {-0.025, -0.005, 0.75, 4}},
      {"LogSigmoid", {-2.578889734, -0.974076984, -0.386871006, -0.018149928}},
      {"ReLU", {0, 0, 0.75, 4}},
      {"ReLU6", {0, 0, 0.75, 4}},
      {"SELU", {-1.613785759, -0.691758188, 0.788025741, 4.202803949}},
      {"SiLU", {-0.189645432, -0.188770334, 0.509384024, 3.928055160}},
      {"Sigmoid", {0.075858180, 0.377540669, 0.679178699, 0.982013790}},
      {"Softplus", {0.078889734, 0.474076984, 1.136871006, 4.018149928}},
      {"Softsign", {-0.714285714, -0.333333333, 0.428571429, 0.8}},
      {"Tanh", {-0.986614298, -0.462117157, 0.635148952, 0.999329300}},
      {"Tanhshrink", {-1.513385702, -0.037882843, 0.114851048, 3.000670700}},
      {"Softmax", {0.001429958, 0.010566043, 0.036879114, 0.951124885}}};
  for (const auto& [name, values] : expected) {
    BOOST_TEST_CONTEXT(name) {
      BOOST_TEST(torch_activation("torch.nn.modules.activation." + name, "here") == name);
      Graph graph;
      const Value x = graph.constant(Tensor::of({1, 4}, {-2.5F, -0.5F, 0.75F, 4.F}));
      Session session(graph, std::make_shared<VariableStore>(), {.threads = 1});
      const Tensor y =
          session.run(Program("run").output("y", apply_torch_activation(name, x)), {})["y"];
      check_close(row_of(y, 0), values);
    }
  }
  for (const char* path : {"torch.nn.modules.activation.RReLU", "my_code.Tanh", "Tanh", ""}) {
    check_error_message<ArgumentError>([&] { torch_activation(path, "2_Dense/config.json"); },
                                       "2_Dense/config.json: the activation function \"");
  }
}

BOOST_AUTO_TEST_CASE(prompts_are_inserted_before_texts) {
  const SentenceFolder folder({{"1_Pooling", "Pooling"}}, kMean);
  folder.write("config_sentence_transformers.json",
               json{{"__version__", {{"sentence_transformers", "5.0.0"}}},
                    {"prompts", {{"query", "the film "}, {"passage", ""}, {"none", nullptr}}},
                    {"default_prompt_name", "query"},
                    {"similarity_fn_name", "dot"}}
                   .dump());
  const auto vector = [&](const std::string& text) {
    return pooled(hidden(folder, folder.ids(text)), "mean");
  };
  check_vectors(folder, folder.path(), {"bad"}, {vector("the film bad")});
  for (const char* name : {"passage", "none"})
    check_vectors(folder, folder.path(), {"bad"}, {vector("bad")}, {.prompt_name = name});
  check_vectors(folder, folder.path(), {"bad"}, {vector("bad")}, {.prompt = ""});
  check_vectors(folder, folder.path(), {"bad"}, {vector("very bad")}, {.prompt = "very "});
  check_error_message<ArgumentError>(
      [&] { embedded(folder.path(), {"bad"}, {.prompt_name = "document"}); },
      "the model has no prompt named \"document\"; its prompts are none, passage, query");
  check_error_message<ArgumentError>(
      [&] { embedded(folder.path(), {"bad"}, {.prompt = "a", .prompt_name = "query"}); },
      "give only one of them");
  BOOST_TEST((text_encoder(*load_any_model(folder.path()).model)->sentences()->similarity ==
              VectorSimilarity::dot));
  // A model without prompts accepts a prompt, but no names.
  const TinyFolder plain("bert", "Model");
  check_close(row_of(embedded(plain.path(), {"bad"}, {.prompt = "the film "}), 0),
              normalised(pooled(hidden(plain, plain.ids("the film bad")), "mean")));
  check_error_message<ArgumentError>(
      [&] { embedded(plain.path(), {"bad"}, {.prompt_name = "query"}); }, "its prompts are none");
}

BOOST_AUTO_TEST_CASE(tokens_of_the_prompt_can_be_excluded_from_pooling) {
  for (const std::string_view name : choice_names(TextPooling{}).names) {
    const std::string mode(name);
    BOOST_TEST_CONTEXT(mode) {
      const SentenceFolder folder(
          {{"1_Pooling", "Pooling"}},
          {{"embedding_dimension", kWidth}, {"pooling_mode", mode}, {"include_prompt", false}});
      std::vector<Vector> plain, excluded;
      for (const std::string& text : kTexts) {
        plain.push_back(pooled(hidden(folder, folder.ids(text)), mode));
        // [CLS] and the three tokens of the prompt
        excluded.push_back(pooled(hidden(folder, folder.ids("the film is " + text)), mode, 4));
      }
      check_vectors(folder, folder.path(), kTexts, plain);
      check_vectors(folder, folder.path(), kTexts, excluded, {.prompt = "the film is "});
    }
  }
}

BOOST_AUTO_TEST_CASE(texts_are_limited_and_lowercased_as_the_folder_demands) {
  const std::string text = "the film was very good";
  struct FolderWith : SentenceFolder {
    FolderWith(const std::string& name, const json& config)
        : SentenceFolder({{"1_Pooling", "Pooling"}}, kMean, "ForMaskedLM") {
      write(name, config.dump());
    }
  };
  const std::string bert = "sentence_bert_config.json", tokenizer = "tokenizer_config.json";
  for (const auto& [name, config] : std::vector<std::pair<std::string, json>>{
           {bert, {{"max_seq_length", 5}, {"do_lower_case", false}}},
           {"sentence_roberta_config.json", {{"max_seq_length", 5}}},
           {bert, {{"tokenizer_args", {{"model_max_length", 5}}}, {"model_args", json::object()}}},
           {tokenizer, {{"tokenizer_class", "BertTokenizer"}, {"model_max_length", 5}}}}) {
    BOOST_TEST_CONTEXT(name << config.dump()) {
      const FolderWith folder(name, config);
      Encoding row = folder.ids("the film was");
      check_vectors(folder, folder.path(), {text, "the film was"},
                    {pooled(hidden(folder, row), "mean"), pooled(hidden(folder, row), "mean")});
      std::vector<CutText> cut;
      embedded(folder.path(), {"bad", text},
               {.on_cut = [&](const CutText& one) { cut.push_back(one); }});
      BOOST_TEST_REQUIRE(cut.size() == 1U);
      BOOST_TEST(cut[0].text == 1U);
      BOOST_TEST(cut[0].tokens == 7);
      BOOST_TEST(cut[0].kept == 5);
    }
  }
  // max_seq_length has priority over the tokenizer's limit, and the context over both.
  const FolderWith both(bert, {{"max_seq_length", 500}});
  both.write(tokenizer, R"({"tokenizer_class": "BertTokenizer", "model_max_length": 4})");
  check_vectors(both, both.path(), {text}, {pooled(hidden(both, both.ids(text)), "mean")});
  std::string longer;
  for (int i = 0; i < 60; ++i) longer += "film ";
  BOOST_TEST(embedded(both.path(), {longer}).size(0) == 1);
  // The tokenizer of this folder does not convert to lower case.
  const FolderWith lower(bert, {{"max_seq_length", nullptr}, {"do_lower_case", true}});
  lower.write(tokenizer, R"({"tokenizer_class": "BertTokenizer", "do_lower_case": false})");
  check_vectors(lower, lower.path(), {"THE Film"},
                {pooled(hidden(lower, lower.ids("the film")), "mean")});
}

BOOST_AUTO_TEST_CASE(texts_are_truncated_on_the_side_that_the_tokenizer_specifies) {
  const SentenceFolder folder({{"1_Pooling", "Pooling"}}, kMean);
  folder.write("sentence_bert_config.json", R"({"max_seq_length": 5})");
  const std::string text = "the film was very good";
  const auto config = [&](const json& side) {
    folder.write("tokenizer_config.json",
                 json{{"tokenizer_class", "BertTokenizer"}, {"truncation_side", side}}.dump());
  };
  const auto check_kept = [&](const std::string& kept) {
    check_vectors(folder, folder.path(), {text, "bad", text},
                  {pooled(hidden(folder, folder.ids(kept)), "mean"),
                   pooled(hidden(folder, folder.ids("bad")), "mean"),
                   pooled(hidden(folder, folder.ids(kept)), "mean")});
  };
  config("left");
  check_kept("was very good");
  std::vector<CutText> cut;
  embedded(folder.path(), {"bad", text},
           {.on_cut = [&](const CutText& one) { cut.push_back(one); }});
  BOOST_TEST_REQUIRE(cut.size() == 1U);
  BOOST_TEST((cut[0].side == TextEnd::left));
  BOOST_TEST(cut[0].kept == 5);
  config("right");
  check_kept("the film was");
  config(nullptr);
  check_kept("the film was");
  config("middle");
  check_error_message<FormatError>([&] { embedded(folder.path(), {text}); },
                                   "tokenizer_config.json: truncation_side is \"middle\", but must "
                                   "be \"left\" or \"right\"");

  // Without truncation_side, the direction in tokenizer.json applies.
  std::string written;
  folder.tokenizer().visit([&]<class Kind>(const Kind& kind) {
    if constexpr (std::is_same_v<Kind, SubwordTokenizer>) written = kind.to_hugging_face_json();
  });
  json file = json::parse(written);
  file["truncation"] = {
      {"direction", "Left"}, {"max_length", 128}, {"strategy", "LongestFirst"}, {"stride", 0}};
  folder.write("tokenizer.json", file.dump());
  config(nullptr);
  check_kept("was very good");
  config("right");
  check_kept("the film was");
}

BOOST_AUTO_TEST_CASE(vectors_are_truncated_and_normalised_as_requested) {
  const auto front = [](const Vector& v) { return Vector(v.begin(), v.begin() + 5); };
  for (const bool on : {false, true}) {
    std::vector<std::pair<std::string, std::string>> after = {{"1_Pooling", "Pooling"}};
    if (on) after.emplace_back("2_Normalize", "Normalize");
    const SentenceFolder folder(after, kMean);
    const Vector v = pooled(hidden(folder, folder.ids("bad")), "mean");
    const auto check = [&](const Vector& expected, const EmbedOptions& options) {
      check_vectors(folder, folder.path(), {"bad"}, {expected}, options);
    };
    check(on ? normalised(v) : v, {});
    check(normalised(v), {.normalise = true});
    check(v, {.normalise = false});
    check(on ? normalised(front(v)) : front(v), {.dimensions = 5});
    check(normalised(front(v)), {.normalise = true, .dimensions = 5});
    check(front(v), {.normalise = false, .dimensions = 5});
    // As in the library, the folder's truncation follows its module Normalize.
    folder.write("config_sentence_transformers.json", R"({"truncate_dim": 5})");
    check(front(on ? normalised(v) : v), {});
    check(normalised(front(v)), {.normalise = true});
    check_error_message<ArgumentError>(
        [&] { embedded(folder.path(), {"bad"}, {.dimensions = 17}); },
        "17 dimensions were requested, but the vectors have 16");
  }
  const TinyFolder plain("bert", "Model");
  check_close(row_of(embedded(plain.path(), {"bad"}, {.dimensions = 5}), 0),
              normalised(front(pooled(hidden(plain, plain.ids("bad")), "mean"))));
}

BOOST_AUTO_TEST_CASE(settings_that_are_not_supported_are_rejected_by_name) {
  struct Case {
    std::string file;
    json content;
    std::string message;
  };
  const std::string model = "config_sentence_transformers.json", bert = "sentence_bert_config.json",
                    pool = "1_Pooling/config.json", dense = "2_Dense/config.json";
  json relu = {{"in_features", 16}, {"out_features", 4}, {"activation_function", "x.Swish"}};
  const auto with = [](json object, const json& more) {
    object.update(more);
    return object;
  };
  const json good = {{"in_features", 16}, {"out_features", 4}};
  const std::vector<Case> cases = {
      {pool,
       {{"word_embedding_dimension", 32}},
       "1_Pooling/config.json: word_embedding_dimension is 32, but the width of the encoder is 16"},
      {pool, {{"embedding_dimension", 8}, {"pooling_mode", "cls"}}, "embedding_dimension is 8"},
      {pool, {{"pooling_mode", "median"}}, "1_Pooling/config.json: "},
      {pool, {{"pooling_mode", json::array()}}, "pooling_mode is an empty list"},
      {pool, {{"pooling_mode", 3}}, "1_Pooling/config.json: 'pooling_mode' must be a string"},
      {pool, {{"pooling_mode_cls_token", "yes"}}, "'pooling_mode_cls_token' must be true or false"},
      {pool, {{"pooling_mode_new", true}}, "1_Pooling/config.json: unknown key"},
      {dense, relu,
       "2_Dense/config.json: activation_function: the activation function \"x.Swish\""},
      {dense, with(good, {{"in_features", 8}}),
       "2_Dense/config.json: in_features is 8, but the vectors that the module receives have 16"},
      {dense, with(good, {{"module_input_name", "token_embeddings"}}),
       "2_Dense/config.json: module_input_name is \"token_embeddings\""},
      {bert, {{"max_seq_length", 2}}, "is 2 tokens, but the tokenizer adds 2 special tokens"},
      {bert, {{"max_seq_length", 0}}, "sentence_bert_config.json: max_seq_length is 0"},
      {bert, {{"transformer_task", "fill-mask"}}, "transformer_task is \"fill-mask\""},
      {bert, {{"model_args", {{"rope_scaling", 2}}}}, "model_args: rope_scaling = 2"},
      {bert, {{"pad_to", 3}}, "sentence_bert_config.json: unknown key"},
      {model,
       {{"default_prompt_name", "q"}, {"prompts", {{"a", "b"}}}},
       "default_prompt_name is \"q\", but there is no prompt with this name; the prompts are a"},
      {model, {{"similarity_fn_name", "maxsim"}}, "config_sentence_transformers.json: "},
      {model, {{"truncate_dim", 0}}, "truncate_dim is 0"},
      {model, {{"prompts", {"a"}}}, "'prompts' must be an object"},
      {model, {{"prompts", {{"a", 3}}}}, "'prompts.a' must be a string"},
      {model, {{"model_type", "SparseEncoder"}}, "model_type is \"SparseEncoder\""},
      {"modules.json", modules({{"1_Pooling", "Pooling"}, {"2_CNN", "CNN"}}),
       "modules.json: the module \"sentence_transformers.models.CNN\" is not supported"},
      {"modules.json", modules({{"1_Pooling", "custom_code.Pooling"}}), "\"custom_code.Pooling\""},
      {"modules.json", modules({{"1_Dense", "Dense"}, {"1_Pooling", "Pooling"}}),
       "the module sentence_transformers.models.Dense precedes Pooling"},
      {"modules.json", modules({{"../1_Pooling", "Pooling"}}), "leads out of the folder"},
      {"modules.json", modules({{"9_Pooling", "Pooling"}}), "9_Pooling/config.json is missing"},
      {"modules.json", json::object(), "is not a list of modules"},
      {"modules.json", {{{"path", ""}}}, "modules.json: module 0 has no 'type'"}};
  for (const Case& bad : cases) {
    BOOST_TEST_CONTEXT(bad.file << ": " << bad.content.dump()) {
      const SentenceFolder folder({{"1_Pooling", "Pooling"}, {"2_Dense", "Dense"}}, kMean,
                                  "ForMaskedLM");
      folder.write(dense, good.dump());
      write_safetensors(folder.path("2_Dense/model.safetensors"),
                        {{"linear.weight", Tensor::zeros(DType::f32, {4, 16})},
                         {"linear.bias", Tensor::zeros(DType::f32, {4})}});
      static_cast<void>(load_any_model(folder.path()));
      folder.write(bad.file, bad.content.dump());
      std::string message;
      try {
        static_cast<void>(load_model_for(Use::embed, folder.path()));
      } catch (const Error& e) {
        message = e.what();
      }
      BOOST_TEST(message.find(bad.message) != std::string::npos, message);
    }
  }
  const SentenceFolder folder({{"1_Pooling", "Pooling"}, {"2_Dense", "Dense"}}, kMean);
  folder.write(dense, good.dump());
  folder.write("2_Dense/pytorch_model.bin", "x");
  check_error_message<IoError>([&] { load_any_model(folder.path()); }, "2_Dense");
  write_safetensors(folder.path("2_Dense/model.safetensors"),
                    {{"linear.weight", Tensor::zeros(DType::f32, {4, 16})}});
  check_error_message<FormatError>([&] { load_any_model(folder.path()); }, "linear.bias");
}

BOOST_AUTO_TEST_CASE(files_of_earlier_versions_give_the_same_vectors_as_before) {
  const SentenceFolder folder({{"1_Pooling", "Pooling"}}, {{"word_embedding_dimension", kWidth},
                                                           {"pooling_mode_cls_token", true}});
  folder.write("sentence_bert_config.json", R"({"max_seq_length": 5})");
  const auto model = load_any_model(folder.path()).model;
  auto& encoder = dynamic_cast<TextEncoder&>(*model);
  // Earlier versions stored only these programs and settings.
  std::erase_if(encoder.programs, [](const auto& program) {
    return program.first != "mean" && program.first != "cls" && program.first != "pooler";
  });
  encoder.reading->max_tokens = 0;
  const std::string file = folder.beside("old.weft");
  save_model(file, encoder);
  check_close(row_of(embedded(file, {kTexts[0]}), 0),
              normalised(pooled(hidden(folder, folder.ids(kTexts[0])), "cls")));
  check_error_message<ArgumentError>(
      [&] { embedded(file, {"bad"}, {.pooling = TextPooling::max}); },
      "the file was written by an earlier version and does not support the pooling max");
}

BOOST_AUTO_TEST_CASE(similarity_functions_rank_rows) {
  const Tensor query = Tensor::of({1, 2}, {1.F, 1.F}),
               rows = Tensor::of({3, 2}, {2.F, 2.F, 5.F, 0.F, 1.F, 0.5F});
  const auto best = [&](VectorSimilarity similarity) {
    return most_similar(query, rows, 1, similarity)[0][0];
  };
  BOOST_TEST(best(VectorSimilarity::cosine).row == 0);
  BOOST_TEST(best(VectorSimilarity::dot).row == 1);
  BOOST_TEST(best(VectorSimilarity::dot).cosine == 5);
  BOOST_TEST(best(VectorSimilarity::euclidean).row == 2);
  BOOST_TEST(best(VectorSimilarity::euclidean).cosine == -0.5);
  BOOST_TEST(best(VectorSimilarity::manhattan).cosine == -0.5);
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
