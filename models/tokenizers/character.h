// Text as a sequence of Unicode code points: the tokenizer of character models.
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

/// One id per code point that occurs in the training text, ids in order of code point. Immutable.
class CharacterTokenizer : public NothingAround {
 public:
  static constexpr const char* kType = "weft.tokenizer.character";
  static constexpr const char* kUnit = "characters";

  CharacterTokenizer() = default;  // of no text: an empty vocabulary
  /// The vocabulary of `text` (UTF-8). Throws FormatError with the byte offset where the text is
  /// not valid UTF-8, ArgumentError where it is empty.
  static CharacterTokenizer from_text(std::string_view text);
  /// The same characters behind ids for padding and end, 0 and 1.
  CharacterTokenizer with_ends() const;
  /// Inverse of to_bytes(); throws FormatError.
  static CharacterTokenizer from_bytes(std::string_view json);
  /// {"type": "character", "characters": "..."}, and "ends": true where there are ids for padding
  /// and end: what checkpoints store as an attachment.
  std::string to_bytes() const;

  /// Number of ids.
  std::int64_t vocab_size() const { return first_ + static_cast<std::int64_t>(characters_.size()); }
  const SpecialIds& special() const { return special_; }
  /// Ids of `text`. Throws DataError naming the first unknown character and its position (in
  /// characters, from 0); FormatError for invalid UTF-8.
  std::vector<std::int32_t> encode(std::string_view text,
                                   TextPlace place = TextPlace::beginning) const;
  /// The same with spans.
  Encoding encode_alone(std::string_view text, const EncodeOptions& options,
                        const TokenLimit& limit) const;
  /// The characters of `text`. Throws as encode().
  std::vector<std::string> pieces(std::string_view text) const;
  /// UTF-8 of `ids`, without padding and ends, if `options` does not keep these. Throws DataError
  /// for an id outside the vocabulary.
  std::string decode(std::span<const std::int32_t> ids, const DecodeOptions& options = {}) const;
  /// A character, "<pad>" or "</s>". Throws DataError for an id outside the vocabulary.
  std::string piece(std::int32_t id) const;
  /// -1 where no id stands for exactly `piece`.
  std::int32_t find(std::string_view piece) const;
  /// True for padding and end. Throws DataError for an id outside the vocabulary.
  bool is_special(std::int32_t id) const;
  /// True: each character may be hidden on its own. Throws DataError for an id outside.
  bool is_word_start(std::int32_t id) const;
  /// All characters in order of id, as UTF-8.
  std::string characters() const;

 private:
  explicit CharacterTokenizer(std::vector<char32_t> characters);
  void check(std::int32_t id) const;

  std::vector<char32_t> characters_;  // sorted
  std::unordered_map<char32_t, std::int32_t> ids_;
  std::int32_t first_ = 0;  // id of a character
  SpecialIds special_;
};

}  // namespace weft
