// A folder for the files of a test.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "weft/core/export.h"

namespace WEFT_API weft {
namespace testing {

/// An empty folder of its own below the system's folder for temporary files, which goes, with all
/// that is in it, when the object does.
class TemporaryFolder {
 public:
  /// `name` becomes a part of the folder's name. Throws IoError where it cannot be made.
  explicit TemporaryFolder(std::string_view name = "test");
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  /// The path of a file in it; of the folder itself for no name.
  std::string path(std::string_view name = {}) const;
  std::string operator/(std::string_view name) const { return path(name); }
  /// How many files and folders lie directly in it.
  std::size_t files() const;
  /// Writes a file, with the folders above it, and gives its path. Throws IoError.
  std::string write(std::string_view name, std::string_view bytes) const;

 private:
  std::filesystem::path path_;
};

}  // namespace testing
}  // namespace weft
