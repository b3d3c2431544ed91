// Pre-training programs with reference weights compute the same losses as the published
// pre-training classes, and the weights in every folder can initialise a training run.
#include <fmt/core.h>

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "golden_folder.h"
#include "weft/core/error.h"
#include "weft/graph/run/session.h"
#include "weft/models/hf/folder.h"
#include "weft/models/tasks/common/image_data.h"
#include "weft/models/tasks/image_classification/image_classifier.h"
#include "weft/models/tasks/masked_tokens/pretraining_programs.h"
#include "weft/models/training/pretrained.h"
#include "weft/models/training/trainable.h"
#include "weft/models/training/weights.h"

namespace weft::golden {
namespace {

using Tensors = std::map<std::string, Tensor>;
namespace fs = std::filesystem;

/// Pre-training programs for the encoder in a folder, with the weights in the folder and without
/// dropout, even in training.
struct Case {
  Case(const fs::path& path, const PretrainingOptions& options)
      : folder(hf::read_folder(path.string())),
        inputs(read_tensors(path / "inputs.safetensors")),
        outputs(read_tensors(path / "outputs.safetensors")) {
    const TensorMap given(inputs.begin(), inputs.end());
    model = hf::build_model(reference, folder.config, hf::input_types(given));
    auto config = std::get<EncoderConfig>(model.family.value());
    config.hidden_dropout = config.attention_dropout = 0;
    programs = build_pretraining(graph, config, options, {});
    store = std::make_shared<VariableStore>();
    report = load_weights(*store, graph, load_pretrained(path.string()).weights, path.string());
  }

  Tensor ids(const std::string& name) const { return inputs.at(name).to(DType::i32); }
  /// Returns the program inputs "tokens", "mask", "picks" and "labels".
  NamedTensors feeds() const {
    const Tensor tokens = ids("input_ids");
    NamedTensors fed = {
        {"tokens", tokens},
        {"mask", inputs.contains("attention_mask") ? ids("attention_mask")
                                                   : Tensor::full(DType::i32, tokens.sizes(), 1)}};
    const auto labels = ids("labels").to_vector<std::int32_t>();
    std::vector<std::int32_t> picks, masked_labels;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      if (labels[i] < 0) continue;
      picks.push_back(static_cast<std::int32_t>(i));
      masked_labels.push_back(labels[i]);
    }
    const auto count = static_cast<std::int64_t>(picks.size());
    fed.emplace_back("picks", Tensor::of({count}, picks));
    fed.emplace_back("labels", Tensor::of({count}, masked_labels));
    return fed;
  }

