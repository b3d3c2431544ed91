// A folder for the files of a test.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace weft::testing {

/// A folder that goes with the object. Several of one name are different folders.
class Folder {
 public:
  explicit Folder(const std::string& name) {
    static std::atomic<int> next{0};
    path_ = std::filesystem::temp_directory_path() /
            fmt::format("weft_{}_{}_{}", name, getpid(), next++);
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string path(const std::string& name = {}) const { return (path_ / name).string(); }
  /// Writes a file, folders above it included, and gives its path.
  std::string write(const std::string& name, std::string_view bytes) const {
    const std::filesystem::path file = path_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << bytes;
    return file.string();
  }

 private:
  std::filesystem::path path_;
};

}  // namespace weft::testing
