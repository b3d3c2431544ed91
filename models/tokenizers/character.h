// A tokenizer whose tokens are Unicode code points, for character-level models.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "weft/models/tokenizers/encode_options.h"
#include "weft/models/tokenizers/encoding.h"
#include "weft/models/tokenizers/special_ids.h"

namespace WEFT_API weft {

/// Assigns one id to each code point of the training text, in code point order. Immutable.
class CharacterTokenizer : public NoSpecialTokens {
 public:
  static constexpr const char* kType = "weft.tokenizer.character";
  static constexpr const char* kUnit = "characters";

  CharacterTokenizer() = default;  // empty vocabulary
  /// Builds the vocabulary of `text` (UTF-8). Throws FormatError with the byte offset if the text
  /// is not valid UTF-8, ArgumentError if it is empty.
  static CharacterTokenizer from_text(std::string_view text);
  /// Returns a tokenizer with the same characters and two special tokens in front of them: padding
  /// (id 0) and end of sequence (id 1).
  CharacterTokenizer with_ends() const;
  /// Inverse of to_bytes(). Throws FormatError.
  static CharacterTokenizer from_bytes(std::string_view json);
  /// Serialises the tokenizer for a checkpoint attachment: {"type": "character", "characters":
  /// "..."}, with "ends": true if there are ids for padding and end of sequence.
  std::string to_bytes() const;

  /// Number of ids.
  std::int64_t vocab_size() const { return first_ + static_cast<std::int64_t>(characters_.size()); }
  const SpecialIds& special() const { return special_; }
  /// Returns the ids of `text`. Throws DataError that names the first unknown character and its
  /// position (in characters, from 0), FormatError for invalid UTF-8.
  std::vector<std::int32_t> encode(std::string_view text,
                                   TextPlace place = TextPlace::beginning) const;
  /// As encode(), with spans and the other fields of Encoding. The limit is ignored.
  Encoding encode_alone(std::string_view text, const EncodeOptions& options,
                        const TokenLimit& limit) const;
  /// Returns the characters of `text`. Throws as encode() does.
  std::vector<std::string> pieces(std::string_view text) const;
  /// Returns the text of `ids` as UTF-8. Padding and end tokens are omitted unless `options` keeps
  /// special tokens. Throws DataError for an id outside the vocabulary.
  std::string decode(std::span<const std::int32_t> ids, const DecodeOptions& options = {}) const;
  /// Returns a character, "<pad>" or "</s>". Throws DataError for an id outside the vocabulary.
  std::string piece(std::int32_t id) const;
  /// Returns the id of exactly `piece`, or -1.
  std::int32_t find(std::string_view piece) const;
  /// True for padding and end of sequence. Throws DataError for an id outside the vocabulary.
  bool is_special(std::int32_t id) const;
  /// Always true: each character may be masked separately. Throws DataError for an id outside the
  /// vocabulary.
  bool is_word_start(std::int32_t id) const;
  /// Returns all characters in order of id, as UTF-8.
  std::string characters() const;

 private:
  explicit CharacterTokenizer(std::vector<char32_t> characters);
  void check(std::int32_t id) const;

  std::vector<char32_t> characters_;  // sorted
  std::unordered_map<char32_t, std::int32_t> ids_;
  std::int32_t first_ = 0;  // the first id that is a character
  SpecialIds special_;
};

}  // namespace weft
