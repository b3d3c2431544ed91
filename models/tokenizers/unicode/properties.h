// What Unicode says of characters (by ICU), as the questions that tokenizers ask.
#pragma once

#include <cstdint>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// White_Space: blanks, tabs, line ends of all kinds.
bool is_white_space(char32_t c);
/// Any number: digits, letters that are numbers, fractions.
bool is_numeric(char32_t c);
/// A letter (general category L).
bool is_letter(char32_t c);
/// Punctuation (general category P), or one of ASCII's signs ("$", "+", "`" and so on, too).
bool is_punctuation(char32_t c);
/// A mark that takes no room of its own (general category Mn).
bool is_nonspacing_mark(char32_t c);
/// Any mark (general category M).
bool is_mark(char32_t c);
/// True where a character goes on another one: its canonical combining class is not 0.
bool is_combining(char32_t c);
/// A letter that has upper and lower case, or looks so (Cased); what is passed over in a search for
/// one (Case_Ignorable).
bool is_cased(char32_t c);
bool is_case_ignorable(char32_t c);
/// A digit of any script, also a raised one.
bool is_digit(char32_t c);
/// Part of a word: letters, marks, digits, connectors, joiners (\w of regular expressions).
bool is_word_character(char32_t c);
/// What BERT's cleaning takes for a control character. Of private use only the first and the last
/// character of each range are, as in the library whose results are the standard.
bool is_control(char32_t c);
/// An ideograph, as BERT's tokenizer counts them.
bool is_ideograph(char32_t c);
/// The lower-case form of one character, without regard to those around it. U+0130 has two (the
/// second is U+0307); this is the first.
char32_t lower_case(char32_t c);
/// Number of the script (of ICU), for comparing; what Japanese is written in is one.
int script_of(char32_t c);

}  // namespace weft
