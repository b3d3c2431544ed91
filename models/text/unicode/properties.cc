#include "weft/models/text/unicode/properties.h"

#include <unicode/uchar.h>
#include <unicode/uscript.h>

#include "weft/models/text/unicode/characters.h"

namespace weft {
namespace {

std::uint32_t category(char32_t c) { return U_GET_GC_MASK(static_cast<UChar32>(c)); }

bool has(char32_t c, UProperty property) {
  return u_hasBinaryProperty(static_cast<UChar32>(c), property) != 0;
}

}  // namespace

bool is_white_space(char32_t c) {
  if (c < 0x80) return c == ' ' || (c >= '\t' && c <= '\r');
  return u_isUWhiteSpace(static_cast<UChar32>(c)) != 0;
}

bool is_python_space(char32_t c) { return (c >= 0x1C && c <= 0x1F) || is_white_space(c); }

bool is_numeric(char32_t c) {
  if (c < 0x80) return c >= '0' && c <= '9';
  return (category(c) & U_GC_N_MASK) != 0;
}

bool is_letter(char32_t c) {
  if (c < 0x80) return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
  return (category(c) & U_GC_L_MASK) != 0;
}

bool is_punctuation(char32_t c) {
  if (c < 0x80)
    return (c > ' ' && c < '0') || (c > '9' && c < 'A') || (c > 'Z' && c < 'a') ||
           (c > 'z' && c < 0x7F);
  return (category(c) & U_GC_P_MASK) != 0;
}

bool is_nonspacing_mark(char32_t c) { return c >= 0x300 && (category(c) & U_GC_MN_MASK) != 0; }

bool is_mark(char32_t c) { return c >= 0x300 && (category(c) & U_GC_M_MASK) != 0; }

bool is_combining(char32_t c) {
  return c >= 0x300 && u_getCombiningClass(static_cast<UChar32>(c)) != 0;
}

bool is_cased(char32_t c) { return has(c, UCHAR_CASED); }

bool is_case_ignorable(char32_t c) { return has(c, UCHAR_CASE_IGNORABLE); }

bool is_final_sigma(std::string_view text, std::size_t at) {
  bool cased_before = false;
  for (std::size_t end = at; end > 0;) {
    const char32_t c = character_before(text, end);
    if (!is_case_ignorable(c)) {
      cased_before = is_cased(c);
      break;
    }
    end -= encoded_size(c);
  }
  if (!cased_before) return false;
  for (at += encoded_size(U'\u03A3'); at < text.size();) {
    const char32_t c = take_character(text, at);
    if (!is_case_ignorable(c)) return !is_cased(c);
  }
  return true;
}

bool is_digit(char32_t c) {
  if (c < 0x80) return c >= '0' && c <= '9';
  const int type = u_getIntPropertyValue(static_cast<UChar32>(c), UCHAR_NUMERIC_TYPE);
  return type == U_NT_DECIMAL || type == U_NT_DIGIT;
}

bool is_word_character(char32_t c) {
  if (c < 0x80) return is_letter(c) || is_numeric(c) || c == '_';
  return (category(c) & (U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK)) != 0 ||
         has(c, UCHAR_ALPHABETIC) || has(c, UCHAR_JOIN_CONTROL);
}

bool is_control(char32_t c) {
  if (c == '\t' || c == '\n' || c == '\r') return false;
  if (c < 0x80) return c < 0x20 || c == 0x7F;
  if ((category(c) & (U_GC_CC_MASK | U_GC_CF_MASK)) != 0) return true;
  return c == 0xE000 || c == 0xF8FF || c == 0xF0000 || c == 0xFFFFD || c == 0x100000 ||
         c == 0x10FFFD;
}

bool is_ideograph(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) ||
         (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B73F) ||
         (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

char32_t lower_case(char32_t c) {
  if (c < 0x80) return c >= 'A' && c <= 'Z' ? c + 0x20 : c;
  return static_cast<char32_t>(u_tolower(static_cast<UChar32>(c)));
}

int script_of(char32_t c) {
  UErrorCode status = U_ZERO_ERROR;
  const UScriptCode script = uscript_getScript(static_cast<UChar32>(c), &status);
  // prolonged sound mark, used in both Hiragana and Katakana
  constexpr char32_t kProlonged = 0x30FC;
  const bool kana = script == USCRIPT_HIRAGANA || script == USCRIPT_KATAKANA || c == kProlonged;
  return kana ? USCRIPT_HAN : script;
}

}  // namespace weft
