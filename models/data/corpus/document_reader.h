// Reads documents one after the other, in pieces of bounded size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "weft/core/export.h"
#include "weft/models/fields/choice.h"

namespace WEFT_API weft {

/// A document, or a piece of a long one.
struct DocumentPiece {
  std::string text;
  bool begins = true, ends = true;  // starts or ends its document
  std::int64_t line = 0;            // line of the file in which the piece begins
};

/// Reads the documents of a file. Throws FormatError with file, line and byte offset for text that
/// is not UTF-8.
class DocumentReader {
 public:
  virtual ~DocumentReader() = default;
  /// Replaces `piece` by the next piece. Returns false at the end. The last piece of a document may
  /// be empty.
  virtual bool next(DocumentPiece& piece) = 0;
  virtual const std::string& path() const = 0;
  /// The number of bytes read from the file so far, as in ByteStream. For progress reports.
  virtual std::uint64_t bytes_read() const = 0;
};

/// What ends a document in a text file.
enum class DocumentEnd : std::uint8_t {
  file,  // the end of the file
  // A blank line, as in the pre-training data of BERT.
  blank_line,
  line,  // the end of each line
};
/// The names are "file", "blank-line" and "line".
ChoiceNames choice_names(DocumentEnd);

/// Reads the documents of a text file, plain or compressed (see ByteStream). Blank documents are
/// skipped. Throws as TextBuffer.
std::unique_ptr<DocumentReader> read_text_documents(const std::string& path, DocumentEnd end);

/// Longer documents are split into pieces of about this size.
inline constexpr std::size_t kPieceBytes = std::size_t{1} << 14;

/// Returns the size of the first piece of a long text, at most `most` bytes. The text is split
/// before a space between two letters, where every tokenizer starts a new word. If there is no such
/// space in the second half of the piece, it is split before a space or line break between other
/// characters, and otherwise between any two characters. Returns 0 if the text has at most `most` +
/// 1 bytes.
std::size_t piece_end(std::string_view text, std::size_t most = kPieceBytes);

}  // namespace weft
