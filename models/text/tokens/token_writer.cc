#include "weft/models/text/tokens/token_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <utility>

#include "weft/core/error.h"
#include "weft/models/text/tokens/token_set.h"
#include "weft/serialization/files/crc32c.h"

namespace weft {
namespace {

constexpr std::size_t kBuffer = std::size_t{1} << 20;
constexpr std::uint64_t kMarkEvery = 4096;  // ids
constexpr std::uint64_t kMaxDocuments = std::uint64_t{1} << 22;

std::string tokenizer_section(const Tokenizer& tokenizer) {
  const std::string type = tokenizer.type();
  const auto size = static_cast<std::uint32_t>(type.size());
  std::string part(reinterpret_cast<const char*>(&size), sizeof(size));
  return part + type + tokenizer.bytes();
}

TokenPlace place(std::uint64_t token, std::uint64_t byte) {
  return {static_cast<std::int64_t>(token), static_cast<std::int64_t>(byte)};
}

}  // namespace

TokenFileWriter::TokenFileWriter(const std::string& path, const Tokenizer& tokenizer,
                                 std::uint32_t number, std::uint64_t before)
    : file_(path), tokenizer_(tokenizer_section(tokenizer)) {
  const std::int64_t vocab = tokenizer.vocab_size();
  if (vocab < 1 || vocab > std::int64_t{1} << 31)
    throw ArgumentError(fmt::format("cannot write token files for a tokenizer with {} ids", vocab));
  header_.id_bytes = vocab <= std::int64_t{1} << 16 ? 2 : 4;
  header_.vocab = static_cast<std::uint64_t>(vocab);
  header_.tokenizer_bytes = tokenizer_.size();
  header_.digest = tokenizer_digest(tokenizer);
  header_.before = before;
  header_.number = number;
  header_.end_id = tokenizer.eos_id();
  file_.write(&header_, sizeof(header_));
}

void TokenFileWriter::add(std::span<const std::int32_t> ids, std::uint64_t bytes) {
  for (const std::int32_t id : ids) {
    if (id < 0 || static_cast<std::uint64_t>(id) >= header_.vocab)
      throw ArgumentError(fmt::format(
          "the tokenizer has {} ids, so the id {} is outside its vocabulary", header_.vocab, id));
    const std::size_t at = buffer_.size();
    buffer_.resize(at + header_.id_bytes);
    std::memcpy(buffer_.data() + at, &id, header_.id_bytes);  // little-endian
    if (buffer_.size() >= kBuffer) flush();
  }
  open_ = true;
  header_.tokens += ids.size();
  header_.bytes += bytes;
}

void TokenFileWriter::mark() {
  if (header_.tokens - std::max(static_cast<std::uint64_t>(begin_.token), marked_) < kMarkEvery)
    return;
  marked_ = header_.tokens;
  marks_.push_back(place(header_.tokens, header_.bytes));
}

void TokenFileWriter::end_document() {
  open_ = false;
  if (header_.tokens == static_cast<std::uint64_t>(begin_.token)) {
    // Drops the text of a document without ids.
    header_.bytes = static_cast<std::uint64_t>(begin_.byte);
    return;
  }
  if (header_.end_id >= 0) {
    add(std::span(&header_.end_id, 1), 0);
    open_ = false;
  } else if (!marks_.empty() && marks_.back().token == static_cast<std::int64_t>(header_.tokens)) {
    marks_.pop_back();  // this mark is at the end of the document
  }
  begin_ = place(header_.tokens, header_.bytes);
  ends_.push_back(begin_);
  ++header_.documents;
}

void TokenFileWriter::flush() {
  const std::byte* p = buffer_.data();
  for (std::size_t left = buffer_.size(); left > 0;) {
    if (crcs_.empty() || crc_bytes_ == kTokenChecksumRange) {
      crcs_.push_back(0);
      crc_bytes_ = 0;
    }
    const std::size_t size = std::min<std::size_t>(left, kTokenChecksumRange - crc_bytes_);
    crcs_.back() = crc32c(p, size, crcs_.back());
    crc_bytes_ += size;
    p += size;
    left -= size;
  }
  file_.write(buffer_.data(), buffer_.size());
  buffer_.clear();
}

std::uint64_t TokenFileWriter::finish(bool last) {
  if (!between_documents()) throw ArgumentError("the last document has not been ended");
  if (header_.documents == 0) throw ArgumentError("a token file needs at least one document");
  flush();
  const std::uint64_t tables = token_tables_offset(id_bytes());
  const std::string zeros(tables - file_.written(), '\0');
  file_.write(zeros.data(), zeros.size());
  const auto table = [&](const void* data, std::size_t bytes) {
    header_.tables_crc = crc32c(data, bytes, header_.tables_crc);
    file_.write(data, bytes);
  };
  table(ends_.data(), ends_.size() * sizeof(TokenPlace));
  table(marks_.data(), marks_.size() * sizeof(TokenPlace));
  table(crcs_.data(), crcs_.size() * sizeof(std::uint32_t));
  table(tokenizer_.data(), tokenizer_.size());
  header_.marks = marks_.size();
  if (last) header_.flags |= TokenFileHeader::kLast;
  header_.seal();
  file_.rewrite(0, &header_, sizeof(header_));
  file_.commit();
  return header_.fingerprint();
}

TokenSetWriter::TokenSetWriter(std::string prefix, Tokenizer tokenizer, std::uint64_t file_bytes)
    : prefix_(std::move(prefix)), tokenizer_(std::move(tokenizer)), file_bytes_(file_bytes) {
  if (file_bytes == 0) throw ArgumentError("a token file needs room for at least one id");
  begin_file();
}

bool TokenSetWriter::full() const {
  return file_->id_bytes() >= file_bytes_ || file_->documents() >= kMaxDocuments;
}

void TokenSetWriter::begin_file() {
  file_.emplace(token_file_name(prefix_, totals_.files), tokenizer_,
                static_cast<std::uint32_t>(totals_.files), before_);
}

void TokenSetWriter::finish_file(bool last) {
  before_ = file_->finish(last);
  totals_ = totals();
  ++totals_.files;
  file_.reset();
}

void TokenSetWriter::add(std::span<const std::int32_t> ids, std::uint64_t bytes) {
  if (file_->between_documents() && full()) {
    finish_file(false);
    begin_file();
  }
  file_->add(ids, bytes);
}

void TokenSetWriter::mark() { file_->mark(); }

void TokenSetWriter::end_document() { file_->end_document(); }

TokenSetWriter::Totals TokenSetWriter::totals() const {
  Totals all = totals_;
  if (!file_) return all;
  all.documents += static_cast<std::int64_t>(file_->documents());
  all.tokens += static_cast<std::int64_t>(file_->tokens());
  all.bytes += static_cast<std::int64_t>(file_->bytes());
  return all;
}

TokenSetWriter::Totals TokenSetWriter::finish() {
  if (totals().documents == 0) throw DataError("there is no text to write to token files");
  finish_file(true);
  for (std::int64_t number = totals_.files;; ++number) {
    const std::string name = token_file_name(prefix_, number);
    if (!is_token_file(name)) break;
    std::filesystem::remove(name);
  }
  return totals_;
}

}  // namespace weft
