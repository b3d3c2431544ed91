#include "weft/models/tasks/common/folder_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "weft/core/error.h"
#include "weft/graph/weights/quantize.h"
#include "weft/models/hf/folder_target.h"
#include "weft/models/hf/generation_config.h"
#include "weft/models/inputs/preprocessor.h"
#include "weft/models/tasks/common/image_data.h"
#include "weft/models/text/tokenizers/folder_files.h"
#include "weft/models/text/tokenizers/tokenizer_folder.h"
#include "weft/models/training/weights.h"
#include "weft/serialization/files/atomic_folder.h"
#include "weft/serialization/safetensors.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kGenerationFile = "generation_config.json";
constexpr const char* kTokenizerFile = "tokenizer_config.json";

/// Writes one folder. Files from the model's original folder are kept if they still describe the
/// model.
class FolderWriter {
 public:
  FolderWriter(const std::string& path, const TrainedModel& model, FolderModel& folder,
               const hf::ExportedModel& exported)
      : target_(path), folder_(folder), exported_(exported) {
    if (model.origin) origin_ = *model.origin;
  }

  /// `more_weights` contains the tensors of additional files by file name.
  void write(FolderReport& report, const std::map<std::string, TensorMap>& more_weights) {
    target_.write("config.json", exported_.config);
    if (folder_.tokenizer) write_tokenizer(report);
    if (folder_.chat) write_chat();
    if (folder_.writing) write_generation();
    if (folder_.images) write_preprocessor(report);
    for (const auto& [name, text] : folder_.more) target_.write(name, text);
    for (const auto& [name, tensors] : more_weights) {
      const fs::path file = fs::path(target_.place()) / name;
      fs::create_directories(file.parent_path());
      write_safetensors(file.string(), tensors, {{"format", "pt"}});
    }
    write_safetensors((fs::path(target_.place()) / "model.safetensors").string(), exported_.weights,
                      {{"format", "pt"}});
    target_.commit();
  }

 private:
  /// Writes the tokenizer. Settings from its original folder are kept if reading them back produces
  /// the same tokenizer.
  void write_tokenizer(FolderReport& report) {
    std::string missing;
    for (const KeptSettings kept :
         {KeptSettings::as_they_are, KeptSettings::with_names, KeptSettings::none}) {
      const TokenizerFiles made =
          tokenizer_files(*folder_.tokenizer, origin_.files, kept, exported_.type, folder_.longest);
      for (const auto& [name, text] : made.files) target_.write(name, text);
      const FolderTokenizer read = read_tokenizer_folder(target_.place());
      if (read.tokenizer && is_same(*read.tokenizer)) {
        if (!made.note.empty()) report.notes.push_back(made.note);
        return;
      }
      missing = read.missing;
      for (const auto& [name, text] : made.files) fs::remove(fs::path(target_.place()) / name);
    }
    throw ArgumentError(fmt::format(
        "the tokenizer cannot be written: {}",
        missing.empty() ? "the exported tokenizer would produce different ids" : missing));
  }

  bool is_same(const Tokenizer& read) const {
    const Tokenizer& wanted = *folder_.tokenizer;
    if (!wanted.reads_characters())
      return read.type() == wanted.type() && read.bytes() == wanted.bytes();
    // A character tokenizer is stored as a word-level tokenizer in folders, so compare the pieces.
    bool same = read.vocab_size() == wanted.vocab_size();
    for (std::int32_t id = 0; same && id < wanted.vocab_size(); ++id)
      same = read.piece(id) == wanted.piece(id);
    return same;
  }

  void write_chat() {
    for (const char* name : {"chat_template.jinja", "chat_template.json"}) {
      if (!origin_.text(name).empty()) target_.write(name, origin_.text(name));
    }
    const std::string& source = folder_.chat->source();
    const auto found = read_chat_format(target_.place()).format;
    if (found && found->source() == source) return;
    for (const char* name : {"chat_template.jinja", "chat_template.json"})
      fs::remove(fs::path(target_.place()) / name);
    const hf::Folder read{target_.place(), exported_.config, {}};
    json config = json::parse(hf::read_origin(read).text(kTokenizerFile));
    config["chat_template"] = source;
    target_.write(kTokenizerFile, config.dump(2) + "\n");
  }

