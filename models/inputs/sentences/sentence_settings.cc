#include "weft/models/inputs/sentences/sentence_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"
#include "weft/models/hf/config_reader.h"
#include "weft/models/hf/folder.h"
#include "weft/models/inputs/sentences/torch_activation.h"
#include "weft/serialization/files/strict_json.h"

namespace weft {
namespace {

using hf::ConfigReader;
using nlohmann::json;

constexpr const char* kModules = "modules.json";
constexpr const char* kModelConfig = "config_sentence_transformers.json";
constexpr const char* kTransformerConfig = "sentence_bert_config.json";
constexpr const char* kSubject = "the text vectors";
constexpr const char* kVectors = "sentence_embedding";

constexpr std::string_view kSimilarities[] = {"cosine", "dot", "euclidean", "manhattan"};

/// Keys of earlier versions that select a pooling, in the order of concatenation.
constexpr std::array<std::pair<const char*, TextPooling>, 6> kPoolingFlags = {
    {{"pooling_mode_cls_token", TextPooling::cls},
     {"pooling_mode_max_tokens", TextPooling::max},
     {"pooling_mode_mean_tokens", TextPooling::mean},
     {"pooling_mode_mean_sqrt_len_tokens", TextPooling::mean_sqrt_len_tokens},
     {"pooling_mode_weightedmean_tokens", TextPooling::weightedmean},
     {"pooling_mode_lasttoken", TextPooling::lasttoken}}};

/// Reads the settings files of one folder.
class SettingsReader {
 public:
  SettingsReader(const hf::FolderOrigin& files, std::int64_t width, const std::string& place)
      : files_(files), encoder_width_(width), place_(place) {}

  SentenceSettings read() {
    if (const std::string& text = files_.text(kModules); text.empty()) {
      read_pooling("1_Pooling");
      settings_.normalise = true;  // Weft's default for folders without modules.json
    } else {
      read_modules(text);
    }
    if (!files_.text(kTransformerConfig).empty()) in(kTransformerConfig, [&] { transformer(); });
    if (settings_.max_tokens == 0 && !files_.text(kModules).empty())
      settings_.max_tokens = tokenizer_limit(files_);
    if (!files_.text(kModelConfig).empty()) in(kModelConfig, [&] { model(); });
    return std::move(settings_);
  }

 private:
  std::string path_of(const std::string& file) const {
    return place_.empty() ? file : place_ + "/" + file;
  }
  ConfigReader reader(const std::string& file) const {
    const std::string& text = files_.text(file);
    if (text.empty())
      throw FormatError(fmt::format("{} is missing, empty or not text in UTF-8", path_of(file)));
    return ConfigReader(text, path_of(file));
  }
  /// Calls `read`. Adds the file to the messages of errors in values.
  template <class Read>
  void in(const std::string& file, Read&& read) const {
    try {
      read();
    } catch (const FormatError& e) {
      if (std::string_view(e.what()).find(file) != std::string_view::npos) throw;
      throw FormatError(fmt::format("{}: {}", path_of(file), e.what()));
    } catch (const ArgumentError& e) {
      if (std::string_view(e.what()).find(file) != std::string_view::npos) throw;
      throw ArgumentError(fmt::format("{}: {}", path_of(file), e.what()));
    }
  }
  [[noreturn]] void reject_module(const std::string& type) const {
    throw ArgumentError(
        fmt::format("{}: the module \"{}\" is not supported; supported are the modules Transformer "
                    "(first), Pooling, Dense, LayerNorm, Dropout and Normalize of "
                    "sentence_transformers",
                    path_of(kModules), excerpt(type)));
  }

  void read_modules(const std::string& text) {
    const std::string file = path_of(kModules);
    const auto modules = hf::sentence_modules(text, file);
    const json entries = parse_json(text, file);
    bool pooled = false;
    for (std::size_t i = 0; i < modules.size(); ++i) {
      // The library uses neither names nor indices, and passes `kwargs` only if a caller does.
      ConfigReader entry(entries[i].dump(), fmt::format("{}, module {}", file, i));
      entry.ignore({"idx", "name", "path", "type", "kwargs"}).finish(kSubject);
      const hf::SentenceModule& module = modules[i];
      const std::string name = module.name();
      const bool known = module.type.starts_with("sentence_transformers.");
      if (!known || (name == "Transformer") != (i == 0)) reject_module(module.type);
      if (i == 0) continue;
      if (name == "Pooling" && !pooled) {
        read_pooling(module.path);
        pooled = true;
      } else if (!pooled && (name == "Dense" || name == "LayerNorm" || name == "Normalize")) {
        throw ArgumentError(
            fmt::format("{}: the module {} precedes Pooling, which is not supported", file,
                        excerpt(module.type)));
      } else if (name == "Dense" || name == "LayerNorm" || name == "Normalize") {
        read_layer(name, module.path, i);
      } else if (name == "Dropout") {  // applies only to training
        in(module.path + "/config.json", [&] {
          if (!files_.text(module.path + "/config.json").empty())
            reader(module.path + "/config.json").ignore({"dropout"}).finish(kSubject);
        });
      } else {
        reject_module(module.type);
      }
    }
    if (!pooled && files_.text("1_Pooling/config.json").empty())
      throw ArgumentError(
          fmt::format("{} lists no module Pooling, which computes the vector of a "
                      "text from the vectors of its tokens",
                      file));
    if (!pooled) read_pooling("1_Pooling");
    auto& layers = settings_.layers;
    if (!layers.empty() && layers.back().kind == VectorLayer::Kind::normalise) {
      settings_.normalise = true;
      layers.pop_back();
    }
  }

