#include "weft/models/text/tokenizers/pre_tokenizers/words.h"

#include <unicode/uscript.h>

#include "weft/core/error.h"
#include "weft/models/text/unicode/properties.h"

namespace weft::pre_tokenizers {
namespace {

template <class IsDelimiter>
void cut(SplitText& parts, Delimiter behaviour, const IsDelimiter& is_delimiter) {
  parts.split([&](std::string_view text, const auto& emit) {
    split_at_characters(text, behaviour, is_delimiter, emit);
  });
}

constexpr int kAnyScript = -1;

int joined_script(char32_t c) {
  const int script = script_of(c);
  return c == U' ' || script == USCRIPT_UNKNOWN ? kAnyScript : script;
}

}  // namespace

void Whitespace::split(SplitText& parts) const {
  enum class Kind { blank, word, sign };
  const auto kind = [](char32_t c) {
    return is_word_character(c) ? Kind::word : is_white_space(c) ? Kind::blank : Kind::sign;
  };
  parts.split([&](std::string_view text, const auto& emit) {
    std::size_t begin = 0;
    Kind last = Kind::blank;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t here = at;
      const Kind next = kind(take_character(text, at));
      if (next == last) continue;
      if (last != Kind::blank) emit(begin, here);
      begin = here;
      last = next;
    }
    if (last != Kind::blank) emit(begin, text.size());
  });
}

void WhitespaceSplit::split(SplitText& parts) const {
  cut(parts, Delimiter::removed, is_white_space);
}

void Bert::split(SplitText& parts) const {
  parts.split([](std::string_view text, const auto& emit) {
    std::size_t begin = 0;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t here = at;
      const char32_t c = take_character(text, at);
      const bool blank = is_white_space(c);
      if (!blank && !is_punctuation(c)) continue;
      emit(begin, here);
      if (!blank) emit(here, at);
      begin = at;
    }
    emit(begin, text.size());
  });
}

void Punctuation::split(SplitText& parts) const { cut(parts, behaviour_, is_punctuation); }

void Digits::split(SplitText& parts) const {
  cut(parts, individual_ ? Delimiter::isolated : Delimiter::contiguous, is_numeric);
}

void CharDelimiterSplit::split(SplitText& parts) const {
  cut(parts, Delimiter::removed, [this](char32_t c) { return c == delimiter_; });
}

void UnicodeScripts::split(SplitText& parts) const {
  parts.split([](std::string_view text, const auto& emit) {
    constexpr int kNone = -2;
    int last = kNone;
    std::size_t begin = text.size();  // start of the part; leading spaces are skipped
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t here = at;
      const int script = joined_script(take_character(text, at));
      if (script == kAnyScript) continue;
      if (script != last) {
        if (last != kNone) emit(begin, here);
        begin = here;
      }
      last = script;
    }
    emit(begin, text.size());
  });
}

void FixedLength::prepare() const {
  if (length_ == 0) throw FormatError("'length' must be at least 1, not 0");
}

void FixedLength::split(SplitText& parts) const {
  parts.split([this](std::string_view text, const auto& emit) {
    std::size_t begin = 0;
    std::uint64_t count = 0;
    for (std::size_t at = 0; at < text.size();) {
      at += character_size(text[at]);
      if (++count < length_) continue;
      emit(begin, at);
      begin = at;
      count = 0;
    }
    emit(begin, text.size());
  });
}

}  // namespace weft::pre_tokenizers
