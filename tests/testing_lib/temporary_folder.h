// A temporary folder for test files.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "weft/core/export.h"

namespace WEFT_API weft {
namespace testing {

/// A new, empty folder below the system's temporary folder. The destructor removes the folder and
/// everything in it.
class TemporaryFolder {
 public:
  /// The folder's name contains `name`. Throws IoError if the folder cannot be created.
  explicit TemporaryFolder(std::string_view name = "test");
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  /// Returns the path of the file `name` in the folder, or the path of the folder itself if `name`
  /// is empty.
  std::string path(std::string_view name = {}) const;
  std::string operator/(std::string_view name) const { return path(name); }
  /// Returns the number of files and folders directly in this folder.
  std::size_t files() const;
  /// Writes a file, including any missing parent folders, and returns its path. Throws IoError on
  /// failure.
  std::string write(std::string_view name, std::string_view bytes) const;

 private:
  std::filesystem::path path_;
};

}  // namespace testing
}  // namespace weft
