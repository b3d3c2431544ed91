// The files that a model keeps from its original folder.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "weft/core/export.h"

namespace WEFT_API weft {
namespace hf {

struct Folder;

/// Unchanged copies of the small files of a Hugging Face folder: config.json, and the settings of
/// tokenizer, generation and images. They preserve settings that Weft has no field for, so that
/// these can be written when the model is exported to a folder again.
struct FolderOrigin {
  std::map<std::string, std::string> files = {};  // texts by file name

  /// Returns the text of a file, or "" if the folder does not have it.
  const std::string& text(const std::string& name) const;
  /// Returns {"config.json": "...", ...}.
  std::string to_json() const;
  /// Throws FormatError.
  static FolderOrigin from_json(std::string_view json);
  friend bool operator==(const FolderOrigin&, const FolderOrigin&) = default;
};

/// Reads the small files of a folder. Throws IoError.
FolderOrigin read_origin(const Folder& folder);

}  // namespace hf
}  // namespace weft
