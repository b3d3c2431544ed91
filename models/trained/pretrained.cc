#include "weft/models/trained/pretrained.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <filesystem>

#include "weft/core/error.h"
#include "weft/graph/run/nonfinite.h"
#include "weft/models/data/text.h"
#include "weft/models/families/encoder_decoder.h"
#include "weft/models/hf/folder.h"
#include "weft/models/hf/gpt.h"
#include "weft/models/trained/image_info.h"
#include "weft/models/trained/model.h"
#include "weft/models/trained/preprocessor.h"
#include "weft/models/trained/weights.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 4> kFamilies = {"decoder", "encoder", "encoder-decoder",
                                                       "vision transformer"};
/// What the library calls a SentencePiece model, by family.
constexpr std::array<const char*, 4> kPieceFiles = {"spiece.model", "spm.model",
                                                    "sentencepiece.bpe.model", "tokenizer.model"};

std::optional<Attachment> read_tokenizer(const std::string& folder) {
  for (const char* name : kPieceFiles) {
    const fs::path file = fs::path(folder) / name;
    if (!fs::exists(file)) continue;
    std::string bytes = read_text_file(file.string());
    try {
      SentencePieceTokenizer::from_bytes(bytes);
    } catch (const FormatError& e) {
      throw FormatError(fmt::format("{}: {}", file.string(), e.what()));
    }
    return Attachment{kTokenizerPart, "weft.tokenizer.sentence_piece", std::move(bytes)};
  }
  return std::nullopt;
}

/// What else may hold a tokenizer in a folder.
std::string other_tokenizers(const std::string& folder) {
  std::vector<const char*> found;
  for (const char* name : {"tokenizer.json", "vocab.txt", "vocab.json", "merges.txt"}) {
    if (fs::exists(fs::path(folder) / name)) found.push_back(name);
  }
  return found.empty() ? "none" : fmt::format("{}", fmt::join(found, ", "));
}

Pretrained read_folder(const std::string& path) {
  const hf::Folder folder = hf::read_folder(path);
  Graph graph;
  hf::Model model;
  Pretrained result{.source = path};
  if (hf::is_gpt(folder.config)) {
    hf::GptModel gpt = hf::build_gpt_model(graph, folder.config);
    result.config = gpt.gpt.config();
    model = std::move(gpt.model);
  } else {
    model = hf::build_model(graph, folder.config, hf::least_inputs(folder.config));
    if (model.encoder_config) {
      result.config = *model.encoder_config;
    } else if (model.vit_config) {
      result.config = *model.vit_config;
    } else if (model.encoder_decoder) {
      result.config = model.encoder_decoder->config();
    } else {
      throw FormatError(
          fmt::format("{} holds a {} (model_type \"{}\"): no training starts from such a model",
                      path, model.architecture, model.model_type));
    }
  }
  result.about = fmt::format("a {} (model_type \"{}\")", model.architecture, model.model_type);
  result.weights = weights_of(graph, *hf::load_weights(model, graph, folder));
  result.tokenizer = read_tokenizer(path);
  if (const auto* vit = std::get_if<VitConfig>(&result.config)) {
    const std::string about = path + "/preprocessor_config.json";
    if (fs::exists(about)) result.normalisation = read_normalisation(about, vit->channels);
  }
  return result;
}

FamilyConfig read_config(const Attachment& part, const std::string& path) {
  if (part.type == "weft.config.gpt") return GptConfig::from_json(part.bytes);
  if (part.type == "weft.config.encoder") return EncoderConfig::from_json(part.bytes);
  if (part.type == "weft.config.encoder_decoder")
    return EncoderDecoderConfig::from_json(part.bytes);
  if (part.type == "weft.config.vit") return VitConfig::from_json(part.bytes);
  throw FormatError(
      fmt::format("{} holds no trained model: its configuration is a '{}'", path, part.type));
}

Pretrained read_file(const std::string& path) {
  const Checkpoint file = load_checkpoint(path, {.verify = true});
  const auto find = [&](const char* name) { return file.find_attachment(name); };
  const Attachment* config = find(kConfigPart);
  if (config == nullptr) {
    throw FormatError(fmt::format(
        "{} holds no trained model: it lacks the attachment '{}' (weft train writes it)", path,
        kConfigPart));
  }
  if (find("train.lora") != nullptr) {
    throw ArgumentError(fmt::format(
        "the model in {} has adapters: merge them into its weights first (weft merge)", path));
  }
  if (is_quantized(file.graph())) {
    throw ArgumentError(fmt::format(
        "the weights in {} were quantised: start from the file that it was made from", path));
  }
  Pretrained result{.source = path,
                    .about = fmt::format("a model of the task {}", task_of(file)),
                    .config = read_config(*config, path)};
  const auto store = file.store();
  check_finite(*store, path);
  result.weights = weights_of(file.graph(), *store);
  if (const Attachment* tokenizer = find(kTokenizerPart)) result.tokenizer = *tokenizer;
  if (const Attachment* classes = find(kClassesPart))
    result.classes = PartValue<std::vector<std::string>>::read(*classes);
  if (const Attachment* images = find("model.images")) {
    ImageInfo info = ImageInfo::from_json(images->bytes);
    result.classes = std::move(info.classes);
    result.normalisation = std::move(info.normalisation);
  }
  return result;
}

}  // namespace

std::string_view family_name(const FamilyConfig& config) { return kFamilies[config.index()]; }

void Pretrained::wrong_family(std::string_view wanted) const {
  throw FormatError(fmt::format("{} holds {}, which is {} {}, not {} {}", source, about,
                                config.index() == 1 || config.index() == 2 ? "an" : "a",
                                family_name(config), wanted.starts_with('e') ? "an" : "a", wanted));
}

const Attachment& Pretrained::tokenizer_part() const {
  if (tokenizer) return *tokenizer;
  throw FormatError(fmt::format(
      "{} has no tokenizer that Weft reads: it holds {}; a byte-pair model of SentencePiece is "
      "wanted, as one of {}",
      source, other_tokenizers(source), fmt::join(kPieceFiles, ", ")));
}

Pretrained load_pretrained(const std::string& path) {
  return fs::is_directory(path) ? read_folder(path) : read_file(path);
}

}  // namespace weft
