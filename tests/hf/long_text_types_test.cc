// Model types for long texts: Longformer, LongT5, PEGASUS-X and T5Gemma. Keys, classes, and the
// masks that a class derives from its inputs.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "weft/core/error.h"
#include "weft/graph/run/session.h"
#include "weft/models/hf/export.h"
#include "weft/models/hf/folder.h"
#include "weft/serialization/files/read_file.h"
#include "weft/tests/support/messages.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(long_text_types)
namespace {

using nlohmann::json;
using testing::says;
using Rows = std::vector<std::vector<std::int64_t>>;

json config_of(const std::string& name) {
  static const json all =
      json::parse(read_whole_file(std::string(WEFT_FIXTURES) + "/long_text_configs.json"));
  json config = all.at(name);
  if (name.starts_with("pegasus")) config["init_std"] = 0.5;
  if (!name.starts_with("longt5") && !name.starts_with("pegasus"))
    config["initializer_range"] = 0.5;
  return config;
}

Tensor of(const Rows& rows) {
  std::vector<std::int64_t> flat;
  for (const auto& row : rows) flat.insert(flat.end(), row.begin(), row.end());
  return Tensor::of<std::int64_t>({std::ssize(rows), std::ssize(rows.front())}, flat);
}

/// A folder with random weights, for any class of the same model type.
struct Weights {
  std::string config;
  TensorMap tensors;
};

Weights random_weights(const json& config) {
  Graph graph;
  const std::string text = config.dump();
  const hf::Model model = hf::build_model(graph, text, hf::minimal_inputs(text));
  const auto store = std::make_shared<VariableStore>();
  Session(graph, store, {.seed = 5}).initialise();
  return {text, hf::export_weights(model, graph, *store)};
}

TensorMap run(const Weights& weights, const TensorMap& inputs, const std::string& config = {}) {
  Graph graph;
  const hf::Model model =
      hf::build_model(graph, config.empty() ? weights.config : config, hf::input_types(inputs));
  Session session(graph, {.threads = 1});
  for (const auto& [variable, tensor] : hf::match_weights(model, graph, weights.tensors, "test"))
    session.set_value(variable.name(), tensor);
  Program program("p");
  for (const auto& [name, value] : model.outputs) program.output(name, value);
  const Results results = session.run(program, NamedTensors(inputs.begin(), inputs.end()));
  TensorMap outputs;
  for (const auto& [name, value] : model.outputs) outputs[name] = results[name];
  return outputs;
}

double difference(const Tensor& a, const Tensor& b) {
  BOOST_TEST_REQUIRE(a.type_str() == b.type_str());
  double most = 0;
  for (std::int64_t i = 0; i < a.numel(); ++i) most = std::max(most, std::abs(a.at(i) - b.at(i)));
  return most;
}

const Rows kIds = {{2, 11, 12, 13, 7, 14, 2, 2, 15, 16, 17, 2},
                   {2, 21, 9, 2, 2, 24, 25, 2, 1, 1, 1, 1}};
const Rows kMask = {{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0}};

BOOST_AUTO_TEST_CASE(longformer_classes_give_the_first_token_or_the_question_global_attention) {
  // The tokens before the first separator, 2, of each row.
  const Rows question = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
                         {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}};
  const Rows first = {{1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, {1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}};
  const Rows till_seven = {{1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0},
                           {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}};
  struct Case {
    const char *head, *output;
    Rows globals;
    std::int64_t separator;
  };
  for (const Case& c : std::vector<Case>{{"SequenceClassification", "logits", first, 2},
                                         {"QuestionAnswering", "start_logits", question, 2},
                                         {"QuestionAnswering", "end_logits", till_seven, 7},
                                         {"TokenClassification", "logits", {}, 2},
                                         {"MaskedLM", "logits", {}, 2}}) {
    BOOST_TEST_CONTEXT(c.head << " " << c.separator) {
      json config = config_of("longformer-mlm");
      config["architectures"] = {std::string("LongformerFor") + c.head};
      config["sep_token_id"] = c.separator;
      const Weights weights = random_weights(config);
      TensorMap inputs = {{"input_ids", of(kIds)}, {"attention_mask", of(kMask)}};
      const Tensor found = run(weights, inputs).at(c.output);
      inputs["global_attention_mask"] =
          c.globals.empty() ? Tensor::zeros(DType::i64, {2, 12}) : of(c.globals);
      BOOST_TEST(difference(found, run(weights, inputs).at(c.output)) == 0);
      inputs["global_attention_mask"] =
          of({{0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0}, {0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0}});
      BOOST_TEST(difference(found, run(weights, inputs).at(c.output)) > 1e-3);
    }
  }
}

BOOST_AUTO_TEST_CASE(padding_on_either_side_does_not_change_the_outputs_for_tokens) {
  const std::vector<std::int64_t> text = {5, 21, 9, 23, 8, 24, 25};
  for (const char* name :
       {"longformer-mlm", "longt5-local", "pegasus-x-default", "t5gemma-default"}) {
    for (const std::size_t left : {0U, 4U}) {
      // The blocks and sinusoids of PEGASUS-X count padding.
      if (left > 0 && std::string(name) == "pegasus-x-default") continue;
      BOOST_TEST_CONTEXT(name << " " << left) {
        const bool encoder = std::string(name) == "longformer-mlm";
        const Weights weights = random_weights(config_of(name));
        const std::int64_t pad = encoder ? 1 : 0;
        std::vector<std::int64_t> padded(left, pad), mask(left, 0);
        padded.insert(padded.end(), text.begin(), text.end());
        mask.insert(mask.end(), text.size(), 1);
        padded.resize(left + text.size() + 3, pad);
        mask.resize(padded.size(), 0);
        TensorMap plain = {{"input_ids", of({text})}};
        TensorMap both = {{"input_ids", of({padded})}, {"attention_mask", of({mask})}};
        if (!encoder)
          plain["decoder_input_ids"] = both["decoder_input_ids"] = of({{0, 8, 9, 10, 30}});
        const Tensor expected = run(weights, plain).at("logits");
        Tensor found = run(weights, both).at("logits");
        if (encoder) {
          const std::int64_t vocab = found.size(2), rows = std::ssize(text);
          Tensor cut = Tensor::empty(DType::f32, {1, rows, vocab});
          std::copy_n(found.data<float>() + static_cast<std::int64_t>(left) * vocab, rows * vocab,
                      cut.mutable_data<float>());
          found = cut;
        }
        BOOST_TEST(difference(found, expected) < 1e-4);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(t5gemma_masks_padding_ids_where_no_mask_is_given) {
  const Rows ids = {{5, 21, 9, 23, 8}, {5, 21, 9, 0, 0}}, mask = {{1, 1, 1, 1, 1}, {1, 1, 1, 0, 0}};
  json config = config_of("t5gemma-default");
  config["architectures"] = {"T5GemmaEncoderModel"};
  config["is_encoder_decoder"] = false;
  const Weights weights = random_weights(config);
  const Tensor found = run(weights, {{"input_ids", of(ids)}}).at("last_hidden_state");
  const Tensor given =
      run(weights, {{"input_ids", of(ids)}, {"attention_mask", of(mask)}}).at("last_hidden_state");
  BOOST_TEST(difference(found, given) == 0);
}

BOOST_AUTO_TEST_CASE(t5gemma_classifies_by_the_last_token_of_each_row) {
  // Padding on either side, and a row without padding, after which the decoder reads no more token.
  const Rows ids = {{5, 21, 9, 23, 8, 24}, {5, 21, 9, 0, 0, 0}, {0, 0, 0, 5, 21, 9}};
  for (const bool both : {true, false}) {
    json config = config_of("t5gemma-default");
    config.update({{"is_encoder_decoder", both}, {"num_labels", 3}});
    config["architectures"] = {"T5GemmaForTokenClassification"};
    const Weights weights = random_weights(config);
    const TensorMap inputs = {{"input_ids", of(ids)}};
    const Tensor all = run(weights, inputs).at("logits");
    config["architectures"] = {"T5GemmaForSequenceClassification"};
    const TensorMap sequence = run(weights, inputs, config.dump());
    const std::vector<std::int64_t> places =
        both ? std::vector<std::int64_t>{5, 3, 5} : std::vector<std::int64_t>{5, 2, 5};
    for (std::int64_t b = 0; b < 3; ++b) {
      for (std::int64_t label = 0; label < 3; ++label) {
        const double expected = all.at((b * 6 + places[static_cast<std::size_t>(b)]) * 3 + label);
        BOOST_TEST(sequence.at("logits").at(b * 3 + label) == expected);
      }
    }
    TensorMap labelled = inputs;
    labelled["labels"] = Tensor::of<std::int64_t>({3}, {0, 2, 1});
    BOOST_TEST(run(weights, labelled, config.dump()).at("loss").at(0) > 0);
    config["architectures"] = {"T5GemmaForTokenClassification"};
    labelled["labels"] =
        of({{0, 1, 2, 0, 1, 2}, {0, 1, 2, -100, -100, -100}, {-100, -100, -100, 1, 1, 1}});
    BOOST_TEST(run(weights, labelled, config.dump()).at("loss").at(0) > 0);
  }
}

BOOST_AUTO_TEST_CASE(keys_for_long_texts_are_applied_or_rejected_by_name) {
  const auto rejects = [](const char* name, const json& changes, const std::string& message) {
    json config = config_of(name);
    config.merge_patch(changes);
    Graph graph;
    const std::string text = config.dump();
    BOOST_CHECK_EXCEPTION(hf::build_model(graph, text, hf::minimal_inputs(text)), Error,
                          says(message));
  };
  const auto longformer = [&](const json& value, const std::string& message) {
    rejects("longformer-mlm", {{"attention_window", value}}, message);
  };
  longformer({4, 5}, "attention_window must be positive and even, not 5");
  longformer(0, "attention_window must be positive and even, not 0");
  longformer({4}, "attention_window has 1 entries, but the model has 2 layers");
  longformer("wide", "attention_window");
  rejects("longformer-mlm", {{"attention_mode", "n2"}}, "attention_mode is \"n2\"");
  rejects("longt5-local", {{"local_radius", -1}}, "local_radius must be at least 0, not -1");
  rejects("longt5-local", {{"encoder_attention_type", "transient-global"}},
          "encoder_attention_type is \"transient-global\"");
  rejects("pegasus-x-default", {{"block_size", 5}}, "encoder_block must be even, not 5");
  rejects("pegasus-x-default", {{"num_global_tokens", 0}}, "global_tokens of at least 1");
  const auto gemma = [&](const json& changes, const std::string& message) {
    rejects("t5gemma-default", changes, message);
  };
  gemma({{"decoder", {{"rms_norm_eps", 0.1}}}},
        "encoder.rms_norm_eps and decoder.rms_norm_eps differ");
  gemma({{"encoder", {{"attn_logit_softcapping", nullptr}}}},
        "encoder.attn_logit_softcapping and decoder.attn_logit_softcapping differ");
  gemma({{"encoder", {{"flavour", 3}}}}, "unknown key encoder.flavour = 3");
  gemma({{"decoder", {{"rope_scaling", {{"rope_type", "linear"}, {"factor", 2}}}}}},
        "rope_type \"linear\" is not supported in T5Gemma");
  gemma({{"encoder", "small"}}, "encoder must be an object, not \"small\"");
  gemma({{"vocab_size", 84}}, "vocab_size");
  gemma({{"is_encoder_decoder", false}}, "is_encoder_decoder is false");
  // One window for all layers equals a list of it.
  json config = config_of("longformer-mlm");
  config["attention_window"] = {4, 4};
  const Weights list = random_weights(config);
  config["attention_window"] = 4;
  const TensorMap inputs = {{"input_ids", of(kIds)}, {"attention_mask", of(kMask)}};
  BOOST_TEST(difference(run(list, inputs).at("logits"),
                        run(list, inputs, config.dump()).at("logits")) == 0);
}

BOOST_AUTO_TEST_CASE(configs_for_long_texts_round_trip_through_hugging_face) {
  std::vector<json> configs;
  for (const char* name :
       {"longformer-mlm", "longt5-local", "pegasus-x-default", "t5gemma-default"})
    configs.push_back(config_of(name));
  json sizes = config_of("t5gemma-default");
  sizes["decoder"].update(
      {{"hidden_size", 20},
       {"num_attention_heads", 3},
       {"num_key_value_heads", 1},
       {"head_dim", 6},
       {"intermediate_size", 19},
       {"num_hidden_layers", 3},
       {"layer_types", {"full_attention", "sliding_attention", "full_attention"}},
       {"sliding_window", 3},
       {"query_pre_attn_scalar", 7},
       {"rope_theta", 500.0}});
  sizes.update(
      {{"tie_word_embeddings", false}, {"dropout_rate", 0.25}, {"attention_dropout", 0.125}});
  json whole = config_of("pegasus-x-default");
  whole.update({{"stagger_local_blocks", false}, {"block_size", 3}, {"num_global_tokens", 1}});
  json window = config_of("longformer-mlm");
  window["attention_window"] = 8;
  configs.insert(configs.end(), {sizes, whole, window});
  for (const json& config : configs) {
    BOOST_TEST_CONTEXT(config.dump()) {
      Graph graph;
      const std::string text = config.dump();
      const hf::Model model = hf::build_model(graph, text, hf::minimal_inputs(text));
      const std::string ending = model.architecture.substr(model.architecture.find("For"));
      // Without the original config, all keys are written.
      hf::ModelToExport exported{.family = *model.family, .weights = {}, .endings = {ending}};
      if (config["model_type"] == "longformer") exported.masked_lm = model.heads.masked_lm;
      const std::string written = hf::export_model(exported).config;
      Graph again;
      const hf::Model read = hf::build_model(again, written, hf::minimal_inputs(written));
      BOOST_TEST((read.family == model.family), written);
      BOOST_TEST(read.model_type == model.model_type);
      BOOST_TEST(hf::export_model(exported, text).config == text);
    }
  }
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
