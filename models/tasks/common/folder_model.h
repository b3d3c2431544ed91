// Export of trained models to Hugging Face folders: FolderModel, which a task returns for its
// model, and the function that writes it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "weft/core/error.h"
#include "weft/models/generate/settings.h"
#include "weft/models/hf/export.h"
#include "weft/models/inputs/image_info.h"
#include "weft/models/text/chat/chat_format.h"
#include "weft/models/text/tokenizers/tokenizer.h"
#include "weft/models/training/model.h"

namespace WEFT_API weft {

/// A model in Hugging Face layout, ready to be written as a folder.
struct FolderModel {
  /// Does not include the weights, which write_folder() adds.
  hf::ModelToExport library;
  /// Converts the model's weights to the weights of the transformers class. Empty if they are
  /// identical.
  std::function<TensorMap(TensorMap)> weights = {};
  std::optional<Tokenizer> tokenizer = {};
  /// Maximum number of tokens per text.
  std::int64_t longest = 0;
  /// Settings for models that generate text.
  struct Writing {
    /// Start id of the decoder; -1 if outputs continue the prompt.
    std::int64_t start_id = -1;
    /// Empty for models trained by Weft.
    std::optional<GenerationSettings> settings = {};
  };
  std::optional<Writing> writing = {};
  std::optional<ChatFormat> chat = {};
  /// Preprocessing of images; the classes are in `library`.
  std::optional<ImageInfo> images = {};
  /// Additional files: file contents by name.
  std::map<std::string, std::string> more = {};
  /// Weights that are not part of the transformers model: a file name by the prefix of their names,
  /// which is removed in that file.
  std::map<std::string, std::string> weight_files = {};
  /// Notes for users on parts of the model that are not written to the folder.
  std::vector<std::string> notes = {};
};

/// Returns a FolderModel with the fields that are common to all encoders. For `endings`, see
/// hf::ModelToExport.
template <class Model>
FolderModel encoder_folder(const Model& model, const std::vector<std::string>& endings) {
  FolderModel folder;
  folder.library.family = model.config;
  folder.library.endings = endings;
  folder.tokenizer = model.tokenizer;
  folder.longest = model.config.max_tokens();
  return folder;
}

/// Throws ArgumentError if the model does not record its original folder, as in files written by
/// earlier versions. The model class in that folder determines the class of the head.
void require_origin(const TrainedModel& model);

struct FolderOptions {
  bool force = false;  // see hf::check_folder_target()
};

/// The result of writing a folder.
struct FolderReport {
  std::string architecture;        // "BertForMaskedLM"
  std::vector<std::string> notes;  // notes for users; usually empty
};

/// Writes `model` to `path`. `folder` is the result of Task::to_folder() for `model`. Throws the
/// same exceptions as save_folder().
FolderReport write_folder(const std::string& path, const TrainedModel& model, FolderModel folder,
                          const FolderOptions& options);

}  // namespace weft
