// Reads documents sequentially in pieces of bounded size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "weft/core/export.h"
#include "weft/models/fields/choice.h"

namespace WEFT_API weft {

/// A document, or a piece of a long document.
struct DocumentPiece {
  std::string text;
  bool begins = true, ends = true;  // true if the piece starts or ends its document
  std::int64_t line = 0;            // line in the file on which the piece begins
};

/// Reads the documents in a file. Throws FormatError with file, line and byte offset if the text is
/// not UTF-8.
class DocumentReader {
 public:
  virtual ~DocumentReader() = default;
  /// Replaces `piece` by the next piece. Returns false at the end. The last piece of a document may
  /// be empty.
  virtual bool next(DocumentPiece& piece) = 0;
  virtual const std::string& path() const = 0;
  /// The number of bytes read from the file so far, for progress reports. See
  /// ByteStream::bytes_read().
  virtual std::uint64_t bytes_read() const = 0;
};

/// The end of a document in a text file.
enum class DocumentEnd : std::uint8_t {
  file,  // at the end of the file
  // Before a blank line, as in the pre-training data of BERT.
  blank_line,
  line,  // at the end of each line
};
/// The names are "file", "blank-line" and "line".
ChoiceNames choice_names(DocumentEnd);

/// Reads the documents in a plain or compressed text file (see ByteStream). Blank documents are
/// skipped. Throws the same errors as TextBuffer.
std::unique_ptr<DocumentReader> read_text_documents(const std::string& path, DocumentEnd end);

/// Longer documents are split into pieces of about this size.
inline constexpr std::size_t kPieceBytes = std::size_t{1} << 14;

/// Returns the size of the first piece of a long text, at most `most` bytes. The text is split
/// before a space between two letters, because every tokenizer starts a new word there. If there is
/// no such space in the second half of the piece, the text is split before a space or line break
/// between other characters, or else between any two characters. Returns 0 if the text has at most
/// `most` + 1 bytes.
std::size_t piece_end(std::string_view text, std::size_t most = kPieceBytes);

}  // namespace weft
