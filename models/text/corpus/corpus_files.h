// Finds and opens the files of a text corpus.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/core/export.h"
#include "weft/models/fields/choice.h"
#include "weft/models/text/corpus/document_reader.h"

namespace WEFT_API weft {

enum class CorpusFormat : std::uint8_t { text, jsonl };
/// The names are "text" and "jsonl".
ChoiceNames choice_names(CorpusFormat);

struct CorpusFile {
  std::string path;
  CorpusFormat format;
  std::uint64_t bytes = 0;  // size of the file as stored
};

/// Returns the files that `paths` refer to, in the given order. A folder stands for all files in it
/// and in its subfolders, sorted by name, except hidden files. If `format` is not given, it depends
/// on the extension: .jsonl and .ndjson files are JSON Lines, and all other files are text. In
/// folders, only text files with the extensions .txt, .text and .md are then read; other files are
/// skipped. Each extension may be followed by .gz or .zst. Throws IoError if a path does not exist.
/// Throws DataError if a folder contains no suitable files.
std::vector<CorpusFile> find_corpus_files(std::span<const std::string> paths,
                                          std::optional<CorpusFormat> format = {});

/// How files are split into documents.
struct CorpusOptions {
  DocumentEnd end = DocumentEnd::file;  // for text files
  std::string field = "text";           // for JSON Lines: the field that contains the document
};
/// Opens a file with read_text_documents() or read_jsonl_documents(), depending on its format.
std::unique_ptr<DocumentReader> open_corpus_file(const CorpusFile& file,
                                                 const CorpusOptions& options);

}  // namespace weft
