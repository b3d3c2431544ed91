// Texts as documents of sentences: what pre-training on pairs of sentences reads.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Sentences in order.
using TextDocument = std::vector<std::string>;

/// Reads UTF-8 files with a sentence per line; a blank line ends a document (the format that BERT's
/// and ALBERT's pre-training read), and so does the end of a file. Throws IoError,
/// DataError where no file has any.
std::vector<TextDocument> read_documents(std::span<const std::string> paths);
/// Reads files with a text per line, each a document of its own. Throws as read_documents().
std::vector<TextDocument> read_single_texts(std::span<const std::string> paths);

/// All sentences in order.
std::vector<std::string> sentences(std::span<const TextDocument> documents);

/// What is trained on and what validates: every so many-th document does, so that documents of all
/// files do; `fraction` is in [0, 1).
struct DocumentSplit {
  std::vector<TextDocument> train, validation;
};
DocumentSplit split_documents(std::vector<TextDocument> documents, double fraction);

}  // namespace weft
