// Reads JSON lines: files with one JSON object per line, the usual format of published corpora.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "weft/models/data/corpus/document_reader.h"

namespace WEFT_API weft {

struct JsonlOptions {
  std::string field = "text";  // the field of each object that contains the document, a string
  /// Maximum size of a line, which is held in memory as a whole.
  std::size_t most_line_bytes = std::size_t{64} << 20;
  int most_depth = 64;  // maximum nesting of the values of other fields
};

/// Reads the texts of a file, plain or compressed (see ByteStream), one document per object. Empty
/// texts are skipped. Reading is strict. Throws FormatError with file, line and byte offset for a
/// line that is not an object (including an empty line), lacks the field, has it twice or with a
/// value that is not a string, or exceeds the nesting or size in `options`, and for text that is
/// not UTF-8.
std::unique_ptr<DocumentReader> read_jsonl_documents(const std::string& path,
                                                     const JsonlOptions& options = {});

}  // namespace weft
