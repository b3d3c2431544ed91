// Trained models as folders of Hugging Face's library: what a task says of its model, and how that
// is written.
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

/// A model as the library has it.
struct FolderModel {
  hf::LibraryModel library;  // without weights
  /// What becomes of the model's weights; nothing: they are the library's.
  std::function<TensorMap(TensorMap)> weights = {};
  std::optional<Tokenizer> tokenizer = {};
  std::int64_t longest = 0;  // most tokens of a text
  /// Of models that write texts.
  struct Writing {
    std::int64_t start_id = -1;  // what the decoder starts from; -1: it goes on with a text
    std::optional<GenerationSettings> settings = {};  // nothing: of a model that Weft trained
  };
  std::optional<Writing> writing = {};
  std::optional<ChatFormat> chat = {};
  std::optional<ImageNormalisation> normalisation = {};
  /// Files besides, by name.
  std::map<std::string, std::string> more = {};
  /// What is not written, for people.
  std::vector<std::string> notes = {};
};

/// What all encoders have in common.
template <class Model>
FolderModel encoder_folder(const Model& model, const std::vector<std::string>& endings) {
  FolderModel folder;
  folder.library.family = model.config;
  folder.library.endings = endings;
  folder.tokenizer = model.tokenizer;
  folder.longest = model.config.longest_row();
  return folder;
}

/// Heads of a folder are those of its class: throws ArgumentError where a file, of an earlier
/// version, does not say which that was.
void require_origin(const TrainedModel& model);

struct FolderOptions {
  bool force = false;  // as hf::check_folder_place()
};

/// What was written.
struct FolderReport {
  std::string architecture;        // "BertForMaskedLM"
  std::vector<std::string> notes;  // what people should know: mostly nothing
};

/// Writes what a task said of `model`; throws as save_folder().
FolderReport write_folder(const std::string& path, const TrainedModel& model, FolderModel folder,
                          const FolderOptions& options);

}  // namespace weft
