// The training data of a unigram model: words with their frequencies, and the initial set of
// substrings that may become pieces.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// The words of normalised texts and their counts. A word includes its leading U+2581 and the
/// character that follows it, which is the U+2581 of the next word or U+0000. That character is
/// needed to determine which substrings have several continuations.
using CountedWords = std::map<std::u32string, std::int64_t>;

/// Returns true if a text may be a piece: it must have 1 to 16 characters of one script (Han,
/// Hiragana and Katakana count as one), no U+2581 except at the start, no space and no U+0000.
bool is_possible_piece(std::u32string_view text);

/// Returns substrings of words that have at least two characters, occur at least twice in the
/// distinct words, and have more than one continuation. The score of a substring is its number of
/// occurrences times its length. Returns at most `most` substrings, in order of their scores, the
/// best first.
std::vector<std::pair<std::u32string, std::int64_t>> frequent_parts(const CountedWords& words,
                                                                    std::size_t most);

}  // namespace weft
