// Writes token files.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/models/text/tokens/token_file.h"
#include "weft/serialization/files/atomic_file.h"

namespace WEFT_API weft {

/// Writes one token file sequentially. The file appears under its name only when it is complete.
class TokenFileWriter {
 public:
  /// `before` is the fingerprint() of the previous file of the set.
  TokenFileWriter(const std::string& path, const Tokenizer& tokenizer, std::uint32_t number = 0,
                  std::uint64_t before = 0);

  /// Appends ids to the current document. They represent `bytes` bytes of its text. Throws
  /// ArgumentError if an id is outside the vocabulary of the tokenizer.
  void add(std::span<const std::int32_t> ids, std::uint64_t bytes);
  /// Writes a mark at the current position inside the document, if the previous mark or the start
  /// of the document is far enough away.
  void mark();
  /// Ends the document and appends the tokenizer's end-of-text id, if there is one. A document
  /// without ids is dropped.
  void end_document();

  std::uint64_t id_bytes() const { return header_.tokens * header_.id_bytes; }
  std::uint64_t tokens() const { return header_.tokens; }
  std::uint64_t documents() const { return header_.documents; }
  std::uint64_t bytes() const { return header_.bytes; }
  /// Returns true if no document has been started.
  bool between_documents() const { return !open_; }

  /// Writes the tables and renames the file to its final name. Returns the fingerprint() of the
  /// file. Throws IoError. Throws ArgumentError if there is no document or the last document has
  /// not been ended.
  std::uint64_t finish(bool last);

 private:
  void flush();

  AtomicFile file_;
  TokenFileHeader header_;
  std::string tokenizer_;          // contents of the tokenizer section
  std::vector<std::byte> buffer_;  // ids that have not been written yet
  std::vector<TokenPlace> ends_, marks_;
  std::vector<std::uint32_t> crcs_;
  bool open_ = false;            // a document has been started
  TokenPlace begin_;             // start of the current document
  std::uint64_t marked_ = 0;     // number of ids before the last mark
  std::uint64_t crc_bytes_ = 0;  // bytes covered by the last entry of crcs_
};

/// Writes the files of a set. A new file is started after the document that reaches `file_bytes`.
class TokenSetWriter {
 public:
  static constexpr std::uint64_t kDefaultFileBytes = std::uint64_t{1} << 30;

  /// `file_bytes` counts bytes of ids. A new file is also started after a few million documents,
  /// because their ends are held in memory while the file is written.
  TokenSetWriter(std::string prefix, Tokenizer tokenizer,
                 std::uint64_t file_bytes = kDefaultFileBytes);

  /// Same as in TokenFileWriter.
  void add(std::span<const std::int32_t> ids, std::uint64_t bytes);
  void mark();
  void end_document();

  /// Totals of the data written so far.
  struct Totals {
    std::int64_t files = 0, documents = 0, tokens = 0, bytes = 0;
  };
  Totals totals() const;
  /// Finishes the last file and removes leftover files of an older, longer set with the same
  /// prefix. Throws DataError if there was no document.
  Totals finish();

 private:
  bool full() const;
  void begin_file();
  void finish_file(bool last);

  std::string prefix_;
  Tokenizer tokenizer_;
  std::uint64_t file_bytes_;
  std::optional<TokenFileWriter> file_;
  std::uint64_t before_ = 0;
  Totals totals_;  // totals of the finished files
};

}  // namespace weft