  void write_generation() {
    const FolderModel::Writing& writing = *folder_.writing;
    hf::GenerationConfig wanted;
    wanted.start_id = writing.start_id;
    if (const auto& settings = writing.settings) {
      wanted.options = settings->options;
      wanted.states_length = settings->states_length;
      wanted.speech = settings->speech;
      wanted.start_id = settings->start.empty() ? -1 : settings->start.front();
      const std::string& kept = origin_.text(kGenerationFile);
      if (is_same(hf::generation_config(exported_.config, kept), wanted)) {
        if (!kept.empty()) target_.write(kGenerationFile, kept);
        return;
      }
    } else if (folder_.tokenizer) {
      // The end and padding ids that Weft used in training.
      wanted.options.eos_id = folder_.tokenizer->eos_id();
      wanted.options.pad_id = std::max(folder_.tokenizer->pad_id(), 0);
      // The padding id, which is also the decoder's start id, is never generated by Weft.
      if (writing.start_id >= 0) wanted.options.bad_token_ids = {wanted.options.pad_id};
    }
    wanted.bos_id = bos_id();
    const std::string text = hf::generation_config_json(wanted);
    if (writing.settings && !is_same(hf::generation_config(exported_.config, text), wanted)) {
      throw ArgumentError(
          "the generation settings cannot be written: generation_config.json lacks keys for some "
          "of them");
    }
    target_.write(kGenerationFile, text);
  }

  /// Returns the id with which a decoder starts if there is no prompt. If the tokenizer has no id
  /// for the start of a text, Weft uses another id (Tokenizer::start_ids()).
  std::int64_t bos_id() const {
    const FolderModel::Writing& writing = *folder_.writing;
    if (writing.settings && writing.settings->bos_id) return *writing.settings->bos_id;
    if (!folder_.tokenizer) return -1;
    if (folder_.tokenizer->bos_id() >= 0 || writing.start_id >= 0)
      return folder_.tokenizer->bos_id();
    const std::vector<std::int32_t> first = folder_.tokenizer->start_ids();
    return first.size() == 1 ? first.front() : -1;
  }

  static bool is_same(const hf::GenerationConfig& a, const hf::GenerationConfig& b) {
    const auto text = [](const hf::GenerationConfig& config) {
      return GenerationSettings{.options = config.options,
                                .states_length = config.states_length,
                                .start = {config.start_id},
                                .speech = config.speech}
          .to_json();
    };
    return text(a) == text(b);
  }

  /// Writes the image preprocessing. The file of the original folder is kept if it describes the
  /// same preprocessing.
  void write_preprocessor(FolderReport& report) {
    const ImageInfo& wanted = *folder_.images;
    const FamilyConfig& family = folder_.library.family;
    const auto* both = std::get_if<ImageTextConfig>(&family);
    const ImageSize size = std::holds_alternative<SwinConfig>(family)
                               ? image_size(std::get<SwinConfig>(family))
                           : both != nullptr ? image_size(both->image)
                                             : image_size(std::get<VitConfig>(family));
    if (const std::string& kept = origin_.text(kPreprocessorFile); !kept.empty()) {
      if (is_same(kept_preprocessor(size), wanted)) {
        target_.write(kPreprocessorFile, kept);
        return;
      }
    }
    target_.write(kPreprocessorFile, preprocessor_json(wanted, size));
    if (!wanted.geometry && size.height != size.width) {
      report.notes.push_back(
          "the file was written by an earlier version, which crops pictures to the aspect ratio of "
          "the model; transformers resizes them without cropping");
    }
  }

  /// Returns the preprocessing in the file of the original folder, which may not match the size of
  /// the model any more.
  std::optional<ImageInfo> kept_preprocessor(const ImageSize& size) const {
    try {
      return read_preprocessor(origin_.text(kPreprocessorFile), kPreprocessorFile, exported_.type,
                               size);
    } catch (const Error&) {
      return std::nullopt;
    }
  }

