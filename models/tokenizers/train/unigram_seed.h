// What a unigram model is learned from: words with how often they occur, and the parts of them that
// may become pieces.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Words as normalised texts have them, with the blank in front, and the character that follows:
/// the blank of the next word, or zero. What follows says which parts of words go on in several
/// ways.
using CountedWords = std::map<std::u32string, std::int64_t>;

/// True for what may be a piece: no blank but in front, one script (Han, Hiragana and Katakana are
/// one), 1 to 16 characters, none of them zero.
bool is_possible_piece(std::u32string_view text);

/// The parts of words, of two characters or more, that occur at least twice in different words and
/// go on in more than one way, with their occurrences times their lengths: the `most` best, the
/// best first.
std::vector<std::pair<std::u32string, std::int64_t>> frequent_parts(const CountedWords& words,
                                                                    std::size_t most);

}  // namespace weft
