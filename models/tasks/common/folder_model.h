// Export of trained models to Hugging Face folders: the description that a task returns for its
// model, and the function that writes it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "weft/core/error.h"
#include "weft/models/chat/chat_format.h"
#include "weft/models/generate/settings.h"
#include "weft/models/hf/export.h"
#include "weft/models/tokenizers/tokenizer.h"
#include "weft/models/trained/image_normalisation.h"
#include "weft/models/trained/model.h"

namespace WEFT_API weft {

/// A model in Hugging Face layout, ready to be written as a folder.
struct FolderModel {
  /// Without weights: write_folder() adds them.
  hf::ModelToExport library;
  /// Converts the weights of the model to those of its transformers class; empty if they are the
  /// same.
  std::function<TensorMap(TensorMap)> weights = {};
  std::optional<Tokenizer> tokenizer = {};
  /// Maximum number of tokens of a text.
  std::int64_t longest = 0;
  /// For models that generate text.
  struct Writing {
    /// The start id of the decoder; -1 if the output continues the prompt.
    std::int64_t start_id = -1;
    /// Empty for models that Weft trained.
    std::optional<GenerationSettings> settings = {};
  };
  std::optional<Writing> writing = {};
  std::optional<ChatFormat> chat = {};
  std::optional<ImageNormalisation> normalisation = {};
  /// Additional files: contents by name.
  std::map<std::string, std::string> more = {};
  /// Messages for users about parts of the model that are not written.
  std::vector<std::string> notes = {};
};

/// Returns the description that all encoders have in common. `endings`: see hf::ModelToExport.
template <class Model>
FolderModel encoder_folder(const Model& model, const std::vector<std::string>& endings) {
  FolderModel folder;
  folder.library.family = model.config;
  folder.library.endings = endings;
  folder.tokenizer = model.tokenizer;
  folder.longest = model.config.max_tokens();
  return folder;
}

/// Throws ArgumentError if the model does not record which folder it came from, as in files of
/// earlier versions. The class of that folder determines the class of the head.
void require_origin(const TrainedModel& model);

struct FolderOptions {
  bool force = false;  // see hf::check_folder_target()
};

/// The result of writing a folder.
struct FolderReport {
  std::string architecture;        // "BertForMaskedLM"
  std::vector<std::string> notes;  // messages for users; usually empty
};

/// Writes `folder`, the description of `model` by its task, to `path`. Throws the same exceptions
/// as save_folder().
FolderReport write_folder(const std::string& path, const TrainedModel& model, FolderModel folder,
                          const FolderOptions& options);

}  // namespace weft