  void read_pooling(const std::string& folder) {
    const std::string file = folder + "/config.json";
    in(file, [&] { pooling(reader(file)); });
    width_ = settings_.width(encoder_width_);
  }

  void pooling(ConfigReader config) {
    std::int64_t width = encoder_width_;
    config.field("word_embedding_dimension", width).field("embedding_dimension", width);
    if (width != encoder_width_) {
      throw ArgumentError(fmt::format("{} is {}, but the width of the encoder is {}",
                                      config.object().contains("embedding_dimension")
                                          ? "embedding_dimension"
                                          : "word_embedding_dimension",
                                      width, encoder_width_));
    }
    settings_.poolings.clear();
    for (const auto& [key, pooling] : kPoolingFlags) {
      bool used = false;
      config.field(key, used);
      if (used) settings_.poolings.push_back(pooling);
    }
    if (const json* modes = config.find("pooling_mode")) {  // has priority over the flags
      settings_.poolings.clear();
      for (const json& mode : modes->is_array() ? *modes : json::array({*modes}))
        read_json(mode, "pooling_mode", settings_.poolings.emplace_back());
      if (settings_.poolings.empty()) throw ArgumentError("pooling_mode is an empty list");
    }
    if (settings_.poolings.empty()) settings_.poolings = {TextPooling::mean};
    config.field("include_prompt", settings_.include_prompt);
    config.finish(kSubject);
  }

  void read_layer(const std::string& name, const std::string& folder, std::size_t index) {
    const std::string file = folder + "/config.json";
    VectorLayer layer{.path = folder, .index = index};
    in(file, [&] {
      if (name == "Normalize") {
        if (!files_.text(file).empty()) vectors_only(reader(file)).finish(kSubject);
        return;
      }
      ConfigReader config = reader(file);
      layer.in = layer.out = width_;
      if (name == "LayerNorm") {
        layer.kind = VectorLayer::Kind::layer_norm;
        config.field("dimension", layer.in);
        check_width("dimension", layer.in);
      } else {
        dense(config, layer);
      }
      config.finish(kSubject);
    });
    if (layer.has_weights()) width_ = layer.out;
    settings_.layers.push_back(std::move(layer));
  }

  void check_width(const char* key, std::int64_t value) const {
    if (value != width_)
      throw ArgumentError(
          fmt::format("{} is {}, but the vectors that the module receives have {} "
                      "values",
                      key, value, width_));
  }
  static ConfigReader vectors_only(ConfigReader config) {
    constexpr const char* kWhy = "only vectors of texts can be changed by this module";
    config.fixed("module_input_name", kVectors, kWhy).fixed("module_output_name", kVectors, kWhy);
    return config;
  }

  void dense(ConfigReader& config, VectorLayer& layer) const {
    layer.kind = VectorLayer::Kind::dense;
    config.field("in_features", layer.in).field("out_features", layer.out);
    check_width("in_features", layer.in);
    if (layer.out < 1) throw ArgumentError(fmt::format("out_features is {}", layer.out));
    config.field("bias", layer.bias).field("use_residual", layer.residual);
    const json& object = config.object();
    std::string function =
        object.contains("activation_function") ? "torch.nn.Identity" : "torch.nn.Tanh";
    config.field("activation_function", function);
    layer.activation = torch_activation(function, "activation_function");
    constexpr const char* kWhy = "only initial weights in a file are supported";
    config.fixed("init_weight", nullptr, kWhy).fixed("init_bias", nullptr, kWhy);
    config = vectors_only(std::move(config));
  }

