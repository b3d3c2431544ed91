#include "weft/models/text/unicode/aligned_text.h"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "weft/core/error.h"
#include "weft/models/text/unicode/characters.h"

namespace weft {
namespace {

void check_size(std::size_t bytes) {
  if (bytes > std::numeric_limits<std::uint32_t>::max())
    throw DataError(
        fmt::format("cannot tokenize a text of {} bytes: at most 4 GiB are supported", bytes));
}

std::uint32_t end_of(std::string_view text) { return static_cast<std::uint32_t>(text.size()); }

/// Limits the growth of a text, because chained replacements could expand a few bytes without
/// bound. The limit is far higher than real text requires: U+FDFA expands to 18 letters, each of
/// which becomes two characters in byte-level models.
void check_growth(std::size_t written, std::size_t input) {
  constexpr std::size_t kMostTimes = 64, kAlways = std::size_t{1} << 20;
  if (written <= kMostTimes * input + kAlways) return;
  throw DataError(
      fmt::format("the tokenizer's normalizers produce more than {} bytes from a text of {} bytes",
                  written, input));
}

}  // namespace

void AlignedText::assign(std::string_view input) {
  check_size(input.size());
  text_ = input;
  in_place_ = true;
}

void AlignedText::assign(std::string text, std::vector<Span> spans) {
  check_size(text.size());
  buffer_ = std::move(text);
  spans_ = std::move(spans);
  text_ = buffer_;
  in_place_ = false;
}

Span AlignedText::source_of_byte(std::uint32_t at) const {
  if (!in_place_) return spans_[at];
  std::uint32_t begin = at, end = at + 1;
  while (begin > 0 && is_continuation(text_[begin])) --begin;
  while (end < text_.size() && is_continuation(text_[end])) ++end;
  return {begin, end};
}

Span AlignedText::source(std::uint32_t begin, std::uint32_t end) const {
  if (begin == end) {
    if (text_.empty()) return {0, 0};
    const Span beside = begin < text_.size() ? source_of_byte(begin) : source_of_byte(begin - 1);
    const std::uint32_t at = begin < text_.size() ? beside.begin : beside.end;
    return {at, at};
  }
  return {source_of_byte(begin).begin, source_of_byte(end - 1).end};
}

TextEdit::TextEdit(AlignedText& text)
    : aligned_(text),
      old_(text.text_),
      written_(text.spare_buffer_),
      spans_(text.spare_spans_),
      in_place_(text.in_place_) {
  written_.clear();
  spans_.clear();
}

void TextEdit::begin_part(std::uint32_t begin, std::uint32_t end) {
  begin_ = cursor_ = begin;
  end_ = end;
}

bool TextEdit::at_input_begin() const {
  if (begin_ == end_) return begin_ == 0;
  return aligned_.source_of_byte(begin_).begin == 0;
}

void TextEdit::record_spans() {
  // So far, all written bytes are at their original offsets.
  const std::string_view written = written_;
  spans_.resize(written.size());
  for (std::size_t at = 0; at < written.size();) {
    const std::size_t next = at + character_size(written[at]);
    const Span span{static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(next)};
    for (; at < next; ++at) spans_[at] = span;
  }
  in_place_ = false;
}

void TextEdit::write(std::string_view bytes, Span span) {
  written_ += bytes;
  spans_.resize(spans_.size() + bytes.size(), span);
}

void TextEdit::write(char32_t c, Span span) {
  append_utf8(written_, c);
  spans_.resize(written_.size(), span);
}

void TextEdit::keep(std::size_t bytes) {
  if (bytes == 0) return;
  if (in_place_ && written_.size() != cursor_) record_spans();
  written_ += old_.substr(cursor_, bytes);
  const auto end = cursor_ + static_cast<std::uint32_t>(bytes);
  if (!in_place_) {
    if (!aligned_.in_place_) {
      spans_.insert(spans_.end(), aligned_.spans_.begin() + cursor_, aligned_.spans_.begin() + end);
    } else {
      for (std::uint32_t at = cursor_; at < end;) {
        const auto next = at + static_cast<std::uint32_t>(character_size(old_[at]));
        spans_.resize(spans_.size() + (next - at), Span{at, next});
        at = next;
      }
    }
  }
  cursor_ = end;
}

void TextEdit::replace(char32_t c) {
  const std::size_t replaced = character_size(old_[cursor_]);
  if (in_place_ && (written_.size() != cursor_ || encoded_size(c) != replaced)) record_spans();
  if (in_place_) {
    append_utf8(written_, c);
  } else {
    write(c, aligned_.source_of_byte(cursor_));
  }
  cursor_ += static_cast<std::uint32_t>(replaced);
}

void TextEdit::add(char32_t c) {
  check_growth(written_.size(), aligned_.source(0, end_of(old_)).end);
  if (in_place_) record_spans();
  if (cursor_ > begin_) return write(c, aligned_.source_of_byte(cursor_ - 1));
  const std::uint32_t at = cursor_ < end_ ? aligned_.source_of_byte(cursor_).begin : 0;
  write(c, {at, at});
}

void TextEdit::add(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) add(take_character(text, at));
}

void TextEdit::prepend(std::string_view text) {
  if (text.empty() || at_end()) return;
  if (in_place_) record_spans();
  write(text, aligned_.source_of_byte(cursor_));
  check_growth(written_.size(), aligned_.source(0, end_of(old_)).end);
}

void TextEdit::finish() {
  std::swap(aligned_.buffer_, aligned_.spare_buffer_);
  std::swap(aligned_.spans_, aligned_.spare_spans_);
  aligned_.text_ = aligned_.buffer_;
  aligned_.in_place_ = in_place_;
}

}  // namespace weft
