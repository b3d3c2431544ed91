// Splits a text into sentences of words and packs them into batches.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/graph/engine/results.h"

namespace weft::zoo {

using Sentence = std::vector<std::string>;

/// Splits a text into sentences of words. Words are converted to lower case (ASCII only). All bytes
/// outside ASCII count as letters. An apostrophe after a letter belongs to the word; any other
/// ASCII punctuation mark is a separate word. A sentence ends after . ! ? or after `longest` words.
std::vector<Sentence> sentences_of(const std::string& text, std::int64_t longest);

/// Returns a vocabulary of at most `most` words. The first entry is "(rare)" (id 0), which
/// represents all words outside the vocabulary. It is followed by the most frequent words. Equally
/// frequent words are in byte order.
std::vector<std::string> frequent_words(const std::vector<Sentence>& sentences, std::int64_t most);

/// Packs sentences into batches of up to `rows` sentences. A batch contains "symbols", i32 [rows,
/// longest], padded with 0, and "lengths", i32 [rows].
std::vector<NamedTensors> sentence_batches(const std::vector<Sentence>& sentences,
                                           const std::vector<std::string>& words, std::int64_t rows,
                                           std::int64_t longest);

}  // namespace weft::zoo
