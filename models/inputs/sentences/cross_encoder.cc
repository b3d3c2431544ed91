#include "weft/models/inputs/sentences/cross_encoder.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"
#include "weft/models/hf/config_reader.h"
#include "weft/models/hf/folder.h"
#include "weft/models/inputs/sentences/sentence_settings.h"
#include "weft/models/inputs/sentences/torch_activation.h"

namespace weft {
namespace {

using hf::ConfigReader;
using nlohmann::json;

constexpr const char* kPairs = "the scores of text pairs";
constexpr const char* kPairModules = "modules.json";
constexpr const char* kPairConfig = "config_sentence_transformers.json";
constexpr const char* kPairTransformer = "sentence_bert_config.json";

/// Returns the path of the activation function in config.json, or "" if there is none.
std::string activation_in_config(const std::string& config) {
  ConfigReader reader(config);
  if (const json* settings = reader.find("sentence_transformers")) {
    if (!settings->is_object()) {
      throw FormatError(
          fmt::format("config.json: 'sentence_transformers' must be an object, not {}",
                      json_excerpt(*settings)));
    }
    const auto found = settings->find("activation_fn");
    if (found != settings->end()) {
      std::string path;
      if (!found->is_null()) read_json(*found, "sentence_transformers.activation_fn", path);
      return path;
    }
  }
  std::string path;
  reader.field("sbert_ce_default_activation_function", path);
  return path;
}

/// Reads the settings of the whole model. Returns its activation function, or "".
std::string read_model_settings(const std::string& text) {
  ConfigReader config(text, kPairConfig);
  std::string activation;
  config.field("activation_fn", activation);
  std::string name;
  config.field("default_prompt_name", name);
  const json* prompts = config.find("prompts");
  if (!name.empty() && prompts != nullptr && prompts->is_object() &&
      prompts->value(name, json("")) != "") {
    throw ArgumentError(
        fmt::format("{}: default_prompt_name is \"{}\", but prompts for text pairs are not "
                    "supported",
                    kPairConfig, excerpt(name)));
  }
  config.ignore({"__version__", "requirements", "model_type"}).finish(kPairs);
  return activation;
}

void read_transformer_settings(const std::string& text, CrossEncoderSettings& settings) {
  ConfigReader config(text, kPairTransformer);
  config.field("max_seq_length", settings.max_tokens).field("do_lower_case", settings.lower_case);
  constexpr const char* kWhy = "only the outputs of a sequence classifier are supported";
  config.fixed("transformer_task", "sequence-classification", kWhy)
      .fixed("module_output_name", "scores", kWhy)
      .fixed("processing_kwargs", json::object(), "options of processors are not supported")
      .ignore({"unpad_inputs"});
  if (const json* modalities = config.find("modality_config")) {
    const json expected = {{"method", "forward"}, {"method_output_name", "logits"}};
    if (!modalities->is_object() || modalities->contains("message") ||
        modalities->value("text", json()) != expected) {
      throw ArgumentError(fmt::format("{}: modality_config is {}: {}, without a chat template",
                                      kPairTransformer, json_excerpt(*modalities), kWhy));
    }
  }
  for (const char* key : {"query_length", "document_length", "query_expansion"})
    config.fixed(key, nullptr, "it belongs to models with one vector per token");
  config.finish(kPairs);
}

}  // namespace

CrossEncoderSettings cross_encoder_settings(const hf::FolderOrigin& files, std::size_t labels) {
  CrossEncoderSettings settings;
  std::string path = activation_in_config(files.text("config.json"));
  if (sentence_model_class(files) == kCrossEncoder) {
    const auto modules = hf::sentence_modules(files.text(kPairModules), kPairModules);
    for (const hf::SentenceModule& module : modules) {
      if (&module == &modules.front() && module.name() == "Transformer") continue;
      throw ArgumentError(
          fmt::format("{}: the module \"{}\" of a cross-encoder is not supported; supported is a "
                      "Transformer alone",
                      kPairModules, excerpt(module.type)));
    }
    if (const std::string found = read_model_settings(files.text(kPairConfig)); !found.empty())
      path = found;
    if (const std::string& text = files.text(kPairTransformer); !text.empty())
      read_transformer_settings(text, settings);
  }
  if (!path.empty()) {
    settings.activation = torch_activation(path, "the activation function of the cross-encoder");
  } else if (labels == 1) {
    settings.activation = "Sigmoid";
  }
  if (settings.max_tokens < 1) settings.max_tokens = tokenizer_limit(files);
  return settings;
}

std::map<std::string, std::string> cross_encoder_files(const hf::FolderOrigin& files) {
  std::map<std::string, std::string> found;
  if (sentence_model_class(files) != kCrossEncoder) return found;
  for (const char* name : {kPairModules, kPairConfig, kPairTransformer}) {
    if (const std::string& text = files.text(name); !text.empty()) found[name] = text;
  }
  return found;
}

}  // namespace weft
