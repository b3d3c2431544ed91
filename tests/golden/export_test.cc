// Reference models that are exported as folders keep their config.json, tensor names, shapes and
// values.
#include <boost/test/unit_test.hpp>
#include <fstream>
#include <set>

#include "golden_folder.h"
#include "weft/models/hf/export.h"
#include "weft/models/hf/folder.h"

namespace weft::golden {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

/// Returns the tensor names in the folder's file, without buffers and tied tensors that are not in
/// `written`. Hugging Face Transformers recomputes such buffers and stores only one of several tied
/// tensors.
std::set<std::string> names_in_file(const hf::Folder& folder, const json& about,
                                    const TensorMap& written) {
  std::set<std::string> names;
  for (const auto& [name, tensor] : folder.weights) names.insert(name);
  for (const char* list : {"saved_buffers_not_parameters", "fixed_tables_not_trained"}) {
    for (const json& name : about.value(list, json::array())) {
      if (!written.contains(name)) names.erase(name);
    }
  }
  for (const json& tied : about.value("tied_weights", json::array())) {
    for (const json& name : tied) {
      if (!written.contains(name)) names.erase(name);
    }
  }
  return names;
}

hf::ModelToExport library_model(const hf::Folder& folder, const std::string& architecture) {
  Graph graph;
  const hf::Model model =
      hf::build_model(graph, folder.config, hf::minimal_inputs(folder.config), architecture);
  hf::ModelToExport library{.family = model.family.value(), .weights = {}, .endings = {}};
  for (const auto& [variable, tensor] :
       hf::match_weights(model, graph, folder.weights, folder.path))
    library.weights[variable.name()] = tensor;
  for (const char* ending :
       {"Model", "LMHeadModel", "MTModel", "ForCausalLM", "ForConditionalGeneration", "ForMaskedLM",
        "ForPreTraining", "ForSequenceClassification", "ForTokenClassification",
        "ForQuestionAnswering", "ForImageClassification", "ForImageClassificationWithTeacher",
        "ForMaskedImageModeling"}) {
    if (architecture.ends_with(ending)) library.endings = {ending};
  }
  library.labels = hf::class_names(folder.config);
  return library;
}

void check_case(const fs::path& path, const json& about) {
  const hf::Folder folder = hf::read_folder(path.string());
  const hf::ModelToExport library = library_model(folder, about.at("class"));
  const hf::ExportedModel exported = hf::export_model(library, folder.config);
  BOOST_TEST(exported.config == folder.config);
  BOOST_TEST(exported.architecture == about.at("class").get<std::string>());
  std::set<std::string> names;
  for (const auto& [name, tensor] : exported.weights) {
    names.insert(name);
    BOOST_TEST_REQUIRE(folder.weights.contains(name), name);
    BOOST_TEST((tensor.sizes() == folder.weights.at(name).sizes()), name);
    BOOST_TEST(bitwise_equal(tensor, folder.weights.at(name)), name);
  }
  BOOST_TEST(names == names_in_file(folder, about, exported.weights),
             boost::test_tools::per_element());
  // If the model is exported without the original config.json, it is read back as the same
  // architecture.
  hf::ModelToExport alone = library;
  if (alone.labels.empty() && json::parse(folder.config).contains("num_labels")) return;
  if (alone.weights.contains("tokens.weight")) return;  // only config.json has their number (BEiT)
  // Only config.json says that a vision transformer is the tower of a SigLIP model.
  if (json::parse(folder.config).contains("vision_config") &&
      std::holds_alternative<VitConfig>(alone.family))
    return;
  const hf::ExportedModel fresh = hf::export_model(alone);
  Graph graph;
  const hf::Model again = hf::build_model(graph, fresh.config, hf::minimal_inputs(fresh.config));
  BOOST_TEST(again.architecture == fresh.architecture);
  BOOST_TEST(hf::match_weights(again, graph, fresh.weights, "again").size() ==
             library.weights.size());
}

BOOST_AUTO_TEST_CASE(exported_golden_folders_equal_the_originals) {
  int cases = 0;
  for (const fs::path& path : find_model_cases("*", "case.json")) {
    // Half-precision weights are written as float32.
    const bool narrow = path.parent_path().filename().string().starts_with("bf16-");
    if (!is_supported(path.parent_path()) || narrow) continue;
    const json about = read_json(path);
    BOOST_TEST_CONTEXT(path.string()) {
      check_case(path.parent_path(), about);
      ++cases;
    }
  }
  BOOST_TEST(cases > 10);
}

}  // namespace
}  // namespace weft::golden
