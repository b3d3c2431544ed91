// Files of vectors as the program word2vec writes them, and others since.
#pragma once

#include <cstdint>
#include <string>

#include "weft/models/fields/choice.h"
#include "weft/models/vectors/word_vectors.h"

namespace WEFT_API weft {

/// The two formats of word2vec's program.
enum class VectorFormat : std::uint8_t {
  text,    // "words width", then on each line a word and its numbers
  binary,  // the same first line, then for each word the word, a blank and its floats
};
/// "text", "binary".
ChoiceNames choice_names(VectorFormat);

/// Writes all vectors, atomically. Numbers in text are the shortest that read back as they are.
/// Throws IoError.
void write_word_vectors(const std::string& path, const WordVectors& vectors, VectorFormat format);

/// Reads a file of either format, plain or packed by gzip or zstd, which it tells apart itself.
/// Throws IoError, and FormatError with the file and the line (of text) or the byte for what is not
/// as it should be: a first line without two numbers, more or fewer words or numbers than it says,
/// NaN and infinity, a word that is there twice.
WordVectors read_word_vectors(const std::string& path);

/// Whether the file begins as such a file does: two numbers, and the first word with its own.
bool is_word_vectors(const std::string& path);

}  // namespace weft
