// The files of a collection of texts.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/core/export.h"
#include "weft/models/data/corpus/document_reader.h"
#include "weft/models/fields/choice.h"

namespace WEFT_API weft {

enum class CorpusFormat : std::uint8_t { text, jsonl };
/// "text", "jsonl".
ChoiceNames choice_names(CorpusFormat);

struct CorpusFile {
  std::string path;
  CorpusFormat format;
  std::uint64_t bytes = 0;  // packed as they are
};

/// The files that `paths` name, in their order; of a folder all inside of it, by name, but hidden
/// ones. Without `format` a name says it: .jsonl and .ndjson are JSON, all other files that are
/// named text; of a folder only these, .txt, .text and .md are taken. Behind any of them .gz and
/// .zst may stand. Throws IoError for what is not there, DataError for a folder without any.
std::vector<CorpusFile> find_corpus_files(std::span<const std::string> paths,
                                          std::optional<CorpusFormat> format = {});

/// How documents are found in files.
struct CorpusOptions {
  DocumentEnd end = DocumentEnd::file;  // of text
  std::string field = "text";           // of JSON objects
};
std::unique_ptr<DocumentReader> open_corpus_file(const CorpusFile& file,
                                                 const CorpusOptions& options);

}  // namespace weft
