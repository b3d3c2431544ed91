// A text as sentences of words, in batches.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/graph/run/results.h"

namespace weft::zoo {

using Sentence = std::vector<std::string>;

/// Words in lower case (ASCII's; other characters are letters) and signs of ASCII, each alone.
/// Sentences end behind . ! ? and at `longest`.
std::vector<Sentence> sentences_of(const std::string& text, std::int64_t longest);

/// The `most` - 1 most frequent words, of equally frequent ones the first in order of bytes, behind
/// "(rare)", whose id 0 stands for all others.
std::vector<std::string> frequent_words(const std::vector<Sentence>& sentences, std::int64_t most);

/// Batches of up to `rows` sentences: "symbols", i32 [rows, longest], and "lengths", i32 [rows].
std::vector<NamedTensors> sentence_batches(const std::vector<Sentence>& sentences,
                                           const std::vector<std::string>& words, std::int64_t rows,
                                           std::int64_t longest);

}  // namespace weft::zoo
