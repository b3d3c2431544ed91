#include "weft/models/hf/origin.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "weft/core/error.h"
#include "weft/models/hf/config/settings_files.h"
#include "weft/models/hf/folder.h"
#include "weft/models/text/unicode/repair.h"
#include "weft/serialization/files/read_file.h"
#include "weft/serialization/files/strict_json.h"

namespace weft::hf {
namespace {

constexpr std::string_view kWhat = "the original model folder";

}  // namespace

const std::string& FolderOrigin::text(const std::string& name) const {
  static const std::string none;
  const auto found = files.find(name);
  return found == files.end() ? none : found->second;
}

std::string FolderOrigin::to_json() const { return nlohmann::json(files).dump(); }

FolderOrigin FolderOrigin::from_json(std::string_view text) {
  FolderOrigin origin;
  const nlohmann::json json = parse_json_object(text, kWhat);
  for (const auto& [name, file] : json.items()) {
    if (!file.is_string()) throw FormatError(fmt::format("{}: '{}' is not a string", kWhat, name));
    origin.files.emplace(name, file.get<std::string>());
  }
  return origin;
}

FolderOrigin read_origin(const Folder& folder) {
  constexpr std::uintmax_t kMostBytes = std::uintmax_t{16} << 20;
  FolderOrigin origin;
  origin.files["config.json"] = folder.config;
  for (const std::string& name : settings_files()) {
    const std::filesystem::path file = std::filesystem::path(folder.path) / name;
    // Missing and oversized files are skipped here. The code that uses their contents reports the
    // errors.
    std::error_code error;
    if (name == "config.json" || !std::filesystem::is_regular_file(file, error) ||
        std::filesystem::file_size(file, error) > kMostBytes || error)
      continue;
    std::string text = name.ends_with(".json") ? folder.text(name) : read_whole_file(file.string());
    if (find_invalid_utf8(text) == text.size()) origin.files[name] = std::move(text);
  }
  return origin;
}

}  // namespace weft::hf