  /// Reads the settings of the module Transformer.
  void transformer() {
    ConfigReader config = reader(kTransformerConfig);
    std::int64_t limit = 0;
    config.field("max_seq_length", limit).field("do_lower_case", settings_.lower_case);
    if (config.find("max_seq_length") != nullptr) check_limit("max_seq_length", limit);
    constexpr const char* kWhy = "only the token vectors of the last layer can be pooled";
    config.fixed("transformer_task", "feature-extraction", kWhy)
        .fixed("module_output_name", "token_embeddings", kWhy);
    if (const json* modalities = config.find("modality_config")) {
      const json expected = {{"method", "forward"}, {"method_output_name", "last_hidden_state"}};
      if (!modalities->is_object() || modalities->contains("message") ||
          modalities->value("text", json()) != expected) {
        throw ArgumentError(fmt::format("modality_config is {}: {}, without a chat template",
                                        json_excerpt(*modalities), kWhy));
      }
    }
    constexpr const char* kOtherModels = "it belongs to models with one vector per token";
    for (const char* key : {"query_length", "document_length", "query_expansion"})
      config.fixed(key, nullptr, kOtherModels);
    config.fixed("processing_kwargs", json::object(), "options of processors are not supported")
        .fixed("tokenizer_name_or_path", nullptr, "another tokenizer is not supported")
        .ignore({"unpad_inputs", "backend"});
    for (const char* key : {"model_args", "model_kwargs"})
      arguments(config, key,
                {"trust_remote_code", "attn_implementation", "torch_dtype", "dtype", "device_map",
                 "low_cpu_mem_usage", "add_pooling_layer"});
    for (const char* key : {"config_args", "config_kwargs"})
      arguments(config, key, {"trust_remote_code"});
    for (const char* key : {"tokenizer_args", "processor_kwargs"}) {
      arguments(config, key, {"trust_remote_code", "use_fast", "padding_side", "model_max_length"});
      const json* given = config.find(key);
      if (given == nullptr || !given->contains("model_max_length")) continue;
      read_json(given->at("model_max_length"), "model_max_length", limit);
      check_limit("model_max_length", limit);
    }
    settings_.max_tokens = limit;
    config.finish(kSubject);
  }
  static void check_limit(const char* key, std::int64_t limit) {
    if (limit < 1) throw ArgumentError(fmt::format("{} is {}, not a positive number", key, limit));
  }
  /// Accepts only `harmless` keys in an object of arguments for a constructor of transformers.
  static void arguments(ConfigReader& config, const char* key,
                        std::initializer_list<std::string_view> harmless) {
    const json* given = config.find(key);
    if (given == nullptr) return;
    for (const auto& [name, value] : given->items()) {
      if (std::find(harmless.begin(), harmless.end(), name) == harmless.end()) {
        throw ArgumentError(
            fmt::format("{}: {} = {} is not supported", key, excerpt(name), json_excerpt(value)));
      }
    }
  }

  /// Reads the settings of the whole model.
  void model() {
    ConfigReader config = reader(kModelConfig);
    config.fixed("model_type", "SentenceTransformer",
                 "only models with one vector per text are "
                 "supported");
    if (const json* prompts = config.find("prompts")) {
      if (!prompts->is_object())
        throw FormatError(
            fmt::format("'prompts' must be an object, not {}", json_excerpt(*prompts)));
      for (const auto& [name, text] : prompts->items()) {
        std::string& prompt = settings_.prompts[name];
        if (!text.is_null()) read_json(text, fmt::format("prompts.{}", excerpt(name)), prompt);
      }
    }
    if (config.find("default_prompt_name") != nullptr) {
      std::string& name = settings_.default_prompt.emplace();
      config.field("default_prompt_name", name);
      // The library adds these two names to every model, with empty prompts.
      if (name == "query" || name == "document") settings_.prompts.emplace(name, "");
      if (!settings_.prompts.contains(name)) {
        throw ArgumentError(
            fmt::format("default_prompt_name is \"{}\", but there is no prompt with this name; the "
                        "prompts are {}",
                        excerpt(name), prompt_names(settings_)));
      }
    }
    config.field("similarity_fn_name", settings_.similarity);
    config.field("truncate_dim", settings_.dimensions);
    if (config.find("truncate_dim") != nullptr) check_limit("truncate_dim", settings_.dimensions);
    config.ignore({"__version__", "requirements"}).finish(kSubject);
  }

 public:
  static std::string prompt_names(const SentenceSettings& settings) {
    std::vector<std::string> names;
    for (const auto& [name, text] : settings.prompts) names.push_back(name);
    return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
  }

