// Hugging Face classes for decoders and encoder-decoders other than language models: base models
// and classifiers.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "weft/core/error.h"
#include "weft/graph/run/session.h"
#include "weft/models/hf/folder.h"
#include "weft/serialization/safetensors.h"
#include "weft/tests/support/messages.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(hf_classes)
namespace {

using nlohmann::json;

const std::string kGoldens = std::string(WEFT_FIXTURES) + "/goldens/";

using testing::says;

/// Returns the inputs of a golden case without its labels.
TensorMap inputs_of(const std::string& name) {
  TensorMap inputs = read_safetensors(kGoldens + name + "/inputs.safetensors").tensors;
  inputs.erase("labels");
  return inputs;
}

/// Returns all outputs of a class. Also checks that all exported tensor names occur in the folder.
TensorMap run(const hf::Folder& folder, const std::string& architecture, const TensorMap& inputs) {
  Graph graph;
  const hf::Model model =
      hf::build_model(graph, folder.config, hf::input_types(inputs), architecture);
  Program program("p");
  for (const auto& [name, value] : model.outputs) program.output(name, value);
  const auto store = hf::load_weights(model, graph, folder);
  for (const auto& [name, tensor] : hf::export_weights(model, graph, *store))
    BOOST_TEST(folder.weights.contains(name), name);
  Session session(graph, store, {.threads = 1});
  const Results results = session.run(program, NamedTensors(inputs.begin(), inputs.end()));
  TensorMap outputs;
  for (const auto& [name, value] : model.outputs) outputs[name] = results[name];
  return outputs;
}

/// Returns a folder for the base class, which contains the tensors under `prefix`, with that prefix
/// removed from their names.
hf::Folder base_of(const hf::Folder& folder, const std::string& prefix) {
  hf::Folder base{folder.path, folder.config, {}};
  for (const auto& [name, tensor] : folder.weights) {
    if (name.starts_with(prefix)) base.weights[name.substr(prefix.size())] = tensor;
  }
  return base;
}

/// Returns a copy of the folder without the language model head, with `changes` merged into the
/// config.
hf::Folder headless(hf::Folder folder, const json& changes) {
  json config = json::parse(folder.config);
  config.update(changes);
  folder.config = config.dump();
  for (const char* name : {"lm_head.weight", "embed_out.weight", "final_logits_bias"})
    folder.weights.erase(name);
  return folder;
}

Tensor numbers(Sizes sizes, double seed) {
  Tensor t = Tensor::empty(DType::f32, std::move(sizes));
  for (std::int64_t i = 0; i < t.numel(); ++i)
    t.mutable_data<float>()[i] = static_cast<float>(std::sin(seed + 1.7 * static_cast<double>(i)));
  return t;
}

struct Decoder {
  std::string folder, prefix, base;
};
const std::vector<Decoder> kDecoders = {{"gpt2-default", "GPT2", "transformer."},
                                        {"openai-gpt-default", "OpenAIGPT", "transformer."},
                                        {"gpt-neox-default", "GPTNeoX", "gpt_neox."},
                                        {"llama-gqa", "Llama", "model."},
                                        {"mistral-sliding-window", "Mistral", "model."},
                                        {"qwen3-default", "Qwen3", "model."}};

BOOST_AUTO_TEST_CASE(base_decoders_have_the_same_hidden_states_as_their_language_models) {
  for (const Decoder& decoder : kDecoders) {
    BOOST_TEST_CONTEXT(decoder.folder) {
      const hf::Folder folder = hf::read_folder(kGoldens + decoder.folder);
      const TensorMap inputs = inputs_of(decoder.folder);
      const TensorMap whole = run(folder, {}, inputs);
      const TensorMap base = run(base_of(folder, decoder.base), decoder.prefix + "Model", inputs);
      BOOST_TEST(base.size() == whole.size() - 1);
      for (const auto& [name, tensor] : base)
        BOOST_TEST(bitwise_equal(tensor, whole.at(name)), name);
      BOOST_TEST(!base.contains("logits"));
    }
  }
}

BOOST_AUTO_TEST_CASE(gpt_base_model_checkpoints_can_be_loaded_into_language_models) {
  const hf::Folder folder = hf::read_folder(kGoldens + "gpt2-default");
  const hf::Folder base = base_of(folder, "transformer.");
  Graph graph;
  const hf::Model model =
      hf::build_model(graph, base.config, {{"input_ids", {DType::i64, {1, 2}}}});
  const auto store = hf::load_weights(model, graph, base);
  BOOST_TEST(bitwise_equal(store->tensor("transformer.wte.weight"), base.weights.at("wte.weight")));
}

BOOST_AUTO_TEST_CASE(decoders_classify_at_the_last_token_that_is_not_padding) {
  constexpr std::int64_t kClasses = 3, kPadding = 5;
  for (const Decoder& decoder : kDecoders) {
    BOOST_TEST_CONTEXT(decoder.folder) {
      const std::string architecture = decoder.prefix + "ForSequenceClassification";
      hf::Folder folder = headless(
          hf::read_folder(kGoldens + decoder.folder),
          {{"pad_token_id", kPadding}, {"id2label", {{"0", "a"}, {"1", "b"}, {"2", "c"}}}});
      // The rows have padding on the right, no padding, padding on the left, and only padding.
      const TensorMap inputs = {{"input_ids", Tensor::of<std::int64_t>({4, 4}, {1, 2, 5, 5,  //
                                                                                3, 2, 1, 4,  //
                                                                                5, 5, 7, 8,  //
                                                                                5, 5, 5, 5})},
                                {"labels", Tensor::of<std::int64_t>({4}, {0, 2, 1, 0})}};
      const std::vector<std::int64_t> last = {1, 3, 3, 0};
      Graph graph;
      const std::int64_t width =
          hf::build_model(graph, folder.config, hf::input_types(inputs), architecture)
              .outputs.at("last_hidden_state")
              .shape()[2]
              .constant();
      const Tensor score = numbers({kClasses, width}, 0.3);
      folder.weights["score.weight"] = score;
      const TensorMap out = run(folder, architecture, inputs);
      const Tensor &h = out.at("last_hidden_state"), &logits = out.at("logits");
      BOOST_REQUIRE((logits.sizes() == Sizes{4, kClasses}));
      double loss = 0;
      for (std::int64_t row = 0; row < 4; ++row) {
        double total = 0;
        for (std::int64_t c = 0; c < kClasses; ++c) {
          double expected = 0;
          for (std::int64_t j = 0; j < width; ++j) {
            expected += score.at(c * width + j) *
                        h.at((row * 4 + last[static_cast<std::size_t>(row)]) * width + j);
          }
          BOOST_TEST(std::abs(logits.at(row * kClasses + c) - expected) < 1e-4);
          total += std::exp(expected);
          if (c == static_cast<std::int64_t>(inputs.at("labels").at(row))) loss -= expected;
        }
        loss += std::log(total);
      }
      BOOST_TEST(std::abs(out.at("loss").at(0) - loss / 4) < 1e-4);
    }
  }
}

BOOST_AUTO_TEST_CASE(models_without_a_padding_id_classify_only_single_rows) {
  hf::Folder folder =
      headless(hf::read_folder(kGoldens + "gpt2-default"), {{"pad_token_id", nullptr}});
  const std::string architecture = "GPT2ForSequenceClassification";
  const auto build = [&](std::int64_t rows) {
    Graph graph;
    return hf::build_model(graph, folder.config,
                           {{"input_ids", {DType::i64, {rows, 4}}},
                            {"attention_mask", {DType::i64, {rows, 4}}}},
                           architecture)
        .outputs.at("last_hidden_state")
        .shape()[2]
        .constant();
  };
  BOOST_CHECK_EXCEPTION(build(2), ArgumentError,
                        says("GPT2ForSequenceClassification cannot classify 2 rows at once: "
                             "config.json has no pad_token_id"));
  const std::int64_t width = build(1);
  folder.weights["score.weight"] = numbers({2, width}, 0.3);
  const TensorMap out = run(folder, architecture,
                            {{"input_ids", Tensor::of<std::int64_t>({1, 4}, {1, 2, 5, 5})},
                             {"attention_mask", Tensor::full(DType::i64, {1, 4}, 1)}});
  double expected = 0;
  for (std::int64_t j = 0; j < width; ++j)
    expected +=
        folder.weights.at("score.weight").at(j) * out.at("last_hidden_state").at(3 * width + j);
  BOOST_TEST(std::abs(out.at("logits").at(0) - expected) < 1e-4);
  BOOST_CHECK_EXCEPTION(run(folder, "GPT2DoubleHeadsModel", {}), ArgumentError,
                        says("the class GPT2DoubleHeadsModel"));
}

BOOST_AUTO_TEST_CASE(encoder_decoders_classify_at_the_end_of_text_token) {
  constexpr std::int64_t kClasses = 4, kEnd = 2;
  json names;
  for (std::int64_t i = 0; i < kClasses; ++i) names[std::to_string(i)] = "label";
  hf::Folder folder = headless(hf::read_folder(kGoldens + "mbart-default"),
                               {{"eos_token_id", kEnd}, {"id2label", names}});
  TensorMap inputs = {{"input_ids", Tensor::of<std::int64_t>({2, 5}, {7, 2, 9, 2, 6,  //
                                                                      2, 8, 4, 9, 7})}};
  const std::vector<std::int64_t> last = {3, 0};
  const std::int64_t width = json::parse(folder.config).at("d_model");
  const Tensor dense = numbers({width, width}, 0.1), dense_bias = numbers({width}, 0.2);
  const Tensor out_proj = numbers({kClasses, width}, 0.3), out_bias = numbers({kClasses}, 0.4);
  hf::Folder sequences = folder;
  sequences.weights["classification_head.dense.weight"] = dense;
  sequences.weights["classification_head.dense.bias"] = dense_bias;
  sequences.weights["classification_head.out_proj.weight"] = out_proj;
  sequences.weights["classification_head.out_proj.bias"] = out_bias;
  const std::string architecture = "MBartForSequenceClassification";
  const TensorMap out = run(sequences, architecture, inputs);
  const TensorMap base = run(base_of(folder, "model."), "MBartModel", inputs);
  const Tensor& h = base.at("last_hidden_state");
  BOOST_TEST(bitwise_equal(out.at("last_hidden_state"), h));
  for (std::int64_t row = 0; row < 2; ++row) {
    for (std::int64_t c = 0; c < kClasses; ++c) {
      double expected = out_bias.at(c);
      for (std::int64_t i = 0; i < width; ++i) {
        double hidden = dense_bias.at(i);
        for (std::int64_t j = 0; j < width; ++j)
          hidden += dense.at(i * width + j) *
                    h.at((row * 5 + last[static_cast<std::size_t>(row)]) * width + j);
        expected += out_proj.at(c * width + i) * std::tanh(hidden);
      }
      BOOST_TEST(std::abs(out.at("logits").at(row * kClasses + c) - expected) < 1e-4);
    }
  }
  inputs["input_ids"] = Tensor::of<std::int64_t>({1, 2}, {7, 8});
  BOOST_CHECK_THROW(run(sequences, architecture, inputs), DataError);
}

BOOST_AUTO_TEST_CASE(encoder_decoders_predict_answer_spans) {
  hf::Folder folder = headless(hf::read_folder(kGoldens + "mbart-default"), json::object());
  const std::int64_t width = json::parse(folder.config).at("d_model");
  const Tensor weight = numbers({2, width}, 0.5), bias = numbers({2}, 0.6);
  hf::Folder spans = folder;
  spans.weights["qa_outputs.weight"] = weight;
  spans.weights["qa_outputs.bias"] = bias;
  TensorMap inputs = {{"input_ids", Tensor::of<std::int64_t>({2, 3}, {7, 9, 2, 8, 4, 2})}};
  const Tensor h = run(base_of(folder, "model."), "MBartModel", inputs).at("last_hidden_state");
  inputs["start_positions"] = Tensor::of<std::int64_t>({2}, {0, 1});
  inputs["end_positions"] = Tensor::of<std::int64_t>({2}, {2, 1});
  const TensorMap out = run(spans, "MBartForQuestionAnswering", inputs);
  for (std::int64_t token = 0; token < 6; ++token) {
    double start = bias.at(0), end = bias.at(1);
    for (std::int64_t j = 0; j < width; ++j) {
      start += weight.at(j) * h.at(token * width + j);
      end += weight.at(width + j) * h.at(token * width + j);
    }
    BOOST_TEST(std::abs(out.at("start_logits").at(token) - start) < 1e-4);
    BOOST_TEST(std::abs(out.at("end_logits").at(token) - end) < 1e-4);
  }
  BOOST_TEST(out.contains("loss"));
  inputs.erase("end_positions");
  BOOST_CHECK_EXCEPTION(run(spans, "MBartForQuestionAnswering", inputs), ArgumentError,
                        says("requires both start_positions and end_positions to compute a loss"));
}

BOOST_AUTO_TEST_CASE(bart_has_three_labels_by_default) {
  const hf::InputTypes ids = {{"input_ids", {DType::i64, {2, 5}}}};
  const auto labels = [&](const std::string& more) {
    Graph graph;
    return hf::build_model(graph,
                           R"({"model_type": "bart", "d_model": 16, "encoder_layers": 1,
                                      "decoder_layers": 1, "vocab_size": 20)" +
                               more + "}",
                           ids, "BartForSequenceClassification")
        .outputs.at("logits")
        .shape()[1]
        .constant();
  };
  BOOST_TEST(labels("") == 3);
  BOOST_TEST(labels(R"(, "num_labels": 5)") == 5);
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
