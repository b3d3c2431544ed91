#include "weft/testing/temporary_folder.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "weft/core/error.h"

namespace weft::testing {

TemporaryFolder::TemporaryFolder(std::string_view name) {
  std::string made =
      (std::filesystem::temp_directory_path() / fmt::format("weft_{}_XXXXXX", name)).string();
  if (mkdtemp(made.data()) == nullptr) {
    throw IoError(fmt::format("cannot create the folder {}: {}", made, std::strerror(errno)));
  }
  path_ = made;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TemporaryFolder::path(std::string_view name) const {
  return name.empty() ? path_.string() : (path_ / name).string();
}

std::size_t TemporaryFolder::files() const {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path_),
                                                std::filesystem::directory_iterator()));
}

std::string TemporaryFolder::write(std::string_view name, std::string_view bytes) const {
  const std::filesystem::path file = path_ / name;
  std::filesystem::create_directories(file.parent_path());
  std::ofstream out(file, std::ios::binary);
  out << bytes;
  if (!out.flush()) throw IoError(fmt::format("cannot write {}", file.string()));
  return file.string();
}

}  // namespace weft::testing
