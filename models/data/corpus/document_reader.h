// Documents one after the other, in pieces of a bounded size.
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
  bool begins = true, ends = true;  // its document
  std::int64_t line = 0;            // of the file, in which it begins
};

/// Gives the documents of a file. Throws FormatError with the file, the line and the byte for what
/// is not UTF-8.
class DocumentReader {
 public:
  virtual ~DocumentReader() = default;
  /// Replaces `piece` by the next one; false at the end. The last piece of a document may be empty.
  virtual bool next(DocumentPiece& piece) = 0;
  virtual const std::string& path() const = 0;
  /// Bytes of the file that were read, packed as they are: for progress.
  virtual std::uint64_t bytes_read() const = 0;
};

/// Where a document of a text file ends.
enum class DocumentEnd : std::uint8_t {
  file,        // with the file
  blank_line,  // before a line without anything in it, as BERT's pre-training reads texts
  line,        // with the line
};
/// "file", "blank-line", "line".
ChoiceNames choice_names(DocumentEnd);

/// The documents of a text file, plain or packed (ByteStream), without those that are blank. Throws
/// as TextBuffer.
std::unique_ptr<DocumentReader> read_text_documents(const std::string& path, DocumentEnd end);

/// Documents longer than this come in pieces of about this size.
inline constexpr std::size_t kPieceBytes = std::size_t{1} << 14;

/// Where a text that goes on is cut, behind at most `most` of its bytes: in front of a blank
/// between two letters, as tokenizers begin a word there, whatever else they do; where there is
/// none in the second half, in front of a blank or a line break between other characters; or
/// between any two characters. 0 where the text is not longer than `most` and a byte.
std::size_t piece_end(std::string_view text, std::size_t most = kPieceBytes);

}  // namespace weft
