// Reads and writes test files as bytes.
#pragma once

#include <fstream>
#include <iterator>
#include <string>

#include "weft/testing/temporary_folder.h"

namespace weft::testing {

inline std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

inline void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace weft::testing
