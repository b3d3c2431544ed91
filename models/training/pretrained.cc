#include "weft/models/training/pretrained.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "weft/core/error.h"
#include "weft/graph/engine/nonfinite.h"
#include "weft/graph/weights/quantize.h"
#include "weft/models/families/gpt.h"
#include "weft/models/gguf/model.h"
#include "weft/models/hf/adapters/adapter_folder.h"
#include "weft/models/hf/folder.h"
#include "weft/models/hf/gpt.h"
#include "weft/models/inputs/image_info.h"
#include "weft/models/inputs/preprocessor.h"
#include "weft/models/inputs/sentences/sentence_settings.h"
#include "weft/models/training/model.h"
#include "weft/models/training/weights.h"
#include "weft/serialization/onnx/onnx.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

/// If all heads have the same hidden layer (ModernBERT), a masked language model initialises that
/// of classifiers, too.
void share_hidden_layer(Pretrained& result) {
  const auto* config = std::get_if<EncoderConfig>(&result.config);
  if (config == nullptr || !config->token_head) return;
  for (const auto& [from, to] : {std::pair{"masked_lm.dense.weight", "pooler.weight"},
                                 {"masked_lm.dense.bias", "pooler.bias"},
                                 {"masked_lm.norm.weight", "pooler.norm.weight"},
                                 {"masked_lm.norm.bias", "pooler.norm.bias"}}) {
    if (const auto found = result.weights.find(from); found != result.weights.end())
      result.weights.emplace(to, found->second);
  }
}

Pretrained read_folder(const ModelPath& from) {
  const std::string& path = from.path;
  hf::Folder folder = hf::read_folder(from);
  folder.verify = true;  // training reads all weights anyway
  const bool gpt = hf::is_gpt(folder.config);
  auto graph = std::make_unique<Graph>();
  hf::Model model = gpt ? hf::build_gpt_model(*graph, folder.config).model
                        : hf::build_model(*graph, folder.config, hf::minimal_inputs(folder.config));
  if (!model.family) {
    throw FormatError(
        fmt::format("{} holds a {} (model_type \"{}\"): training cannot start from such a model",
                    path, model.architecture, model.model_type));
  }
  const hf::FolderOrigin origin = hf::read_origin(folder);
  std::shared_ptr<VariableStore> store;
  try {
    store = hf::load_weights(model, *graph, folder);
  } catch (const FormatError&) {
    // Text encoders and base classes have no language model head, even if it is not tied.
    const std::string base = gpt ? hf::gpt_base_class(folder.config) : std::string();
    if (!gpt ||
        (sentence_model_class(origin).empty() && hf::architecture_of(folder.config) != base))
      throw;
    graph = std::make_unique<Graph>();
    model = hf::build_model(*graph, folder.config, hf::minimal_inputs(folder.config), base);
    store = hf::load_weights(model, *graph, folder);
  }
  Pretrained result{.source = path, .config = *model.family};
  result.about = fmt::format("a {} (model_type \"{}\")", model.architecture, model.model_type);
  result.weights = weights_of(*graph, *store);
  result.text = read_tokenizer_folder({folder.path, folder.ignored_keys});
  result.ignored_keys = folder.ignored_keys;
  result.classes = hf::class_names(folder.config);
  result.pooler = model.heads.pooler;
  share_hidden_layer(result);
  result.origin = origin;
  std::optional<ImageSize> pixels;
  if (const auto* vit = std::get_if<VitConfig>(&result.config))
    pixels = ImageSize{vit->channels, vit->image_height, vit->image_width};
  if (const auto* swin = std::get_if<SwinConfig>(&result.config))
    pixels = ImageSize{swin->channels, swin->image_height, swin->image_width};
  if (const auto* both = std::get_if<ImageTextConfig>(&result.config); both && both->has_images())
    pixels = ImageSize{both->image.channels, both->image.image_height, both->image.image_width};
  if (pixels) {
    if (const std::string text = folder.text(kPreprocessorFile); !text.empty()) {
      ImageInfo info = read_preprocessor(text, (fs::path(path) / kPreprocessorFile).string(),
                                         model.model_type, *pixels);
      result.normalisation = std::move(info.normalisation);
      result.geometry = info.geometry;
    }
  }
  return result;
}

/// Reads a GGUF file. Its weights are f32, unless quantised ones are accepted.
Pretrained read_gguf_file(const ModelPath& path, bool quantized) {
  const gguf::ModelFile file = gguf::read_model(path);
  Graph graph;
  const Gpt gpt(Scope(graph).evaluation(), file.config);
  const Value tokens = graph.input("tokens", DType::i32, {"batch", "seq"});
  Program program("logits");
  program.output("logits", gpt({.ids = tokens}).logits);
  const gguf::LoadedWeights loaded = gguf::load_weights(file, {program}, quantized);
  const Graph& stored = loaded.graph != nullptr ? *loaded.graph : graph;
  Pretrained result{.source = path, .config = file.config};
  result.about = fmt::format("a {} (GGUF)", file.architecture);
  result.weights = weights_of(stored, *loaded.store);
  result.quantized = quantized_weights(stored);
  result.text = file.text;
  return result;
}

/// Returns the config in an attachment. The attachment type determines the model family.
template <class... Configs>
FamilyConfig read_config(const Attachment& part, const std::string& path,
                         const std::variant<Configs...>&) {
  std::optional<FamilyConfig> found;
  static_cast<void>(
      ((part.type == kConfigType<Configs> ? (found = Configs::from_json(part.bytes), true)
                                          : false) ||
       ...));
  if (found) return *std::move(found);
  throw FormatError(
      fmt::format("{} holds no trained model: its configuration type is '{}'", path, part.type));
}

