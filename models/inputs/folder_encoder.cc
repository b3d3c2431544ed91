#include "weft/models/inputs/folder_encoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/models/families/encoder.h"
#include "weft/serialization/files/strict_json.h"

namespace weft {
namespace {

/// Returns the config of the encoder in a folder, or nullopt if the folder contains no encoder. The
/// inputs of a transformers class depend on the config, so a first graph is built without weights
/// to obtain the config.
std::optional<EncoderConfig> encoder_config(const hf::Folder& folder) {
  Graph graph;
  const hf::Model model = hf::build_model(graph, folder.config, hf::minimal_inputs(folder.config));
  if (!model.family) return std::nullopt;
  const auto* config = std::get_if<EncoderConfig>(&*model.family);
  return config == nullptr ? std::nullopt : std::optional(*config);
}

bool ends_in(const std::string& name, const std::vector<std::string_view>& endings) {
  return endings.empty() || std::any_of(endings.begin(), endings.end(),
                                        [&](std::string_view end) { return name.ends_with(end); });
}

}  // namespace

TextEnd truncation_side(const hf::Folder& folder, const Tokenizer& tokenizer) {
  constexpr const char* kConfig = "tokenizer_config.json";
  if (const std::string text = folder.text(kConfig); !text.empty()) {
    const std::string place = fmt::format("{}/{}", folder.path, kConfig);
    const nlohmann::json config = parse_json_object(text, place);
    const auto found = config.find("truncation_side");
    if (found != config.end() && !found->is_null()) {
      if (*found == "left") return TextEnd::left;
      if (*found == "right") return TextEnd::right;
      throw FormatError(fmt::format("{}: truncation_side is {}, but must be \"left\" or \"right\"",
                                    place, json_excerpt(*found)));
    }
  }
  const std::optional<Truncation> truncation = tokenizer.default_options().truncation;
  return truncation ? truncation->direction : TextEnd::right;
}

const Tokenizer& require_tokenizer(const FolderTokenizer& text) {
  if (text.tokenizer) return *text.tokenizer;
  throw FormatError(text.missing);
}

std::optional<FolderEncoder> read_folder_encoder(Graph& graph, const hf::Folder& folder,
                                                 const FolderTokenizer& text,
                                                 const FolderUse& use) {
  if (!ends_in(hf::architecture_of(folder.config), use.endings)) return std::nullopt;
  const std::optional<EncoderConfig> config = encoder_config(folder);
  if (!config) return std::nullopt;
  FolderEncoder result;
  result.config = *config;
  result.tokenizer = require_tokenizer(text);
  result.reading = TextReading{.token_types = use.pairs && config->token_types >= 2,
                               .truncation_side = truncation_side(folder, result.tokenizer)};
  try {
    check_vocabulary(result.config, result.tokenizer, result.reading);
  } catch (const ArgumentError& e) {
    throw ArgumentError(fmt::format("{}: {}", folder.path, e.what()));
  }
  hf::InputValues inputs = use.more;
  inputs["input_ids"] = graph.input("tokens", DType::i32, {"batch", "seq"});
  inputs["attention_mask"] = result.mask = graph.input("mask", DType::i32, {"batch", "seq"});
  if (result.reading->token_types)
    inputs["token_type_ids"] = graph.input("token_types", DType::i32, {"batch", "seq"});
  if (use.embeds && config->global_attention)
    inputs["global_attention_mask"] = equal(inputs["input_ids"], -1);
  result.model = hf::build_model_over(graph, folder.config, inputs);
  result.store = hf::load_weights(result.model, graph, folder);
  if (use.unpadded && supports_offsets(result.config)) {
    inputs["token_places"] = graph.input("token_places", DType::i64, {"tokens"});
    result.unpadded = hf::build_model_over(graph, folder.config, inputs).outputs;
  }
  return result;
}

std::vector<std::string> label_names(const std::string& config, std::int64_t count) {
  std::vector<std::string> names = hf::class_names(config);
  if (names.empty()) {
    for (std::int64_t i = 0; i < count; ++i) names.push_back(fmt::format("LABEL_{}", i));
  }
  if (std::ssize(names) != count) {
    throw FormatError(fmt::format("config.json: id2label has {} names, but the model has {} labels",
                                  names.size(), count));
  }
  return names;
}

}  // namespace weft
