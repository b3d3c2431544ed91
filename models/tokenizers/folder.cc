#include "weft/models/tokenizers/folder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "weft/core/error.h"
#include "weft/models/tokenizers/formats/sentence_piece_folder.h"
#include "weft/serialization/read_file.h"
#include "weft/serialization/strict_json.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

/// What the library calls a SentencePiece model, by family.
constexpr std::array<const char*, 5> kPieceFiles = {
    "spiece.model", "spm.model", "sentencepiece.bpe.model", "tokenizer.model", "source.spm"};

/// The kind of tokenizer that a tokenizer.json describes.
std::string kind_in_json(const std::string& path) {
  try {
    const nlohmann::json whole = parse_json_object(read_whole_file(path), path);
    const nlohmann::json model = whole.value("model", nlohmann::json::object());
    const std::string type = model.is_object() ? model.value("type", "") : "";
    if (!type.empty()) return fmt::format("a {} tokenizer", type);
  } catch (const FormatError&) {
  } catch (const nlohmann::json::exception&) {
  }
  return "a tokenizer of no known kind";
}

/// What else may hold a tokenizer.
std::string other_tokenizers(const fs::path& folder) {
  std::vector<std::string> found;
  const auto add = [&](const char* name, const std::string& kind) {
    if (fs::exists(folder / name)) found.push_back(fmt::format("{} ({})", name, kind));
  };
  if (const fs::path json = folder / "tokenizer.json"; fs::exists(json))
    add("tokenizer.json", kind_in_json(json.string()));
  add("vocab.txt", "a WordPiece tokenizer");
  add("merges.txt", "a byte-level BPE tokenizer, with vocab.json");
  return found.empty() ? "none" : fmt::format("{}", fmt::join(found, ", "));
}

}  // namespace

FolderTokenizer read_tokenizer_folder(const std::string& folder) {
  std::string unreadable;
  for (const char* name : kPieceFiles) {
    const fs::path file = fs::path(folder) / name;
    if (!fs::exists(file)) continue;
    try {
      return {Tokenizer(read_sentence_piece_folder(folder, file.string()))};
    } catch (const FormatError& e) {
      if (unreadable.empty()) unreadable = fmt::format("{}: {}", file.string(), e.what());
    }
  }
  if (!unreadable.empty()) return {std::nullopt, unreadable};
  return {std::nullopt,
          fmt::format("{} has no tokenizer that Weft reads: it holds {}; a byte-pair model of "
                      "SentencePiece is wanted, as one of {}",
                      folder, other_tokenizers(folder), fmt::join(kPieceFiles, ", "))};
}

}  // namespace weft
