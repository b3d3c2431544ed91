// Files of word embeddings in the formats of the word2vec program, which later programs also write.
#pragma once

#include <cstdint>
#include <string>

#include "weft/models/fields/choice.h"
#include "weft/models/vectors/word_vectors.h"

namespace WEFT_API weft {

/// The two formats of word2vec.
enum class VectorFormat : std::uint8_t {
  text,    // "words width", then one line per word: the word and its numbers
  binary,  // the same first line, then for each word: the word, a space and its floats
};
/// "text", "binary".
ChoiceNames choice_names(VectorFormat);

/// Writes all embeddings atomically. Numbers in text are the shortest that read back unchanged.
/// Throws IoError.
void write_word_vectors(const std::string& path, const WordVectors& vectors, VectorFormat format);

/// Reads a file of either format, which it detects, plain or compressed with gzip or zstd. Throws
/// IoError, and FormatError with the file and the line (text) or byte (binary) for malformed files:
/// a first line without two numbers, more or fewer words or numbers than it declares, NaN and
/// infinity, a duplicate word.
WordVectors read_word_vectors(const std::string& path);

/// Returns true if the file begins like one of these files: with two numbers, and a first word with
/// its numbers.
bool is_word_vectors(const std::string& path);

}  // namespace weft
