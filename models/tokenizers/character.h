// Text as a sequence of Unicode code points: the tokenizer of character models.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace weft {

/// One id per code point that occurs in the training text, ids in order of code point. Immutable.
class CharacterTokenizer {
 public:
  CharacterTokenizer() = default;  // of no text: an empty vocabulary
  /// The vocabulary of `text` (UTF-8). Throws FormatError with the byte offset where the text is
  /// not valid UTF-8, ArgumentError where it is empty.
  static CharacterTokenizer from_text(std::string_view text);
  /// Inverse of to_json(); throws FormatError.
  static CharacterTokenizer from_json(std::string_view json);
  /// {"type": "character", "characters": "..."}: what checkpoints store as an attachment.
  std::string to_json() const;

  /// Number of ids.
  std::int64_t vocab_size() const { return static_cast<std::int64_t>(characters_.size()); }
  /// Ids of `text`. Throws DataError naming the first unknown character and its position (in
  /// characters, from 0); FormatError for invalid UTF-8.
  std::vector<std::int32_t> encode(std::string_view text) const;
  /// UTF-8 of `ids`. Throws DataError for an id outside the vocabulary.
  std::string decode(std::span<const std::int32_t> ids) const;
  /// What to begin a text with where nobody says: a line break, or the first character there is.
  std::string start_text() const;
  /// All characters in order of id, as UTF-8.
  std::string characters() const;

 private:
  explicit CharacterTokenizer(std::vector<char32_t> characters);

  std::vector<char32_t> characters_;  // sorted
  std::unordered_map<char32_t, std::int32_t> ids_;
};

}  // namespace weft
