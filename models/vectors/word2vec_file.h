// Reader and writer for word embedding files in the formats of the word2vec program, which other
// programs also write.
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
/// The names are "text" and "binary".
ChoiceNames choice_names(VectorFormat);

/// Writes all embeddings atomically. The text format uses the shortest numbers that read back
/// unchanged. Throws IoError.
void write_word_vectors(const std::string& path, const WordVectors& vectors, VectorFormat format);

/// Reads a file in either format, plain or compressed with gzip or zstd; the format is detected.
/// Throws IoError, and FormatError with the file and the line (text) or byte (binary) for malformed
/// files: a first line without two numbers, more or fewer words or numbers than it declares, NaN or
/// infinity, or a duplicate word.
WordVectors read_word_vectors(const std::string& path);

/// Returns true if the file begins like a word embedding file, i.e. with two numbers, followed by a
/// word with its numbers.
bool is_word_vectors(const std::string& path);

}  // namespace weft
