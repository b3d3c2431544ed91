#include "weft/models/text/tokens/token_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <limits>
#include <string_view>

#include "weft/core/error.h"
#include "weft/core/random.h"
#include "weft/serialization/files/checked_size.h"
#include "weft/serialization/files/crc32c.h"
#include "weft/serialization/files/read_file.h"

namespace weft {
namespace {

static_assert(std::endian::native == std::endian::little, "files are little-endian");

constexpr std::uint64_t kHeader = sizeof(TokenFileHeader), kAlignment = 64;
constexpr std::uint64_t kEntry = 16;  // size of a TokenPlace in a table
constexpr std::uint64_t kMaxVocab = std::uint64_t{1} << 31;

template <class T>
T read_number(const std::byte* p) {
  T value;
  std::memcpy(&value, p, sizeof(T));
  return value;
}

TokenizerDigest digest_of(std::string_view type, std::string_view bytes) {
  TokenizerDigest digest;
  for (std::uint64_t i = 0; i < digest.size(); ++i)
    digest[i] = stable_hash(bytes, stable_hash(type, i + 1));
  return digest;
}

/// Returns the index of the first of `count` ids that is not below `vocab`, else `count`.
template <class Id>
std::size_t first_outside(const std::byte* ids, std::size_t count, std::uint64_t vocab) {
  for (std::size_t i = 0; i < count; ++i) {
    if (read_number<Id>(ids + i * sizeof(Id)) >= vocab) return i;
  }
  return count;
}

}  // namespace

TokenizerDigest tokenizer_digest(const Tokenizer& tokenizer) {
  return digest_of(tokenizer.type(), tokenizer.bytes());
}

std::string str(const TokenizerDigest& digest) {
  return fmt::format("{:016x}{:016x}", digest[0], digest[1]);
}

std::string describe_tokenizer(const Tokenizer& tokenizer) {
  return fmt::format("{} {} (digest {})", tokenizer.vocab_size(), tokenizer.unit(),
                     str(tokenizer_digest(tokenizer)));
}

void TokenFileHeader::seal() { crc = crc32c(this, offsetof(TokenFileHeader, crc)); }

std::uint64_t TokenFileHeader::fingerprint() const {
  return stable_hash({reinterpret_cast<const char*>(this), sizeof(*this)});
}

std::uint64_t token_tables_offset(std::uint64_t id_bytes) {
  const CheckedSize end = CheckedSize(kHeader) + id_bytes + (kAlignment - 1);
  return end.value() / kAlignment * kAlignment;
}

TokenFile::TokenFile(const std::string& path) : file_(MappedFile::open(path)) {
  read_header();
  lay_out();
  check_documents();
  check_marks();
}

void TokenFile::fail(std::uint64_t offset, std::string_view what) const {
  throw FormatError(fmt::format("\"{}\" at byte {}: {}", path(), offset, what));
}

void TokenFile::read_header() {
  using Header = TokenFileHeader;
  const std::uint64_t size = file_->bytes();
  const std::size_t seen = std::min<std::uint64_t>(size, Header::kMagic.size());
  if (seen < Header::kMagic.size() ||
      std::memcmp(file_->data(), Header::kMagic.data(), Header::kMagic.size()) != 0)
    fail(0, "not a token file: it does not start with the magic number");
  if (size < kHeader)
    fail(size, fmt::format("the file ends inside its header of {} bytes", kHeader));
  std::memcpy(&header_, file_->data(), kHeader);
  const Header& h = header_;
  if (h.version != Header::kVersion) {
    fail(offsetof(Header, version),
         fmt::format("the file has version {}; this program reads version {}", h.version,
                     Header::kVersion));
  }
  if (h.crc != crc32c(file_->data(), offsetof(Header, crc)))
    fail(offsetof(Header, crc), "the header is damaged: its checksum does not match");
  if (h.id_bytes != 2 && h.id_bytes != 4)
    fail(offsetof(Header, id_bytes),
         fmt::format("the size of an id is {} bytes, but must be 2 or 4", h.id_bytes));
  const std::uint64_t most = h.id_bytes == 2 ? std::uint64_t{1} << 16 : kMaxVocab;
  if (h.vocab == 0 || h.vocab > most) {
    fail(offsetof(Header, vocab),
         fmt::format("the vocabulary has {} ids of {} bytes each, but must have 1 to {}", h.vocab,
                     h.id_bytes, most));
  }
  if (h.tokens == 0) fail(offsetof(Header, tokens), "the file has no ids");
  if (h.documents == 0 || h.documents > h.tokens) {
    fail(offsetof(Header, documents),
         fmt::format("{} documents with {} ids in total: each must have at least one", h.documents,
                     h.tokens));
  }
  if (h.bytes > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    fail(offsetof(Header, bytes), fmt::format("the text is too long ({} bytes)", h.bytes));
  if (h.number == 0 && h.before != 0)
    fail(offsetof(Header, before), "the first file of a set must not have a previous file");
  if (h.flags > Header::kLast)
    fail(offsetof(Header, flags), fmt::format("the flags {:#x} are unknown", h.flags));
  if (h.end_id < -1 || (h.end_id >= 0 && static_cast<std::uint64_t>(h.end_id) >= h.vocab)) {
    fail(offsetof(Header, end_id),
         fmt::format("the end-of-text id is {}, but the vocabulary has {} ids", h.end_id, h.vocab));
  }
  if (h.reserved0 != 0) fail(offsetof(Header, reserved0), "a reserved field is not zero");
  if (h.reserved1 != decltype(h.reserved1){})
    fail(offsetof(Header, reserved1), "a reserved field is not zero");
}

void TokenFile::lay_out() {
  const TokenFileHeader& h = header_;
  const std::uint64_t size = file_->bytes();
  const auto grown = [&](CheckedSize at, CheckedSize count, std::uint64_t each) {
    return (at + count * each).value();
  };
  std::uint64_t end = 0;
  try {
    const std::uint64_t ids = (CheckedSize(h.tokens) * h.id_bytes).value();
    documents_at_ = token_tables_offset(ids);
    marks_at_ = grown(documents_at_, h.documents, kEntry);
    crcs_at_ = grown(marks_at_, h.marks, kEntry);
    const std::uint64_t ranges = ids / kTokenChecksumRange + (ids % kTokenChecksumRange != 0);
    tokenizer_at_ = grown(crcs_at_, ranges, sizeof(std::uint32_t));
    end = grown(tokenizer_at_, h.tokenizer_bytes, 1);
  } catch (const FormatError& e) {
    fail(offsetof(TokenFileHeader, tokens), e.what());
  }
  if (end != size) {
    fail(std::min(end, size),
         fmt::format("according to its header, the file should have {} bytes, but it has {}{}", end,
                     size, size < end ? ": it is truncated" : ""));
  }
  verified_ =
      std::make_unique<std::atomic<bool>[]>((tokenizer_at_ - crcs_at_) / sizeof(std::uint32_t));
  const std::byte* data = file_->data();
  for (std::uint64_t at = kHeader + h.tokens * h.id_bytes; at < documents_at_; ++at) {
    if (data[at] != std::byte{0}) fail(at, "a padding byte is not zero");
  }
  if (crc32c(data + documents_at_, size - documents_at_) != h.tables_crc)
    fail(documents_at_, "the tables after the ids are damaged: their checksum does not match");
  if (h.tokenizer_bytes < sizeof(std::uint32_t) ||
      read_number<std::uint32_t>(data + tokenizer_at_) >
          h.tokenizer_bytes - sizeof(std::uint32_t)) {
    fail(tokenizer_at_,
         fmt::format("the tokenizer section of {} bytes is too small for the tokenizer type",
                     h.tokenizer_bytes));
  }
}

TokenPlace TokenFile::entry(std::uint64_t table, std::int64_t i) const {
  const std::byte* p = file_->data() + table + static_cast<std::uint64_t>(i) * kEntry;
  return {read_number<std::int64_t>(p), read_number<std::int64_t>(p + sizeof(std::int64_t))};
}

void TokenFile::check_documents() const {
  TokenPlace before;
  for (std::int64_t i = 0; i < documents(); ++i) {
    const TokenPlace end = entry(documents_at_, i);
    const std::uint64_t at = documents_at_ + static_cast<std::uint64_t>(i) * kEntry;
    if (end.token <= before.token || end.token > tokens()) {
      fail(at, fmt::format(
                   "document {} ends after {} ids, but the previous document ends after {} of {}",
                   i, end.token, before.token, tokens()));
    }
    if (end.byte < before.byte || end.byte > bytes()) {
      fail(at + sizeof(std::int64_t), fmt::format("document {} ends after {} bytes of text, but "
                                                  "the previous document ends after {} of {}",
                                                  i, end.byte, before.byte, bytes()));
    }
    before = end;
  }
  if (before != TokenPlace{tokens(), bytes()}) {
    fail(marks_at_ - kEntry,
         fmt::format("the last document ends after {} ids and {} bytes, but the file has {} and {}",
                     before.token, before.byte, tokens(), bytes()));
  }
}

void TokenFile::check_marks() const {
  TokenPlace before;
  std::int64_t document = 0;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(header_.marks); ++i) {
    const TokenPlace mark = entry(marks_at_, i);
    const std::uint64_t at = marks_at_ + static_cast<std::uint64_t>(i) * kEntry;
    if (mark.token <= before.token || mark.token >= tokens()) {
      fail(at, fmt::format("mark {} is after {} ids, but the previous mark is after {} of {}", i,
                           mark.token, before.token, tokens()));
    }
    while (document_end(document).token <= mark.token) ++document;
    const std::int64_t begin = document == 0 ? 0 : document_end(document - 1).byte;
    if (mark.byte < std::max(begin, before.byte) || mark.byte > document_end(document).byte) {
      fail(at + sizeof(std::int64_t),
           fmt::format("mark {} is after {} bytes of text, outside its document {}", i, mark.byte,
                       document));
    }
    before = mark;
  }
}

TokenPlace TokenFile::document_end(std::int64_t i) const {
  if (i < 0 || i >= documents())
    throw ArgumentError(fmt::format("document {} is outside [0, {})", i, documents()));
  return entry(documents_at_, i);
}

TokenPlace TokenFile::last_place(std::int64_t byte) const {
  // Returns the last table entry with at most `byte` bytes before it.
  const auto last_of = [&](std::uint64_t table, std::int64_t count) {
    std::int64_t low = 0, high = count;  // all entries before `low` qualify
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (entry(table, middle).byte <= byte) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low == 0 ? TokenPlace{} : entry(table, low - 1);
  };
  const TokenPlace document = last_of(documents_at_, documents());
  const TokenPlace mark = last_of(marks_at_, static_cast<std::int64_t>(header_.marks));
  return document.token >= mark.token ? document : mark;
}

void TokenFile::read(std::int64_t begin, std::span<std::int32_t> ids) const {
  const std::int64_t count = std::ssize(ids);
  if (begin < 0 || count > tokens() || begin > tokens() - count) {
    throw ArgumentError(fmt::format("cannot read {} ids from position {}: \"{}\" has {}", count,
                                    begin, path(), tokens()));
  }
  const std::uint64_t offset = kHeader + static_cast<std::uint64_t>(begin) * header_.id_bytes;
  const std::byte* from = file_->data() + offset;
  const auto copy = [&]<class Id>(Id) {
    std::uint64_t highest = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const auto id = read_number<Id>(from + i * sizeof(Id));
      highest = std::max<std::uint64_t>(highest, id);
      ids[i] = static_cast<std::int32_t>(id);
    }
    if (highest < header_.vocab) return;
    const std::size_t wrong = first_outside<Id>(from, ids.size(), header_.vocab);
    fail(offset + wrong * sizeof(Id),
         fmt::format("the id {} is outside the vocabulary [0, {})",
                     read_number<Id>(from + wrong * sizeof(Id)), header_.vocab));
  };
  if (header_.id_bytes == 2) {
    copy(std::uint16_t{});
  } else {
    copy(std::uint32_t{});
  }
  if (ids.empty()) return;
  const std::uint64_t last = offset - kHeader + ids.size() * header_.id_bytes - 1;
  for (std::uint64_t range = (offset - kHeader) / kTokenChecksumRange;
       range <= last / kTokenChecksumRange; ++range)
    check_range(range);
}