 private:
  const hf::FolderOrigin& files_;
  std::int64_t encoder_width_;
  std::int64_t width_ = 0;  // of the vectors after the modules read so far
  std::string place_;
  SentenceSettings settings_;
};

}  // namespace

ChoiceNames choice_names(VectorSimilarity) { return {"similarity_fn_name", kSimilarities}; }

std::int64_t SentenceSettings::width(std::int64_t encoder_width) const {
  std::int64_t width = encoder_width * std::ssize(poolings);
  for (const VectorLayer& layer : layers) {
    if (layer.has_weights()) width = layer.out;
  }
  return width;
}

std::string SentenceSettings::prompt(const std::optional<std::string>& prompt,
                                     const std::optional<std::string>& name) const {
  if (prompt && name)
    throw ArgumentError("a prompt and the name of a prompt were given: give only one of them");
  if (prompt) return *prompt;
  if (!name) return default_prompt ? prompts.at(*default_prompt) : std::string();
  const auto found = prompts.find(*name);
  if (found == prompts.end()) {
    throw ArgumentError(fmt::format("the model has no prompt named \"{}\"; its prompts are {}",
                                    excerpt(*name), SettingsReader::prompt_names(*this)));
  }
  return found->second;
}

std::string sentence_model_class(const hf::FolderOrigin& files) {
  if (files.text(kModules).empty() && files.text("1_Pooling/config.json").empty()) return {};
  std::string found = "SentenceTransformer";
  const std::string& config = files.text(kModelConfig);
  if (!config.empty()) ConfigReader(config, kModelConfig).field("model_type", found);
  return found;
}

std::optional<SentenceSettings> sentence_settings(const hf::FolderOrigin& files, std::int64_t width,
                                                  const std::string& place) {
  if (files.text(kModules).empty() && files.text("1_Pooling/config.json").empty())
    return std::nullopt;
  return SettingsReader(files, width, place).read();
}

std::map<std::string, std::string> sentence_files(TextPooling pooling, bool normalise,
                                                  std::int64_t width) {
  nlohmann::ordered_json modules = nlohmann::ordered_json::array(), flags;
  for (const char* name : {"Transformer", "Pooling", "Normalize"}) {
    if (name == std::string_view("Normalize") && !normalise) continue;
    const std::string index = std::to_string(modules.size());
    modules.push_back({{"idx", modules.size()},
                       {"name", index},
                       {"path", modules.empty() ? std::string() : index + "_" + name},
                       {"type", std::string("sentence_transformers.models.") + name}});
  }
  flags["word_embedding_dimension"] = width;
  for (const auto& [key, kind] : kPoolingFlags) flags[key] = kind == pooling;
  return {{kModules, modules.dump(2) + "\n"}, {"1_Pooling/config.json", flags.dump(2) + "\n"}};
}

namespace {

/// Returns the JSON object in a file, or an empty object if the file is missing.
nlohmann::ordered_json settings_object(const hf::FolderOrigin& files, const char* name) {
  const std::string& text = files.text(name);
  if (text.empty()) return nlohmann::ordered_json::object();
  return in_order(parse_json_object(text, name), text, name);
}

}  // namespace

void set_prompts(hf::FolderOrigin& files, const std::map<std::string, std::string>& prompts) {
  nlohmann::ordered_json config = settings_object(files, kModelConfig);
  if (!config.contains("prompts") || !config["prompts"].is_object())
    config["prompts"] = nlohmann::ordered_json::object();
  for (const auto& [name, text] : prompts) config["prompts"][name] = text;
  if (!config.contains("default_prompt_name")) config["default_prompt_name"] = nullptr;
  if (!config.contains("similarity_fn_name")) config["similarity_fn_name"] = "cosine";
  files.files[kModelConfig] = config.dump(2) + "\n";
}

void set_token_limit(hf::FolderOrigin& files, std::int64_t max_tokens) {
  nlohmann::ordered_json config = settings_object(files, kTransformerConfig);
  config["max_seq_length"] = max_tokens;
  if (!config.contains("do_lower_case")) config["do_lower_case"] = false;
  // These arguments have priority over max_seq_length.
  for (const char* key : {"tokenizer_args", "processor_kwargs"}) {
    if (config.contains(key) && config[key].contains("model_max_length"))
      config[key]["model_max_length"] = max_tokens;
  }
  files.files[kTransformerConfig] = config.dump(2) + "\n";
}

std::int64_t tokenizer_limit(const hf::FolderOrigin& files) {
  const std::string& text = files.text("tokenizer_config.json");
  if (text.empty()) return 0;
  const json config = parse_json_object(text, "tokenizer_config.json");
  for (const char* key : {"model_max_length", "max_len"}) {
    const auto found = config.find(key);
    if (found == config.end() || !found->is_number()) continue;
    // Tokenizers without a limit have the limit 1e30.
    const auto limit = found->get<double>();
    return limit >= 1 && limit < 1e9 ? static_cast<std::int64_t>(limit) : 0;
  }
  return 0;
}

}  // namespace weft