  /// Models in files of earlier versions have no geometry: they keep the file of their folder.
  static bool is_same(const std::optional<ImageInfo>& kept, const ImageInfo& wanted) {
    return kept && kept->normalisation.mean == wanted.normalisation.mean &&
           kept->normalisation.deviation == wanted.normalisation.deviation &&
           (!wanted.geometry || kept->geometry == wanted.geometry);
  }

  AtomicFolder target_;
  FolderModel& folder_;
  const hf::ExportedModel& exported_;
  hf::FolderOrigin origin_;
};

/// Converts weights to bf16 if this does not round them, and sets the dtype in the config. A folder
/// with bf16 weights is thus written with the same bits.
void narrow_weights(hf::ExportedModel& exported, const std::string& base) {
  for (auto& [name, tensor] : exported.weights) {
    if (tensor.dtype() != DType::f32) continue;
    Tensor narrow = tensor.to(DType::bf16);
    if (bitwise_equal(narrow.to(DType::f32), tensor)) tensor = std::move(narrow);
  }
  json config = json::parse(exported.config);
  for (const char* key : {"torch_dtype", "dtype"}) {
    if (config.contains(key)) config[key] = "bfloat16";
  }
  exported.config = !base.empty() && config == json::parse(base) ? base : config.dump(2) + "\n";
}

}  // namespace

void require_origin(const TrainedModel& model) {
  if (model.origin) return;
  throw ArgumentError(
      "the file was written by an earlier version and does not record the original folder of the "
      "model: convert that folder again (weft convert)");
}

FolderReport write_folder(const std::string& path, const TrainedModel& model, FolderModel folder,
                          const FolderOptions& options) {
  hf::check_folder_target(path, options.force);
  if (model.lora)
    throw ArgumentError("the model has adapters: merge them into its weights first (weft merge)");
  check_float_inputs(*model.graph, "Hugging Face folders");
  FolderReport report;
  report.notes = folder.notes;
  const QuantizedWeights stored = quantized_weights(*model.graph);
  const auto is_bf16 = [](const auto& w) { return w.second.format == WeightFormat::bf16; };
  const auto matrices_in_bf16 = std::count_if(stored.begin(), stored.end(), is_bf16);
  const bool quantized = is_quantized(*model.graph);
  const QuantizedModel floats =
      quantized ? dequantize(model.all_programs(), *model.store) : QuantizedModel();
  TensorMap weights =
      quantized ? weights_of(*floats.graph, *floats.store) : weights_of(*model.graph, *model.store);
  if (std::ssize(stored) > matrices_in_bf16) {
    report.notes.push_back(
        fmt::format("{} quantised matrices are written as f32 with their rounded values",
                    std::ssize(stored) - matrices_in_bf16));
  }
  std::map<std::string, TensorMap> more_weights;
  for (const auto& [prefix, file] : folder.weight_files) {
    for (const auto& [name, tensor] : weights) {
      if (name.starts_with(prefix)) more_weights[file][name.substr(prefix.size())] = tensor;
    }
    std::erase_if(weights, [&prefix = prefix](const auto& weight) {
      return weight.first.starts_with(prefix);
    });
  }
  folder.library.weights = folder.weights ? folder.weights(std::move(weights)) : std::move(weights);
  const std::string base = model.origin ? model.origin->text("config.json") : std::string();
  hf::ExportedModel exported = hf::export_model(folder.library, base);
  if (matrices_in_bf16 > 0) narrow_weights(exported, base);
  if (!exported.left_out.empty()) {
    report.notes.push_back(
        fmt::format("settings that affect only training and have no key in a transformers config "
                    "of type \"{}\" are not written: {}",
                    exported.type, fmt::join(exported.left_out, ", ")));
  }
  report.architecture = exported.architecture;
  FolderWriter(path, model, folder, exported).write(report, more_weights);
  return report;
}

}  // namespace weft
