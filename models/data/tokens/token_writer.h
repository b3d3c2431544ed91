// Writes token files.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/models/data/tokens/token_file.h"
#include "weft/serialization/atomic_file.h"

namespace WEFT_API weft {

/// One token file, written from its beginning to its end. It has its name when it is whole.
class TokenFileWriter {
 public:
  /// `before` is the word() of the file before in the set.
  TokenFileWriter(const std::string& path, const Tokenizer& tokenizer, std::uint32_t number = 0,
                  std::uint64_t before = 0);

  /// Ids of the document that is being written, of which `bytes` are the text. Throws ArgumentError
  /// for an id that the tokenizer does not have.
  void add(std::span<const std::int32_t> ids, std::uint64_t bytes);
  /// The document goes on behind here: a mark, if the last one is far enough away.
  void mark();
  /// The end of the document, with the id that the tokenizer has for it. A document without any id
  /// is none.
  void end_document();

  std::uint64_t id_bytes() const { return header_.tokens * header_.id_bytes; }
  std::uint64_t tokens() const { return header_.tokens; }
  std::uint64_t documents() const { return header_.documents; }
  std::uint64_t bytes() const { return header_.bytes; }
  /// Nothing of a document is open.
  bool between_documents() const { return !open_; }

  /// Writes the tables, and gives the file its name. Returns the word() of the file. Throws
  /// IoError; ArgumentError without any document, and inside of one.
  std::uint64_t finish(bool last);

 private:
  void flush();

  AtomicFile file_;
  TokenFileHeader header_;
  std::string tokenizer_;          // as it stands in the file
  std::vector<std::byte> buffer_;  // ids that are not written yet
  std::vector<TokenPlace> ends_, marks_;
  std::vector<std::uint32_t> crcs_;
  bool open_ = false;            // a document is being written
  TokenPlace begin_;             // of that
  std::uint64_t marked_ = 0;     // ids before the last mark
  std::uint64_t crc_bytes_ = 0;  // under the last of crcs_
};

/// The files of a set: each ends with the document that reaches so many bytes.
class TokenSetWriter {
 public:
  static constexpr std::uint64_t kUsualFile = std::uint64_t{1} << 30;

  /// `file_bytes` are those of ids. A file with a few million documents ends, too: their bounds are
  /// in memory while it is written.
  TokenSetWriter(std::string prefix, Tokenizer tokenizer, std::uint64_t file_bytes = kUsualFile);

  /// As TokenFileWriter's.
  void add(std::span<const std::int32_t> ids, std::uint64_t bytes);
  void mark();
  void end_document();

  /// What was written so far.
  struct Totals {
    std::int64_t files = 0, documents = 0, tokens = 0, bytes = 0;
  };
  Totals totals() const;
  /// Finishes the last file. What is left of a longer set of this name is removed. Throws
  /// DataError where there was no document.
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
  Totals totals_;  // of files that are finished
};

}  // namespace weft
