#include "weft/models/text/tokenizers/pre_tokenizers/known_patterns.h"

#include <algorithm>
#include <iterator>

#include "weft/models/text/tokenizers/pre_tokenizers/character_class.h"
#include "weft/models/text/unicode/characters.h"

namespace weft {
namespace {

using pre_tokenizers::CharacterClass;
using pre_tokenizers::class_at;
using pre_tokenizers::end_of_run;

constexpr char32_t kLongS = 0x17F;  // matches "s" in case-insensitive comparison

/// Returns the size in bytes of the contraction ("'s", "'re", ...) at the start of `text`, or 0 if
/// there is none.
std::size_t contraction(std::string_view text) {
  if (text.size() < 2) return 0;
  switch (text[1]) {
    case 's':
    case 't':
    case 'm':
    case 'd': return 2;
    case 'r':
    case 'v': return text.size() > 2 && text[2] == 'e' ? 3 : 0;
    case 'l': return text.size() > 2 && text[2] == 'l' ? 3 : 0;
    default: return 0;
  }
}

/// Like contraction(), but ignores case.
std::size_t contraction_of_any_case(std::string_view text) {
  if (text.size() < 2) return 0;
  const auto lower = [&](std::size_t at) {
    return at < text.size() ? static_cast<char>(text[at] | 0x20) : '\0';
  };
  if (static_cast<unsigned char>(text[1]) >= 0x80)
    return character_at(text, 1) == kLongS ? 1 + encoded_size(kLongS) : 0;
  switch (lower(1)) {
    case 's':
    case 't':
    case 'm':
    case 'd': return 2;
    case 'r':
    case 'v': return lower(2) == 'e' ? 3 : 0;
    case 'l': return lower(2) == 'l' ? 3 : 0;
    default: return 0;
  }
}

bool ends_line(char c) { return c == '\r' || c == '\n'; }

std::size_t previous(std::string_view text, std::size_t at) {
  do --at;
  while (is_continuation(text[at]));
  return at;
}

/// Returns the end of the first part of the whitespace run [begin, end). If the run is followed by
/// text, its last whitespace character belongs to the next part unless it is the only one.
std::size_t end_of_blanks(std::string_view text, std::size_t begin, std::size_t end) {
  if (end == text.size()) return end;
  const std::size_t last = previous(text, end);
  return last > begin ? last : end;
}

std::size_t next_gpt4(std::string_view text, std::size_t at, int most_digits) {
  if (text[at] == '\'') {
    if (const std::size_t size = contraction_of_any_case(text.substr(at)); size > 0)
      return at + size;
  }
  const CharacterClass kind = class_at(text, at);
  if (kind == CharacterClass::letter) return end_of_run(text, at, CharacterClass::letter);
  const std::size_t next = at + character_size(text[at]);
  if (kind == CharacterClass::number) {
    std::size_t end = next;
    for (int digits = 1;
         digits < most_digits && end < text.size() && class_at(text, end) == CharacterClass::number;
         ++digits)
      end += character_size(text[end]);
    return end;
  }
  const CharacterClass following =
      next < text.size() ? class_at(text, next) : CharacterClass::blank;
  if (following == CharacterClass::letter && !ends_line(text[at]))
    return end_of_run(text, next, CharacterClass::letter);
  if (kind == CharacterClass::other || (text[at] == ' ' && following == CharacterClass::other)) {
    std::size_t end =
        end_of_run(text, kind == CharacterClass::other ? at : next, CharacterClass::other);
    while (end < text.size() && ends_line(text[end])) ++end;
    return end;
  }
  const std::size_t end = end_of_run(text, at, CharacterClass::blank);
  for (std::size_t last = end; last > at; --last)
    if (ends_line(text[last - 1])) return last;
  return end_of_blanks(text, at, end);
}

void split_gpt4_style(std::string_view text, int most_digits, EmitPart emit) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = next_gpt4(text, at, most_digits);
    emit(at, end);
    at = end;
  }
}

constexpr KnownPattern kPatterns[] = {
    {R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
     split_as_gpt2},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     split_as_gpt4},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     split_as_qwen}};

}  // namespace

void split_as_gpt2(std::string_view text, EmitPart emit) {
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '\'') {
      if (const std::size_t size = contraction(text.substr(at)); size > 0) {
        emit(at, at + size);
        at += size;
        continue;
      }
    }
    std::size_t word = at;  // start of the word; a preceding space belongs to the same pre-token
    if (text[at] == ' ' && at + 1 < text.size() && class_at(text, at + 1) != CharacterClass::blank)
      ++word;
    const CharacterClass kind = class_at(text, word);
    std::size_t end = end_of_run(text, word, kind);
    if (kind == CharacterClass::blank) end = end_of_blanks(text, at, end);
    emit(at, end);
    at = end;
  }
}

void split_as_gpt4(std::string_view text, EmitPart emit) { split_gpt4_style(text, 3, emit); }
void split_as_qwen(std::string_view text, EmitPart emit) { split_gpt4_style(text, 1, emit); }

const KnownPattern* begin_known_patterns() { return std::begin(kPatterns); }
const KnownPattern* end_known_patterns() { return std::end(kPatterns); }

SplitFunction find_known_pattern(std::string_view pattern) {
  const auto* found =
      std::find_if(begin_known_patterns(), end_known_patterns(),
                   [&](const KnownPattern& known) { return known.pattern == pattern; });
  return found == end_known_patterns() ? nullptr : found->cut;
}

}  // namespace weft