/// Reads the contents of a .weft file, or of an ONNX file that Weft wrote.
Pretrained read_contents(const Checkpoint& file, const std::string& path, bool quantized) {
  const auto find = [&](const char* name) { return file.find_attachment(name); };
  const Attachment* config = find(kConfigPart);
  if (config == nullptr && is_onnx_file(path)) {
    return {.source = path, .about = "a network of another program (ONNX)", .is_network = true};
  }
  if (config == nullptr) {
    throw FormatError(fmt::format(
        "{} holds no trained model: the attachment '{}' is missing (weft train writes it)", path,
        kConfigPart));
  }
  if (config->type == kNetworkConfig)
    return {.source = path, .about = "a network of an ONNX file", .is_network = true};
  if (find(kLoraPart) != nullptr) {
    throw ArgumentError(fmt::format(
        "the model in {} has adapters: merge them into its weights first (weft merge)", path));
  }
  const QuantizedWeights stored = quantized_weights(file.graph());
  const auto is_bf16 = [](const auto& w) { return w.second.format == WeightFormat::bf16; };
  // bf16 weights are converted to f32 without rounding, so they can be trained.
  const bool widen =
      !quantized && !stored.empty() && std::all_of(stored.begin(), stored.end(), is_bf16);
  if (!quantized && !widen && is_quantized(file.graph())) {
    throw ArgumentError(fmt::format(
        "the weights in {} are quantised, so small updates would be rounded away: start from "
        "the original file, or train adapters (--lora-rank)",
        path));
  }
  Pretrained result{.source = path,
                    .about = task_of(file).empty()
                                 ? "a model of an earlier version"
                                 : fmt::format("a model of the task {}", task_of(file)),
                    .config = read_config(*config, path, FamilyConfig())};
  const auto store = file.store();
  if (!file.is_finite()) check_finite(*store, path);
  if (widen) {
    const QuantizedModel floats = dequantize(file.programs(), *store);
    result.weights = weights_of(*floats.graph, *floats.store);
  } else {
    result.weights = weights_of(file.graph(), *store);
    result.quantized = stored;
  }
  result.caches = cache_format(file.graph());
  result.text.missing = fmt::format("{} holds no tokenizer", path);
  if (const Attachment* tokenizer = find(kTokenizerPart))
    result.text.tokenizer = PartValue<Tokenizer>::read(*tokenizer);
  if (const Attachment* head = find(kHeadPart)) result.head = *head;
  if (const Attachment* head = find(kSimilarityPart)) result.similarity = *head;
  if (const Attachment* generation = find(kGenerationPart))
    result.generation = GenerationSettings::from_json(generation->bytes);
  if (const Attachment* settings = find("model.speech")) result.speech = *settings;
  if (const Attachment* origin = find(kOriginPart))
    result.origin = hf::FolderOrigin::from_json(origin->bytes);
  share_hidden_layer(result);
  if (const auto* encoder = std::get_if<EncoderConfig>(&result.config);
      encoder != nullptr && encoder->token_head)
    result.pooler = encoder->activation_in_heads();
  if (const Attachment* decoder = find(kDecoderPart))
    result.config = GptConfig::from_json(decoder->bytes);
  if (const Attachment* reading = find(kReadingPart))
    result.reading = PartValue<TextReading>::read(*reading);
  // Embedding models that were trained from scratch have an origin without config.json.
  if (result.origin && !result.origin->text("config.json").empty() &&
      std::holds_alternative<EncoderConfig>(result.config)) {
    const std::string& text = result.origin->text("config.json");
    Graph graph;
    result.pooler = hf::build_model(graph, text, hf::minimal_inputs(text)).heads.pooler;
  }
  if (const Attachment* classes = find(kClassesPart))
    result.classes = PartValue<std::vector<std::string>>::read(*classes);
  if (const Attachment* images = find("model.images")) {
    ImageInfo info = ImageInfo::from_json(images->bytes);
    result.classes = std::move(info.classes);
    result.normalisation = std::move(info.normalisation);
    result.geometry = info.geometry;
  }
  return result;
}

const char* article(std::string_view noun) {
  return noun.starts_with('e') || noun.starts_with('i') ? "an" : "a";
}

}  // namespace

void Pretrained::wrong_family(std::string_view wanted) const {
  if (is_network) {
    throw FormatError(fmt::format("{} holds {}, not {} {}: fine-tune it with weft train network",
                                  source, about, article(wanted), wanted));
  }
  throw FormatError(fmt::format("{} holds {}, which is {} {}, not {} {}", source, about,
                                article(family_name(config)), family_name(config), article(wanted),
                                wanted));
}

const Tokenizer& Pretrained::tokenizer() const {
  if (text.tokenizer) return *text.tokenizer;
  throw FormatError(text.missing);
}

Pretrained load_pretrained(const ModelPath& path, bool quantized) {
  if (hf::is_adapter_folder(path)) {
    throw ArgumentError(fmt::format(
        "{} contains adapters, not a model: start from the base model and add the adapters "
        "(--adapters), or merge them into its weights first (weft merge)",
        path.path));
  }
  if (gguf::is_gguf(path)) return read_gguf_file(path, quantized);
  if (!hf::is_folder(path)) {
    return read_contents(is_onnx_file(path)
                             ? read_onnx(path).checkpoint
                             : load_checkpoint(path, {.verify = true, .once = !path.verify}),
                         path, quantized);
  }
  return hf::with_folder_name(path, [&] { return read_folder(path); });
}

}  // namespace weft
