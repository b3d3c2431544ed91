// A token file: documents as ids, with all that is needed to learn from them. It is read through a
// mapping, so that its size does not matter.
//
//   offset 0    128 bytes, TokenFileHeader
//   128         the ids, of 2 or 4 bytes each, documents one after the other, each with the id of
//               the end of a text behind it where the tokenizer has one; zeros up to a multiple of
//               64
//   then        for every document two u64: how many ids of the file, and how many bytes of text,
//               come before its end
//               for every mark the same of a place inside of a document: long ones have one every
//               few thousand ids, so that parts of them have known sizes, too
//               for every 64 MiB of ids their CRC-32C, u32
//               the tokenizer: u32 length of its type, its type, its bytes
// All numbers are little-endian. Header and tables have checksums that are looked at when a file is
// opened; those of the ids are looked at when asked for (check_ids): reading a few ids must not
// read them all. That an id is inside of the vocabulary is checked whenever it is read.
//
// A large set is several files, "corpus-00000.tok", "corpus-00001.tok", ... Each says which number
// it has, whether it is the last, and by a word which file comes before it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "weft/core/tensor.h"
#include "weft/models/tokenizers/tokenizer.h"

namespace WEFT_API weft {

/// By which two tokenizers are the same: a hash of all that files keep of one.
using TokenizerDigest = std::array<std::uint64_t, 2>;
TokenizerDigest tokenizer_digest(const Tokenizer& tokenizer);
/// 32 hexadecimal digits.
std::string str(const TokenizerDigest& digest);

/// A tokenizer in a few words, for messages: "50257 tokens (digest 0f3c...)".
std::string describe_tokenizer(const Tokenizer& tokenizer);

/// How a file begins, as it stands there.
struct TokenFileHeader {
  static constexpr std::array<char, 8> kMagic = {'\x89', 't', 'o', 'k', 's', '\r', '\n', '\x1a'};
  static constexpr std::uint32_t kVersion = 1;
  static constexpr std::uint32_t kLast = 1;  // flag: no file follows

  std::array<char, 8> magic = kMagic;
  std::uint32_t version = kVersion;
  std::uint32_t id_bytes = 2;  // 2 or 4
  std::uint64_t vocab = 0;     // all ids are less
  std::uint64_t tokens = 0, documents = 0;
  std::uint64_t bytes = 0;  // of text, as UTF-8
  std::uint64_t marks = 0;
  std::uint64_t tokenizer_bytes = 0;  // of its part of the file
  TokenizerDigest digest = {};
  std::uint64_t before = 0;  // word() of the file before; 0 of the first
  std::uint32_t number = 0;  // in the set, from 0
  std::uint32_t flags = 0;
  std::int32_t end_id = -1;  // behind every document; -1: none
  std::uint32_t reserved0 = 0;
  std::uint32_t tables_crc = 0;  // of all that is behind the ids and their zeros
  std::array<std::uint32_t, 4> reserved1 = {};
  std::uint32_t crc = 0;  // of the bytes before

  bool last() const { return (flags & kLast) != 0; }
  /// Sets `crc`.
  void seal();
  /// Tells files apart: a hash of the header, in which the checksums of everything else are.
  std::uint64_t word() const;
};
static_assert(sizeof(TokenFileHeader) == 128);

/// Bytes of ids under one checksum.
inline constexpr std::uint64_t kTokenChecksumRange = std::uint64_t{64} << 20;
/// Where the tables begin behind so many bytes of ids.
std::uint64_t token_tables_offset(std::uint64_t id_bytes);

/// A place between two ids: how many ids and bytes of text come before it.
struct TokenPlace {
  std::int64_t token = 0, byte = 0;
  friend bool operator==(const TokenPlace&, const TokenPlace&) = default;
};

/// A file that is there: mapped, its header and tables checked. For any number of threads. Whatever
/// is wrong is a FormatError with the path and the byte offset; nothing outside of the file is ever
/// read.
class TokenFile {
 public:
  /// Throws IoError, FormatError.
  explicit TokenFile(const std::string& path);

  const std::string& path() const { return file_->path(); }
  const TokenFileHeader& header() const { return header_; }
  std::int64_t tokens() const { return static_cast<std::int64_t>(header_.tokens); }
  std::int64_t documents() const { return static_cast<std::int64_t>(header_.documents); }
  std::int64_t bytes() const { return static_cast<std::int64_t>(header_.bytes); }

  /// The end of document i in [0, documents()).
  TokenPlace document_end(std::int64_t i) const;
  /// The last beginning of a document, or mark, with at most `byte` bytes of text before it.
  TokenPlace last_place(std::int64_t byte) const;
  /// Ids begin, begin + 1, ..., as many as `ids` has. Throws ArgumentError where there are not as
  /// many, FormatError for one that is not in the vocabulary.
  void read(std::int64_t begin, std::span<std::int32_t> ids) const;
  /// Throws FormatError for a tokenizer that cannot be read.
  Tokenizer tokenizer() const;
  /// Reads all ids: throws FormatError where a checksum differs or one is not in the vocabulary.
  void check_ids() const;

 private:
  [[noreturn]] void fail(std::uint64_t offset, std::string_view what) const;
  void read_header();
  void lay_out();
  void check_documents() const;
  void check_marks() const;
  TokenPlace entry(std::uint64_t table, std::int64_t i) const;

  std::shared_ptr<MappedFile> file_;
  TokenFileHeader header_;
  std::uint64_t documents_at_ = 0, marks_at_ = 0, crcs_at_ = 0, tokenizer_at_ = 0;
};

/// Whether a file begins as a token file does. False where it cannot be read.
bool is_token_file(const std::string& path);

}  // namespace weft
