// Files of JSON objects, one on each line, as collections of texts are published.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "weft/models/data/corpus/document_reader.h"

namespace WEFT_API weft {

struct JsonlOptions {
  std::string field = "text";  // of every object: a string
  /// A line is in memory as a whole.
  std::size_t most_line_bytes = std::size_t{64} << 20;
  int most_depth = 64;  // of the values of other fields
};

/// The texts of a file, plain or packed (ByteStream), one document of each object; empty ones are
/// left out. Reading is strict: FormatError with the file, the line and the byte for a line that is
/// no object (an empty one, too), lacks the field, has it twice or as another thing than a string,
/// nests deeper or is longer than `options` says, and for what is not UTF-8.
std::unique_ptr<DocumentReader> read_jsonl_documents(const std::string& path,
                                                     const JsonlOptions& options = {});

}  // namespace weft
