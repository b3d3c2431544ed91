#include "weft/models/text/tokenizers/tokenizer_folder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"
#include "weft/models/text/tokenizers/formats/class_settings.h"
#include "weft/models/text/tokenizers/formats/folder_settings.h"
#include "weft/models/text/tokenizers/formats/merges_folder.h"
#include "weft/models/text/tokenizers/formats/sentence_piece_folder.h"
#include "weft/models/text/tokenizers/formats/text_files.h"
#include "weft/models/text/tokenizers/formats/tokenizer_json.h"

namespace weft {
namespace {

/// Adds those tokens from the folder's settings that `parts` does not contain yet.
SubwordParts with_added(SubwordParts parts, const FolderSettings& folder) {
  const std::size_t before = parts.added.size();
  for (const AddedToken& token : folder.added()) {
    const auto same = [&](const AddedToken& other) { return other.content == token.content; };
    if (std::none_of(parts.added.begin(), parts.added.begin() + static_cast<std::ptrdiff_t>(before),
                     same))
      parts.added.push_back(token);
  }
  return parts;
}

SubwordParts read_merges(const FolderSettings& folder) {
  return with_added(read_merges_folder(folder), folder);
}

SubwordParts read_bert(const FolderSettings& folder) {
  const std::string name = folder.tokenizer_class();
  if (!name.empty() && !is_bert_class(name)) {
    throw FormatError(fmt::format(
        "unsupported tokenizer class {} for vocab.txt; supported are {} (or add a tokenizer.json, "
        "which Hugging Face's library can write for every class)",
        excerpt(name), fmt::join(bert_classes(), ", ")));
  }
  BertSettings settings;
  settings.lowercase = folder.value<bool>("do_lower_case").value_or(settings.lowercase);
  settings.strip_accents = folder.value<bool>("strip_accents");
  settings.tokenize_chinese_chars =
      folder.value<bool>("tokenize_chinese_chars").value_or(settings.tokenize_chinese_chars);
  return with_added(read_bert_files(folder.read("vocab.txt"), settings), folder);
}

SubwordParts read_json_file(const FolderSettings& folder) {
  return with_class_settings(read_tokenizer_json(folder.read("tokenizer.json"), "tokenizer.json"),
                             folder);
}

/// Reads a tokenizer with `kRead` and sets the special ids according to the folder's settings.
template <SubwordParts (*kRead)(const FolderSettings&)>
Tokenizer read_subwords(const FolderSettings& folder, const char*) {
  SubwordParts parts = kRead(folder);
  for (const auto& [name, id] : kSpecialIds) {
    const std::optional<std::string> text = folder.token(fmt::format("{}_token", name));
    if (!text) continue;
    parts.special.*id = parts.model->find(*text);
    for (const AddedToken& token : parts.added)
      if (token.content == *text) parts.special.*id = token.id;
  }
  return SubwordTokenizer(std::make_shared<const SubwordPipeline>(std::move(parts)));
}

Tokenizer read_pieces(const FolderSettings& folder, const char* file) {
  return read_sentence_piece_folder(folder, file);
}

/// A set of files that together define a tokenizer, and the function that reads these files.
struct Layout {
  std::vector<const char*> files;
  Tokenizer (*read)(const FolderSettings& folder, const char* first);
};
const std::array<Layout, 8>& layouts() {
  static const std::array<Layout, 8> all = {
      Layout{{"tokenizer.json"}, read_subwords<read_json_file>},
      Layout{{"vocab.json", "merges.txt"}, read_subwords<read_merges>},
      Layout{{"vocab.txt"}, read_subwords<read_bert>},
      // File names that Hugging Face's transformers library uses for SentencePiece models, which
      // depend on the model family.
      Layout{{"spiece.model"}, read_pieces}, Layout{{"spm.model"}, read_pieces},
      Layout{{"sentencepiece.bpe.model"}, read_pieces}, Layout{{"tokenizer.model"}, read_pieces},
      Layout{{"source.spm"}, read_pieces}};
  return all;
}

}  // namespace

FolderTokenizer read_tokenizer_folder(const ModelPath& from) {
  const std::string& folder = from.path;
  std::vector<std::string> known;
  for (const Layout& layout : layouts()) {
    known.push_back(fmt::format("{}", fmt::join(layout.files, " with ")));
    const bool all = std::all_of(layout.files.begin(), layout.files.end(), [&](const char* name) {
      return std::filesystem::exists(std::filesystem::path(folder) / name);
    });
    if (!all) continue;
    // Use the first complete layout only, because other layouts may define different ids.
    try {
      return {layout.read(FolderSettings(from), layout.files.front())};
    } catch (const FormatError& e) {
      return {std::nullopt, fmt::format("{}: {}", folder, e.what())};
    }
  }
  return {std::nullopt, fmt::format("{} has no tokenizer: it contains none of {}", folder,
                                    fmt::join(known, ", "))};
}

}  // namespace weft
