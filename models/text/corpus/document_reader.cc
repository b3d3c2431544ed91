#include "weft/models/text/corpus/document_reader.h"

#include <algorithm>
#include <optional>

#include "weft/models/text/corpus/lines.h"
#include "weft/models/text/corpus/text_buffer.h"
#include "weft/models/text/unicode/utf8.h"

namespace weft {
namespace {

constexpr std::string_view kEnds[] = {"file", "blank-line", "line"};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

class TextDocuments final : public DocumentReader {
 public:
  TextDocuments(const std::string& path, DocumentEnd end) : buffer_(path), end_(end) {}

  const std::string& path() const override { return buffer_.path(); }
  std::uint64_t bytes_read() const override { return buffer_.bytes_read(); }

  bool next(DocumentPiece& piece) override {
    while (!at_end_ || open_ || !buffer_.text().empty()) {
      const std::optional<End> found = find_end();
      const std::size_t known = found ? found->end : known_bytes();
      if (const std::size_t cut = piece_end(buffer_.text().substr(0, known)); cut > 0) {
        set_piece(piece, cut, false);
        inside_line_ = cut > scanned_ || (inside_line_ && scanned_ == 0);
        scanned_ -= std::min(scanned_, cut);
        buffer_.consume(cut);
        return true;
      }
      if (!found) {
        at_end_ = !buffer_.more();
        continue;
      }
      const bool some = set_piece(piece, found->end, true);
      buffer_.consume(found->next_begin);
      scanned_ = 0;
      inside_line_ = false;
      if (some) return true;
    }
    return false;
  }

 private:
  /// The end of the document at the start of text(), and the start of the next document.
  struct End {
    std::size_t end, next_begin;
  };

  std::optional<End> find_end() {
    const std::string_view text = buffer_.text();
    const std::optional<End> of_file =
        at_end_ ? std::optional<End>({text.size(), text.size()}) : std::nullopt;
    if (end_ == DocumentEnd::file) return of_file;
    if (end_ == DocumentEnd::line) {
      const std::size_t end = text.find('\n', scanned_);
      scanned_ = std::min(end, text.size());
      return end == std::string_view::npos ? of_file : std::optional<End>({end, end + 1});
    }
    for (;;) {
      const std::size_t end = std::min(text.find('\n', scanned_), text.size());
      if (end == text.size() && !at_end_) return std::nullopt;
      const bool is_continuation = inside_line_ && scanned_ == 0;
      const std::size_t next_begin = std::min(end + 1, text.size());
      if (!is_continuation && trimmed_line(text.substr(scanned_, end - scanned_)).empty())
        return End{scanned_ == 0 ? 0 : scanned_ - 1, next_begin};
      if (end == text.size()) return of_file;
      scanned_ = next_begin;
    }
  }

  /// Returns the number of bytes of text() that are certain to belong to the current document. To
  /// be called if the end of the document has not been found.
  std::size_t known_bytes() const {
    const std::string_view text = buffer_.text();
    if (end_ != DocumentEnd::blank_line) return text.size();
    // The last line may turn out to be blank, unless it is already longer than a piece.
    const std::string_view last = text.substr(scanned_);
    return trimmed_line(last).empty() && last.size() <= kPieceBytes ? scanned_ : text.size();
  }

  /// Sets `piece` to the next piece. Returns false if the document is blank.
  bool set_piece(DocumentPiece& piece, std::size_t bytes, bool ends) {
    buffer_.check_utf8(bytes);
    const std::string_view text = buffer_.text().substr(0, bytes);
    if (ends && !open_ && std::all_of(text.begin(), text.end(), is_blank)) return false;
    piece = {std::string(text), !open_, ends, buffer_.line()};
    open_ = !ends;
    return true;
  }

  TextBuffer buffer_;
  DocumentEnd end_;
  bool at_end_ = false;       // the entire rest of the file is in the buffer
  bool open_ = false;         // a document has been started
  bool inside_line_ = false;  // text() begins inside a line
  // Number of bytes that are known not to contain the end of the document. For blank_line, these
  // are whole lines.
  std::size_t scanned_ = 0;
};

}  // namespace

ChoiceNames choice_names(DocumentEnd) { return {"the end of documents", kEnds}; }

std::unique_ptr<DocumentReader> read_text_documents(const std::string& path, DocumentEnd end) {
  return std::make_unique<TextDocuments>(path, end);
}

std::size_t piece_end(std::string_view text, std::size_t most) {
  if (text.size() <= most + 1) return 0;
  std::size_t other = 0;
  for (std::size_t i = most; i > most / 2; --i) {
    if (!is_blank(text[i])) continue;
    if (text[i] == ' ' && is_letter(text[i - 1]) && is_letter(text[i + 1])) return i;
    if (other == 0 && !is_blank(text[i - 1]) && !is_blank(text[i + 1])) other = i;
  }
  if (other > 0) return other;
  std::size_t cut = most;
  while (most - cut < 3 && is_continuation(text[cut])) --cut;
  return cut;
}

}  // namespace weft
