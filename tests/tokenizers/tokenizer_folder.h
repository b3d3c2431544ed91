// A temporary folder for tokenizer files.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace weft::testing {

/// A temporary folder that is removed by the destructor.
class TokenizerFolder {
 public:
  explicit TokenizerFolder(const std::string& name = "pieces")
      : path_(std::filesystem::temp_directory_path() /
              fmt::format("weft_tokenizer_{}_{}", name, getpid())) {
    std::filesystem::create_directories(path_);
  }
  TokenizerFolder(const TokenizerFolder&) = delete;
  TokenizerFolder& operator=(const TokenizerFolder&) = delete;
  ~TokenizerFolder() { std::filesystem::remove_all(path_); }

  std::string path() const { return path_.string(); }
  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
  }
  void remove(const std::string& name) const { std::filesystem::remove(path_ / name); }

 private:
  std::filesystem::path path_;
};

}  // namespace weft::testing
