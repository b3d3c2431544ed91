// Reads JSON Lines files, which contain one JSON object per line and are the usual format of
// published corpora.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "weft/models/text/corpus/document_reader.h"

namespace WEFT_API weft {

struct JsonlOptions {
  std::string field = "text";  // the field that contains the document as a string
  /// Maximum size of a line. Each line is held in memory as a whole.
  std::size_t most_line_bytes = std::size_t{64} << 20;
  int most_depth = 64;  // maximum nesting depth of the values of other fields
};

/// Reads the texts in a plain or compressed file (see ByteStream). Each object is one document.
/// Empty texts are skipped. Reading is strict. Throws FormatError with file, line and byte offset
/// if a line is not an object (including a blank line, except at the end of the file), if the field
/// is missing, occurs twice or is not a string, if a line exceeds the nesting depth or size in
/// `options`, or if the text is not UTF-8.
std::unique_ptr<DocumentReader> read_jsonl_documents(const std::string& path,
                                                     const JsonlOptions& options = {});

}  // namespace weft
