// Token files contain tokenized documents and everything else that training needs. They are read
// through a memory mapping, so that memory usage does not depend on their size.
//
//   offset 0    128 bytes, TokenFileHeader
//   128         the ids, 2 or 4 bytes each, in document order; each document is followed by the
//               end-of-text id if the tokenizer has one; zero padding to a multiple of 64
//   then        two u64 per document: the number of ids, and the number of bytes of text, in the
//               file before the end of the document
//               two u64 per mark: the same numbers for a position inside a document; long
//               documents have a mark every few thousand ids, so that the sizes of parts are known
//               one u32 per 64 MiB of ids: the CRC-32C of these ids
//               the tokenizer: length of the type (u32), type, serialised tokenizer
//
// All numbers are little-endian. The checksums of header and tables are verified when a file is
// opened. The checksum of a range of ids is verified when ids in the range are read for the first
// time, and for all ranges on request (check_ids()). Opening a file does not verify them, because
// reading a few ids must not require reading all of them. Every id that is read is checked against
// the size of the vocabulary.
//
// A large set consists of several files, "corpus-00000.tok", "corpus-00001.tok", and so on. Each
// file stores its number, whether it is the last file, and the fingerprint of the previous file.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "weft/core/tensor.h"
#include "weft/models/text/tokenizers/tokenizer.h"

namespace WEFT_API weft {

/// Identifies a tokenizer. The digest is a hash of all tokenizer data that is stored in files.
using TokenizerDigest = std::array<std::uint64_t, 2>;
TokenizerDigest tokenizer_digest(const Tokenizer& tokenizer);
/// Returns the digest as 32 hexadecimal digits.
std::string str(const TokenizerDigest& digest);

/// Returns a short description for messages, such as "50257 tokens (digest 0f3c...)".
std::string describe_tokenizer(const Tokenizer& tokenizer);

/// The header of a file, in its binary form.
struct TokenFileHeader {
  static constexpr std::array<char, 8> kMagic = {'\x89', 't', 'o', 'k', 's', '\r', '\n', '\x1a'};
  static constexpr std::uint32_t kVersion = 1;
  static constexpr std::uint32_t kLast = 1;  // flag: no file follows

  std::array<char, 8> magic = kMagic;
  std::uint32_t version = kVersion;
  std::uint32_t id_bytes = 2;  // 2 or 4
  std::uint64_t vocab = 0;     // size of the vocabulary; all ids are smaller
  std::uint64_t tokens = 0, documents = 0;
  std::uint64_t bytes = 0;  // size of the text in UTF-8
  std::uint64_t marks = 0;
  std::uint64_t tokenizer_bytes = 0;  // size of the tokenizer section
  TokenizerDigest digest = {};
  std::uint64_t before = 0;  // fingerprint() of the previous file; 0 for the first
  std::uint32_t number = 0;  // index in the set, from 0
  std::uint32_t flags = 0;
  std::int32_t end_id = -1;  // end-of-text id after every document; -1: none
  std::uint32_t reserved0 = 0;
  std::uint32_t tables_crc = 0;  // CRC-32C of everything after the ids and their padding
  std::array<std::uint32_t, 4> reserved1 = {};
  std::uint32_t crc = 0;  // CRC-32C of the preceding bytes of the header

  bool last() const { return (flags & kLast) != 0; }
  /// Sets `crc`.
  void seal();
  /// Returns the fingerprint of the file. It is a hash of the header, which contains the checksums
  /// of all other parts.
  std::uint64_t fingerprint() const;
};
static_assert(sizeof(TokenFileHeader) == 128);

/// Number of bytes of ids per checksum.
inline constexpr std::uint64_t kTokenChecksumRange = std::uint64_t{64} << 20;
/// Returns the offset of the tables after `id_bytes` bytes of ids.
std::uint64_t token_tables_offset(std::uint64_t id_bytes);

/// A position between two ids, given by the number of ids and the number of bytes of text before
/// it.
struct TokenPlace {
  std::int64_t token = 0, byte = 0;
  friend bool operator==(const TokenPlace&, const TokenPlace&) = default;
};

/// A memory-mapped file with verified header and tables. Immutable and thread-safe. Throws
/// FormatError with path and byte offset if the file is invalid in any way. Never reads outside the
/// file.
class TokenFile {
 public:
  /// Throws IoError and FormatError.
  explicit TokenFile(const std::string& path);

  const std::string& path() const { return file_->path(); }
  const TokenFileHeader& header() const { return header_; }
  std::int64_t tokens() const { return static_cast<std::int64_t>(header_.tokens); }
  std::int64_t documents() const { return static_cast<std::int64_t>(header_.documents); }
  std::int64_t bytes() const { return static_cast<std::int64_t>(header_.bytes); }

  /// Returns the end of document i, with 0 <= i < documents().
  TokenPlace document_end(std::int64_t i) const;
  /// Returns the last document boundary or mark with at most `byte` bytes of text before it.
  TokenPlace last_place(std::int64_t byte) const;
  /// Reads the ids from position `begin` on into `ids`. Throws ArgumentError if the range exceeds
  /// the file. Throws FormatError if an id is outside the vocabulary, or if the checksum of a range
  /// that contains some of the ids does not match.
  void read(std::int64_t begin, std::span<std::int32_t> ids) const;
  /// Parses the tokenizer. Throws FormatError if it is invalid.
  Tokenizer tokenizer() const;
  /// Verifies all ids. Throws FormatError if a checksum does not match or an id is outside the
  /// vocabulary.
  void check_ids() const;

 private:
  [[noreturn]] void fail(std::uint64_t offset, std::string_view what) const;
  void read_header();
  void lay_out();
  void check_documents() const;
  void check_marks() const;
  TokenPlace entry(std::uint64_t table, std::int64_t i) const;
  /// Verifies the checksum of a range of kTokenChecksumRange bytes of ids, unless it has been
  /// verified before.
  void check_range(std::uint64_t range) const;

  std::shared_ptr<MappedFile> file_;
  TokenFileHeader header_;
  /// True for ranges whose checksum was verified. Several threads may verify a range.
  std::unique_ptr<std::atomic<bool>[]> verified_;
  std::uint64_t documents_at_ = 0, marks_at_ = 0, crcs_at_ = 0, tokenizer_at_ = 0;
};

/// Returns true if the file begins with the magic number of token files. Returns false if it cannot
/// be read.
bool is_token_file(const std::string& path);

}  // namespace weft
