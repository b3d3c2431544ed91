// A tokenizer whose tokens are Unicode code points, for character-level models.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "weft/models/text/tokenizers/base/encode_options.h"
#include "weft/models/text/tokenizers/base/encoding.h"
#include "weft/models/text/tokenizers/base/special_ids.h"

namespace WEFT_API weft {

/// Assigns one id to each code point of the training text, in code point order. Immutable.
class CharacterTokenizer : public NoSpecialTokens {
 public:
  static constexpr const char* kType = "weft.tokenizer.character";
  static constexpr const char* kUnit = "characters";

  CharacterTokenizer() = default;  // empty vocabulary
  /// Builds the vocabulary of `text`. Throws FormatError with the byte offset if the text is not
  /// valid UTF-8, and ArgumentError if it is empty.
  static CharacterTokenizer from_text(std::string_view text);
  /// Returns a tokenizer with the same characters, preceded by two special tokens: padding (id 0)
  /// and end of sequence (id 1).
  CharacterTokenizer with_ends() const;
  /// Inverse of to_bytes(). Throws FormatError if `json` is invalid.
  static CharacterTokenizer from_bytes(std::string_view json);
  /// Serialises the tokenizer as a checkpoint attachment: {"type": "character", "characters":
  /// "..."}, with "ends": true if there are ids for padding and end of sequence.
  std::string to_bytes() const;

  /// Returns the number of ids.
  std::int64_t vocab_size() const { return first_ + static_cast<std::int64_t>(characters_.size()); }
  const SpecialIds& special() const { return special_; }
  /// Returns the ids of `text`. Throws a DataError that names the first unknown character and its
  /// position (in characters, from 0), and FormatError for invalid UTF-8.
  std::vector<std::int32_t> encode(std::string_view text,
                                   TextPlace place = TextPlace::beginning) const;
  /// Like encode(), but also returns spans and the other fields of Encoding. Ignores the limit.
  Encoding encode_alone(std::string_view text, const EncodeOptions& options,
                        const TokenLimit& limit) const;
  /// Returns the characters of `text`. Throws the same exceptions as encode().
  std::vector<std::string> pieces(std::string_view text) const;
  /// Returns the text of `ids` as UTF-8. Padding and end tokens are omitted unless `options` keeps
  /// special tokens. Throws DataError if an id is outside the vocabulary.
  std::string decode(std::span<const std::int32_t> ids, const DecodeOptions& options = {}) const;
  /// Returns the character of an id, or "<pad>" or "</s>". Throws DataError if `id` is outside the
  /// vocabulary.
  std::string piece(std::int32_t id) const;
  /// Returns the id whose piece is exactly `piece`, or -1 if there is none.
  std::int32_t find(std::string_view piece) const;
  /// Returns true for padding and end of sequence. Throws DataError if `id` is outside the
  /// vocabulary.
  bool is_special(std::int32_t id) const;
  /// Always returns true, because each character may be masked separately. Throws DataError if `id`
  /// is outside the vocabulary.
  bool is_word_start(std::int32_t id) const;
  /// Returns all characters in order of id, encoded as UTF-8.
  std::string characters() const;

 private:
  explicit CharacterTokenizer(std::vector<char32_t> characters);
  void check(std::int32_t id) const;

  std::vector<char32_t> characters_;  // sorted
  std::unordered_map<char32_t, std::int32_t> ids_;
  std::int32_t first_ = 0;  // the first id that represents a character
  SpecialIds special_;
};

}  // namespace weft
