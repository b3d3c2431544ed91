// Utilities for tests of training on texts: a temporary folder and a check of error messages.
#pragma once

#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

namespace weft {

class TextFiles {
 public:
  explicit TextFiles(const std::string& name)
      : folder_(std::filesystem::temp_directory_path() /
                ("weft_" + name + "_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~TextFiles() { std::filesystem::remove_all(folder_); }
  TextFiles(const TextFiles&) = delete;
  TextFiles& operator=(const TextFiles&) = delete;

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  /// Writes a file and returns its path.
  std::string write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }

 private:
  std::filesystem::path folder_;
};

template <class E>
void check_error_message(const std::function<void()>& run, const std::string& part) {
  BOOST_CHECK_EXCEPTION(run(), E, [&](const E& e) {
    const bool found = std::string(e.what()).find(part) != std::string::npos;
    if (!found) BOOST_TEST_MESSAGE(e.what());
    return found;
  });
}

}  // namespace weft
