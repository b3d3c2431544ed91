// Finds and opens the files of a text corpus.
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
/// The names are "text" and "jsonl".
ChoiceNames choice_names(CorpusFormat);

struct CorpusFile {
  std::string path;
  CorpusFormat format;
  std::uint64_t bytes = 0;  // size of the file as stored
};

/// Returns the files that `paths` name, in their order. For a folder, these are all files in it and
/// in its subfolders, sorted by name, except hidden ones. If `format` is not given, the extension
/// determines it: .jsonl and .ndjson files are JSON lines, and all other files are text. In
/// folders, text files must then end in .txt, .text or .md; other files are skipped. Each extension
/// may be followed by .gz or .zst. Throws IoError for a path that does not exist, DataError for a
/// folder without suitable files.
std::vector<CorpusFile> find_corpus_files(std::span<const std::string> paths,
                                          std::optional<CorpusFormat> format = {});

/// How files are split into documents.
struct CorpusOptions {
  DocumentEnd end = DocumentEnd::file;  // for text files
  std::string field = "text";           // for JSON lines: the field that contains the document
};
/// Opens a file as read_text_documents() or read_jsonl_documents() does.
std::unique_ptr<DocumentReader> open_corpus_file(const CorpusFile& file,
                                                 const CorpusOptions& options);

}  // namespace weft
