// Texts as documents of sentences: what pre-training on pairs of sentences reads.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace weft {

/// Sentences in order.
using TextDocument = std::vector<std::string>;

/// Reads UTF-8 files with a sentence per line; a blank line ends a document (the format that BERT's
/// and ALBERT's pre-training read), and so does the end of a file. Throws IoError.
std::vector<TextDocument> read_documents(std::span<const std::string> paths);

}  // namespace weft
