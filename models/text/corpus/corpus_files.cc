#include "weft/models/text/corpus/corpus_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "weft/core/error.h"
#include "weft/models/text/corpus/jsonl.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFormats[] = {"text", "jsonl"};
constexpr std::array<std::string_view, 3> kTextEndings = {".txt", ".text", ".md"};
constexpr std::array<std::string_view, 2> kJsonEndings = {".jsonl", ".ndjson"};

/// Returns the format according to the file extension, ignoring .gz and .zst. Returns std::nullopt
/// for unknown extensions.
std::optional<CorpusFormat> format_of(fs::path path) {
  if (path.extension() == ".gz" || path.extension() == ".zst") path.replace_extension();
  const auto ends = [&](const auto& endings) {
    return std::find(endings.begin(), endings.end(), path.extension().string()) != endings.end();
  };
  if (ends(kJsonEndings)) return CorpusFormat::jsonl;
  if (ends(kTextEndings)) return CorpusFormat::text;
  return std::nullopt;
}

[[noreturn]] void throw_io(const fs::path& path, std::string_view why) {
  throw IoError(fmt::format("cannot read {}: {}", path.string(), why));
}

std::vector<fs::path> files_of(const fs::path& folder) {
  std::vector<fs::path> files;
  const auto hidden = [](const fs::path& path) { return path.filename().string().front() == '.'; };
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    std::error_code ignored;
    if (hidden(it->path())) {
      if (it->is_directory(ignored)) it.disable_recursion_pending();
    } else if (it->is_regular_file(ignored)) {
      files.push_back(it->path());
    }
  }
  if (error) throw_io(folder, error.message());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

ChoiceNames choice_names(CorpusFormat) { return {"the format of files", kFormats}; }

std::vector<CorpusFile> find_corpus_files(std::span<const std::string> paths,
                                          std::optional<CorpusFormat> format) {
  std::vector<CorpusFile> found;
  const auto add = [&](const fs::path& path, CorpusFormat by_name) {
    std::error_code error;
    const auto size = fs::is_regular_file(path, error) ? fs::file_size(path, error) : 0;
    found.push_back({path.string(), format.value_or(by_name), size});
  };
  for (const std::string& path : paths) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (!fs::exists(status)) throw_io(path, error ? error.message() : std::strerror(ENOENT));
    if (!fs::is_directory(status)) {
      add(path, format_of(path).value_or(CorpusFormat::text));
      continue;
    }
    const std::size_t before = found.size();
    for (const fs::path& file : files_of(path)) {
      const auto by_name = format_of(file);
      if (format || by_name) add(file, by_name.value_or(CorpusFormat::text));
    }
    if (found.size() == before) {
      throw DataError(
          fmt::format("the folder {} has no file {}", path,
                      format ? "in it"
                             : "that ends in .txt, .text, .md, .jsonl or .ndjson (also with .gz or "
                               ".zst): specify the format of its files"));
    }
  }
  return found;
}

std::unique_ptr<DocumentReader> open_corpus_file(const CorpusFile& file,
                                                 const CorpusOptions& options) {
  return file.format == CorpusFormat::jsonl
             ? read_jsonl_documents(file.path, {.field = options.field})
             : read_text_documents(file.path, options.end);
}

}  // namespace weft
