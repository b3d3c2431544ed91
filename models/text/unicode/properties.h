// Unicode character properties that tokenizers require, based on ICU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Returns true for White_Space: spaces, tabs and line breaks of all kinds.
bool is_white_space(char32_t c);
/// Returns true for whitespace as defined by Python's str.strip() and str.split().
bool is_python_space(char32_t c);
/// Returns true for numbers (general category N): digits, letter numbers and fractions.
bool is_numeric(char32_t c);
/// Returns true for letters (general category L).
bool is_letter(char32_t c);
/// Returns true for punctuation (general category P) and for ASCII punctuation and symbols ("$",
/// "+", "`" and so on).
bool is_punctuation(char32_t c);
/// Returns true for nonspacing marks (general category Mn).
bool is_nonspacing_mark(char32_t c);
/// Returns true for marks (general category M).
bool is_mark(char32_t c);
/// Returns true for combining characters, whose canonical combining class is not 0.
bool is_combining(char32_t c);
/// Returns true for characters with the property Cased, such as letters that have upper and lower
/// case.
bool is_cased(char32_t c);
/// Returns true for characters that are skipped when searching for a cased letter (Case_Ignorable).
bool is_case_ignorable(char32_t c);
/// Returns true if the capital sigma at byte `at` of valid UTF-8 ends a word (Final_Sigma), where
/// its lower-case form differs. This is the case if it is preceded but not followed by a cased
/// letter; case-ignorable characters in between are skipped.
bool is_final_sigma(std::string_view text, std::size_t at);
/// Returns true for digits in any script, including superscript and similar digits.
bool is_digit(char32_t c);
/// Returns true for word characters (\w in regular expressions): letters, marks, digits, connectors
/// and joiners.
bool is_word_character(char32_t c);
/// Returns true for control characters as defined by BERT's text cleaning. In the private use
/// ranges, only the first and the last character count as control characters, as in Hugging Face's
/// tokenizers library, the reference implementation.
bool is_control(char32_t c);
/// Returns true for CJK ideographs as defined by BERT's tokenizer.
bool is_ideograph(char32_t c);
/// Returns the lower-case form of a character, regardless of its context. The lower-case form of
/// U+0130 consists of two characters, of which only the first is returned (the second is U+0307).
char32_t lower_case(char32_t c);
/// Returns ICU's script code, for comparison only. Han, Hiragana and Katakana have the same code.
int script_of(char32_t c);

}  // namespace weft
