// The Unicode character properties (from ICU) that tokenizers need.
#pragma once

#include <cstdint>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// White_Space: spaces, tabs and line breaks of all kinds.
bool is_white_space(char32_t c);
/// A number (general category N): digits, letter numbers and fractions.
bool is_numeric(char32_t c);
/// A letter (general category L).
bool is_letter(char32_t c);
/// Punctuation (general category P), or any ASCII punctuation or symbol ("$", "+", "`" and so on).
bool is_punctuation(char32_t c);
/// A nonspacing mark (general category Mn).
bool is_nonspacing_mark(char32_t c);
/// Any mark (general category M).
bool is_mark(char32_t c);
/// A combining character: its canonical combining class is not 0.
bool is_combining(char32_t c);
/// A letter that has upper and lower case, or looks as if it had (Cased).
bool is_cased(char32_t c);
/// A character that is skipped in the search for a cased letter (Case_Ignorable).
bool is_case_ignorable(char32_t c);
/// A digit of any script, including superscript and similar digits.
bool is_digit(char32_t c);
/// A word character (\w in regular expressions): letters, marks, digits, connectors and joiners.
bool is_word_character(char32_t c);
/// A control character as defined by BERT's text cleaning. Of the private use ranges, only the
/// first and the last character count, as in Hugging Face's tokenizers library, the reference
/// implementation.
bool is_control(char32_t c);
/// A CJK ideograph as defined by BERT's tokenizer.
bool is_ideograph(char32_t c);
/// Returns the lower-case form of a character, regardless of context. For U+0130, whose lower-case
/// form is two characters, returns the first (the second is U+0307).
char32_t lower_case(char32_t c);
/// Returns ICU's script code, for comparison. Han, Hiragana and Katakana have the same code.
int script_of(char32_t c);

}  // namespace weft
