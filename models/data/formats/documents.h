// Reads documents that consist of sentences, for pre-training on sentence pairs.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// The sentences of a document, in order.
using TextDocument = std::vector<std::string>;

/// Reads UTF-8 files with one sentence per line. A blank line or the end of a file ends a document,
/// as in the pre-training data of BERT and ALBERT. Throws IoError. Throws DataError if no file
/// contains any text.
std::vector<TextDocument> read_documents(std::span<const std::string> paths);
/// Reads files with one text per line. Each line is a document. Throws the same errors as
/// read_documents().
std::vector<TextDocument> read_single_texts(std::span<const std::string> paths);

/// Returns the sentences of all documents, in order.
std::vector<std::string> sentences(std::span<const TextDocument> documents);

/// A split of documents into training and validation data.
struct DocumentSplit {
  std::vector<TextDocument> train, validation;
};
/// Assigns every (1 / `fraction`)-th document to validation, so that documents from all files are
/// held out. `fraction` must be in [0, 1).
DocumentSplit split_documents(std::vector<TextDocument> documents, double fraction);

}  // namespace weft
