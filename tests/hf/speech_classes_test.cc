// The classes of Whisper other than WhisperForConditionalGeneration, which has golden values.
#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "weft/core/error.h"
#include "weft/core/random_tensors.h"
#include "weft/graph/run/session.h"
#include "weft/models/hf/folder.h"
#include "weft/tests/support/messages.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(speech_classes)
namespace {

using nlohmann::json;
using testing::says;

const std::string kFolder = std::string(WEFT_FIXTURES) + "/goldens/whisper-default";

json config_with(const json& changes) {
  json config = json::parse(hf::read_folder(kFolder).config);
  config.update(changes);
  return config;
}

hf::Model build(Graph& graph, const json& config, const hf::InputTypes& more = {}) {
  hf::InputTypes inputs = hf::minimal_inputs(config.dump());
  inputs.insert(more.begin(), more.end());
  return hf::build_model(graph, config.dump(), inputs);
}

Tensor features() {
  Tensor values = Tensor::empty(DType::f32, {2, 6, 22});
  for (std::int64_t i = 0; i < values.numel(); ++i)
    values.mutable_data<float>()[i] = static_cast<float>(std::sin(0.37 * static_cast<double>(i)));
  return values;
}

/// x [.., in] times weight [out, in]^T plus bias.
std::vector<double> affine(const std::vector<double>& x, const Tensor& weight, const Tensor& bias) {
  std::vector<double> y;
  for (std::int64_t o = 0; o < weight.size(0); ++o) {
    double sum = bias.at(o);
    for (std::int64_t i = 0; i < weight.size(1); ++i)
      sum += weight.at(o * weight.size(1) + i) * x[static_cast<std::size_t>(i)];
    y.push_back(sum);
  }
  return y;
}

}  // namespace

// The mean over time commutes with the projection, which is affine.
BOOST_AUTO_TEST_CASE(audio_is_classified_by_the_mean_of_the_projected_hidden_states) {
  for (const bool weighted : {false, true}) {
    const json config = config_with({{"architectures", {"WhisperForAudioClassification"}},
                                     {"use_weighted_layer_sum", weighted},
                                     {"classifier_proj_size", 5},
                                     {"num_labels", 3}});
    Graph graph;
    const hf::Model model = build(graph, config, {{"labels", {DType::i64, {2}}}});
    Program program("outputs");
    for (const auto& [name, value] : model.outputs) program.output(name, value);
    const auto store = std::make_shared<VariableStore>();
    Session session(graph, store, {.seed = 3, .threads = 1});
    session.initialise();
    if (weighted) store->set("layer_weights", Tensor::of<float>({3}, {0.5F, -1, 2}));
    const Results found = session.run(program, {{"input_features", features()},
                                                {"labels", Tensor::of<std::int64_t>({2}, {2, 0})}});
    const std::vector<double> scores =
        weighted ? std::vector<double>{0.5, -1, 2} : std::vector<double>{-1e9, -1e9, 0};
    double sum = 0, loss = 0;
    for (const double s : scores) sum += std::exp(s);
    for (std::int64_t row = 0; row < 2; ++row) {
      std::vector<double> mean(20, 0);
      for (std::size_t layer = 0; layer < 3; ++layer) {
        const Tensor& hidden = found[fmt::format("hidden.{}", layer)];
        for (std::int64_t i = 0; i < 11 * 20; ++i)
          mean[static_cast<std::size_t>(i % 20)] +=
              std::exp(scores[layer]) / sum * hidden.at(row * 11 * 20 + i) / 11;
      }
      const std::vector<double> logits =
          affine(affine(mean, store->tensor("projector.weight"), store->tensor("projector.bias")),
                 store->tensor("classifier.weight"), store->tensor("classifier.bias"));
      double total = 0;
      for (std::int64_t k = 0; k < 3; ++k) {
        BOOST_TEST(std::abs(found["logits"].at(row * 3 + k) - logits[static_cast<std::size_t>(k)]) <
                   1e-5);
        total += std::exp(logits[static_cast<std::size_t>(k)]);
      }
      loss += (std::log(total) - logits[row == 0 ? 2 : 0]) / 2;
    }
    BOOST_TEST(std::abs(found["loss"].item<float>() - loss) < 1e-5);
    BOOST_TEST(model.names.theirs("encoder.conv1.weight") == "encoder.conv1.weight");
  }
}

BOOST_AUTO_TEST_CASE(the_base_class_reads_files_of_the_other_classes) {
  const hf::Folder folder = hf::read_folder(kFolder);
  for (const char* name : {"WhisperModel", "WhisperForConditionalGeneration"}) {
    Graph graph;
    const hf::Model model = build(graph, config_with({{"architectures", {name}}}));
    BOOST_TEST(hf::match_weights(model, graph, folder.weights, "file").size() > 80U);
    BOOST_TEST(model.outputs.contains("logits") == std::string(name).ends_with("Generation"));
  }
  Graph graph;
  BOOST_CHECK_EXCEPTION(build(graph, config_with({{"architectures", {"WhisperForCausalLM"}}})),
                        ArgumentError, says("WhisperForCausalLM"));
}

BOOST_AUTO_TEST_CASE(spectrograms_must_have_the_sizes_in_the_config) {
  const std::string config = config_with(json::object()).dump();
  for (const Sizes& sizes : {Sizes{1, 6, 20}, Sizes{1, 5, 22}, Sizes{1, 6, 24}}) {
    Graph graph;
    BOOST_CHECK_EXCEPTION(
        hf::build_model(
            graph, config,
            {{"input_features", {DType::f32, sizes}}, {"decoder_input_ids", {DType::i64, {1, 1}}}}),
        ShapeError, says("spectrograms must be [batch, 6, 22]: mel_bins, and two frames"));
  }
  Graph graph;
  BOOST_CHECK_EXCEPTION(
      hf::build_model(graph, config, {{"decoder_input_ids", {DType::i64, {1, 1}}}}), ArgumentError,
      says("input_features"));
}

BOOST_AUTO_TEST_CASE(invalid_speech_configs_are_rejected_by_name) {
  const auto rejected = [](const json& changes, const std::string& message) {
    Graph graph;
    BOOST_CHECK_EXCEPTION(build(graph, config_with(changes)), Error, says(message));
  };
  rejected({{"max_source_positions", 0}}, "source_context");
  rejected({{"max_source_positions", std::int64_t{1} << 62}},
           "max_source_positions must be at most");
  rejected({{"num_mel_bins", -1}}, "mel_bins");
  const json audio = {{"architectures", {"WhisperForAudioClassification"}}};
  for (const auto& [size, message] : {std::pair{std::int64_t{0}, "must be at least 1"},
                                      {std::int64_t{1} << 40, "must be at most"}}) {
    json changes = audio;
    changes["classifier_proj_size"] = size;
    rejected(changes, std::string("classifier_proj_size ") + message);
  }
  rejected({{"d_model", 15}, {"encoder_attention_heads", 3}, {"decoder_attention_heads", 3}},
           "mel_bins needs an even width of at least 4, for the encoder's sinusoids, not 15");
  EncoderDecoderConfig config = EncoderDecoderConfig::whisper();
  config.positions = Seq2SeqPositions::sinusoidal;
  BOOST_CHECK_EXCEPTION(config.check(), ArgumentError, says("mel_bins needs learned positions"));
  config = EncoderDecoderConfig::whisper();
  config.decoder_vocab = 9;
  BOOST_CHECK_EXCEPTION(config.check(), ArgumentError, says("mel_bins needs decoder_vocab = 0"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace weft
