#include "weft/models/program/files/data_digest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <vector>

#include "weft/core/error.h"
#include "weft/models/program/options/options.h"
#include "weft/models/text/tokens/token_sources.h"
#include "weft/serialization/files/crc32c.h"
#include "weft/serialization/files/temporary_files.h"

namespace weft::program {
namespace {

namespace fs = std::filesystem;

/// Returns the size and CRC-32C of a file, "file 1234 9ae3f102", or an empty string if it cannot be
/// read.
std::string file_fingerprint(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> block(std::size_t{1} << 20);
  std::uint32_t crc = 0;
  std::uint64_t bytes = 0;
  while (file) {
    file.read(block.data(), static_cast<std::streamsize>(block.size()));
    const auto count = static_cast<std::size_t>(file.gcount());
    crc = crc32c(block.data(), count, crc);
    bytes += count;
  }
  return file.eof() ? fmt::format("file {} {:08x}\n", bytes, crc) : "";
}

/// Covers only file names and sizes, because a folder may contain a million images.
std::string folder_fingerprint(const fs::path& folder) {
  std::vector<std::string> lines;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    std::error_code ignored;
    const std::string ending = it->path().extension().string();
    // A training run may write its own files into its data folder.
    if (!it->is_regular_file(ignored) || ending == ".weft" || ending == ".svg" ||
        target_of_temporary(it->path().filename().string()))
      continue;
    const auto size = it->file_size(ignored);
    lines.push_back(fmt::format("{} {}\n", it->path().lexically_relative(folder).string(), size));
  }
  if (error) return "";
  std::sort(lines.begin(), lines.end());
  std::string all;
  for (const std::string& line : lines) all += line;
  return fmt::format("folder {} {:08x}\n", lines.size(), crc32c(all.data(), all.size()));
}

/// Covers the whole set through its checksums, without reading the ids, which may not fit into
/// memory.
std::string tokens_fingerprint(const std::string& given) {
  try {
    const SourceName source = parse_source(given);
    const std::string weight = source.weight ? fmt::format(" {}", *source.weight) : "";
    return fmt::format("tokens {}{}\n", TokenSet::open(source.path).fingerprint(), weight);
  } catch (const Error&) {
    return "";
  }
}

}  // namespace

std::string data_digest(const CLI::App& command, const std::set<std::string>& excluded) {
  std::string words;
  for (const GivenOption& option : given_options(command)) {
    if (option.type != kInputType || excluded.contains(option.name)) continue;
    for (const std::string& path : option.values) {
      std::error_code error;
      const fs::file_status status = fs::status(path, error);
      const std::string fingerprint = names_token_set(path)         ? tokens_fingerprint(path)
                                      : fs::is_regular_file(status) ? file_fingerprint(path)
                                      : fs::is_directory(status)    ? folder_fingerprint(path)
                                                                    : "";
      if (fingerprint.empty()) return "";
      words += option.name + " " + fingerprint;
    }
  }
  return words.empty() ? "" : fmt::format("{:08x}", crc32c(words.data(), words.size()));
}

}  // namespace weft::program