  hf::Folder folder;
  Tensors inputs, outputs;
  Graph reference, graph;
  hf::Model model;
  Programs programs;
  std::shared_ptr<VariableStore> store;
  LoadReport report;
};

void check_close(double found, double expected, const std::string& what) {
  BOOST_TEST_CONTEXT(what << ": " << found << ", expected " << expected) {
    BOOST_TEST(std::abs(found - expected) <= 1e-5 * std::abs(expected));
  }
}

void check_pairs(const std::string& name, PretrainingObjective objective,
                 const std::string& pair_labels) {
  const fs::path path = folder() / name;
  if (!fs::exists(path)) {
    fmt::print("case {} skipped (not found; set WEFT_GOLDENS to a folder that contains it)\n",
               name);
    return;
  }
  Case c(path, {.objective = objective});
  BOOST_TEST(c.report.missing.empty());
  NamedTensors fed = c.feeds();
  fed.emplace_back("token_types", c.ids("token_type_ids"));
  fed.emplace_back("pair_labels", c.ids(pair_labels));
  const double expected = c.outputs.at("loss").item<float>();
  Session session(c.graph, c.store, {.seed = 1});
  const Results found = session.run(c.programs.at("evaluate"), fed);
  check_close(found["loss"].item<float>() + found["pair_loss"].item<float>(), expected, name);
  check_close(session.run(c.programs.at("train"), fed)["loss"].item<float>(), expected, name);
  fmt::print("case {} ok\n", name);
}

BOOST_AUTO_TEST_CASE(masked_token_and_pair_losses_match_the_published_classes) {
  check_pairs("bert-pretraining-default", PretrainingObjective::mlm_nsp, "next_sentence_label");
  check_pairs("albert-pretraining-default", PretrainingObjective::mlm_sop, "sentence_order_label");
}

BOOST_AUTO_TEST_CASE(the_replaced_token_loss_matches_the_published_discriminator) {
  const fs::path path = folder() / "electra-discriminator-default";
  BOOST_REQUIRE(fs::exists(path));
  Case c(path, {.objective = PretrainingObjective::rtd, .generator_share = 0.5});
  for (const std::string& name : c.report.missing) BOOST_TEST(name.starts_with("generator."));
  // Three tokens of the case are masked. The generator replaces these tokens, and both
  // discriminators read the result.
  NamedTensors fed = {{"tokens", c.ids("input_ids")},
                      {"mask", c.ids("attention_mask")},
                      {"picks", Tensor::of<std::int32_t>({4}, {1, 3, 2, 0})},
                      {"labels", Tensor::of<std::int32_t>({4}, {7, 8, 9, -100})},
                      {"key", Tensor::of<std::int64_t>({2}, {1, 0})}};
  Session session(c.graph, c.store, {.seed = 1});
  const Results found = session.run(c.programs.at("evaluate"), fed);
  BOOST_TEST(!bitwise_equal(found["corrupted"], c.ids("input_ids")));

  // Run the published class on the same ids. Neither model is given token types or positions.
  const TensorMap given = {{"input_ids", found["corrupted"]},
                           {"attention_mask", c.ids("attention_mask")},
                           {"labels", found["replaced"]}};
  Graph graph;
  const hf::Model model = hf::build_model(graph, c.folder.config, hf::input_types(given));
  Program loss("loss");
  loss.output("loss", model.outputs.at("loss")).output("logits", model.outputs.at("logits"));
  Session reference(graph, hf::load_weights(model, graph, c.folder));
  const Results expected = reference.run(loss, {given.begin(), given.end()});
  check_close(found["replaced_loss"].item<float>(), expected["loss"].item<float>(), "replaced");
  BOOST_TEST(relative_error(found["scores"], expected["logits"]) <= 1e-5);
}

BOOST_AUTO_TEST_CASE(image_classifiers_load_published_folders) {
  for (const std::string name : {"vit-cls-default", "deit-cls-default"}) {
    const fs::path path = folder() / name;
    if (!fs::exists(path)) {
      fmt::print("case {} skipped (not found; set WEFT_GOLDENS to a folder that contains it)\n",
                 name);
      continue;
    }
    const Tensors inputs = read_tensors(path / "inputs.safetensors");
    const Tensor logits = read_tensors(path / "outputs.safetensors").at("logits");
    const Pretrained base = load_pretrained(path.string());
    const auto& config = base.config_of<VitConfig>();
    const auto channels = static_cast<std::size_t>(config.channels);
    std::vector<std::string> classes;
    for (std::int64_t c = 0; c < logits.size(1); ++c) classes.push_back(std::to_string(c));
    const ImageClassifier model = trainable(build_image_classifier(
        config, classes, {std::vector<double>(channels, 0), std::vector<double>(channels, 1)}, {},
        {}));
    const LoadReport report =
        load_weights(*model.store, *model.graph, image_weights(base, config), name);
    BOOST_TEST(report.missing.empty());
    Session session(*model.graph, model.store);
    const Tensor found = class_probabilities(session, model, inputs.at("pixel_values"));
    for (std::int64_t r = 0; r < logits.size(0); ++r) {
      double sum = 0;
      for (std::int64_t c = 0; c < logits.size(1); ++c)
        sum += std::exp(logits.at(r * logits.size(1) + c));
      for (std::int64_t c = 0; c < logits.size(1); ++c) {
        const std::int64_t i = r * logits.size(1) + c;
        BOOST_TEST(std::abs(found.at(i) - std::exp(logits.at(i)) / sum) < 1e-5);
      }
    }
    fmt::print("case {} ok\n", name);
  }
}

BOOST_AUTO_TEST_CASE(parameters_can_be_loaded_from_every_folder) {
  int folders = 0;
  for (const fs::path& file : find_cases("*", "model.safetensors")) {
    const fs::path path = file.parent_path();
    if (!fs::exists(path / "case.json")) continue;
    BOOST_TEST_CONTEXT(path.filename()) {
      const TensorMap parameters = load_pretrained(path.string()).weights;
      // Every tensor in the file was loaded, except unused buffers and aliases of tied tensors.
      const std::string config = hf::read_folder(path.string()).config;
      Graph graph;
      const hf::Model model = hf::build_model(graph, config, hf::minimal_inputs(config));
      std::size_t expected = 0;
      for (const Variable& v : graph.variables()) {
        const VariableKind kind = v.info().kind;
        expected += kind == VariableKind::parameter || kind == VariableKind::buffer ? 1 : 0;
      }
      // The hidden layer that all heads of ModernBERT share also has the name in other heads.
      std::size_t declared = 0;
      for (const auto& [name, tensor] : parameters) declared += graph.has_variable(name) ? 1 : 0;
      BOOST_TEST(declared == expected);
      const Tensors file_tensors = read_tensors(file);
      for (const auto& [name, tensor] : parameters) {
        const auto it = file_tensors.find(model.names.theirs(name));
        // Files may lack leading axes of size 1.
        if (it != file_tensors.end())
          BOOST_TEST(bitwise_equal(it->second, tensor.reshape(it->second.sizes())));
      }
      ++folders;
    }
  }
  BOOST_TEST(folders >= 18);
}

}  // namespace
}  // namespace weft::golden
