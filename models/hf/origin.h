// What models keep of the folder that they came from.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "weft/core/export.h"

namespace WEFT_API weft {
namespace hf {

struct Folder;

/// The small files of a folder of Hugging Face's library, as they were: config.json, and what is
/// said of tokenizer, generation and images. What Weft has no field for is in none of a model's
/// other parts; who writes the model back as a folder finds it here.
struct FolderOrigin {
  std::map<std::string, std::string> files = {};  // by name

  /// The text of a file, or "" where the folder had none.
  const std::string& text(const std::string& name) const;
  /// {"config.json": "...", ...}.
  std::string to_json() const;
  /// Throws FormatError.
  static FolderOrigin from_json(std::string_view json);
  friend bool operator==(const FolderOrigin&, const FolderOrigin&) = default;
};

/// Throws IoError.
FolderOrigin read_origin(const Folder& folder);

}  // namespace hf
}  // namespace weft