Tokenizer TokenFile::tokenizer() const {
  const std::byte* p = file_->data() + tokenizer_at_;
  const std::string_view all(reinterpret_cast<const char*>(p), header_.tokenizer_bytes);
  const auto type_bytes = read_number<std::uint32_t>(p);
  const std::string_view type = all.substr(sizeof(std::uint32_t), type_bytes);
  const std::string_view bytes = all.substr(sizeof(std::uint32_t) + type_bytes);
  if (digest_of(type, bytes) != header_.digest)
    fail(offsetof(TokenFileHeader, digest), "the digest does not match the tokenizer in the file");
  Tokenizer tokenizer = [&] {
    try {
      return Tokenizer::from_bytes(type, bytes);
    } catch (const Error& e) {
      fail(tokenizer_at_, fmt::format("invalid tokenizer: {}", e.what()));
    }
  }();
  if (static_cast<std::uint64_t>(tokenizer.vocab_size()) != header_.vocab) {
    fail(offsetof(TokenFileHeader, vocab),
         fmt::format("the vocabulary has {} ids, but the tokenizer in the file has {}",
                     header_.vocab, tokenizer.vocab_size()));
  }
  return tokenizer;
}

void TokenFile::check_ids() const {
  const std::uint64_t bytes = header_.tokens * header_.id_bytes;
  for (std::uint64_t at = 0; at < bytes; at += kTokenChecksumRange) {
    check_range(at / kTokenChecksumRange);
    const std::byte* ids = file_->data() + kHeader + at;
    const std::size_t count = std::min(kTokenChecksumRange, bytes - at) / header_.id_bytes;
    const std::size_t wrong = header_.id_bytes == 2
                                  ? first_outside<std::uint16_t>(ids, count, header_.vocab)
                                  : first_outside<std::uint32_t>(ids, count, header_.vocab);
    if (wrong < count) {
      fail(kHeader + at + wrong * header_.id_bytes,
           fmt::format("an id is outside the vocabulary [0, {})", header_.vocab));
    }
  }
}

void TokenFile::check_range(std::uint64_t range) const {
  if (verified_[range].load(std::memory_order_acquire)) return;
  const std::uint64_t at = range * kTokenChecksumRange;
  const std::uint64_t size = std::min(kTokenChecksumRange, header_.tokens * header_.id_bytes - at);
  const auto wanted = read_number<std::uint32_t>(file_->data() + crcs_at_ + 4 * range);
  if (crc32c(file_->data() + kHeader + at, size) != wanted) {
    fail(kHeader + at,
         fmt::format("the ids are damaged: the checksum of {} bytes does not match", size));
  }
  verified_[range].store(true, std::memory_order_release);
}

bool is_token_file(const std::string& path) {
  constexpr const auto& magic = TokenFileHeader::kMagic;
  return first_bytes(path, magic.size()) == std::string_view(magic.data(), magic.size());
}

}  // namespace weft
