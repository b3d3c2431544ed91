// Files from a model's original Hugging Face folder that are kept with the model.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "weft/core/export.h"

namespace WEFT_API weft {
namespace hf {

struct Folder;

/// Unchanged copies of the small files in a Hugging Face folder: config.json, and the settings for
/// tokenization, generation, image processing and text vectors (Sentence Transformers; modules.json
/// is adapted to a folder in which the transformers model is not in a subfolder). They preserve
/// settings that have no corresponding Weft field, so that these can be written when the model is
/// exported to a folder again.
struct FolderOrigin {
  std::map<std::string, std::string> files = {};  // file contents by file name

  /// Returns the contents of a file, or "" if the folder did not contain it.
  const std::string& text(const std::string& name) const;
  /// Returns a JSON object such as {"config.json": "...", ...}.
  std::string to_json() const;
  /// Inverse of to_json(). Throws FormatError if `json` is invalid.
  static FolderOrigin from_json(std::string_view json);
  friend bool operator==(const FolderOrigin&, const FolderOrigin&) = default;
};

/// Reads the small files in a folder. Throws IoError if a file cannot be read.
FolderOrigin read_origin(const Folder& folder);

}  // namespace hf
}  // namespace weft
