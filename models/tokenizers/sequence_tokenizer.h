// Whole texts as ids and back: what encoder-decoders read and write.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "weft/models/tokenizers/character.h"
#include "weft/models/tokenizers/sentence_piece.h"

namespace weft {

/// A text's ids, closed by an id that ends it, and an id that fills up shorter texts of a batch:
/// over characters or pieces. Immutable.
class SequenceTokenizer {
 public:
  SequenceTokenizer() = default;  // of no characters
  /// Ids 0 and 1 are padding and end, the tokenizer's own ids follow.
  explicit SequenceTokenizer(CharacterTokenizer characters);
  /// Ids are the tokenizer's own. Throws ArgumentError where it has no id for padding or end.
  explicit SequenceTokenizer(SentencePieceTokenizer pieces);
  /// Inverse of type() and bytes(); throws FormatError.
  static SequenceTokenizer from_bytes(std::string_view type, std::string_view bytes);
  /// What checkpoints store as an attachment: "weft.tokenizer.character" or
  /// "weft.tokenizer.sentence_piece".
  std::string type() const;
  std::string bytes() const;

  std::int64_t vocab_size() const;
  std::int32_t padding_id() const;
  std::int32_t end_id() const;
  /// Ids of `text` and the end. Throws DataError for a character that is not in the vocabulary
  /// (pieces have an id for it), FormatError for invalid UTF-8.
  std::vector<std::int32_t> encode(std::string_view text) const;
  /// The text of `ids` up to the first end, padding left out. Throws DataError for an id outside
  /// the vocabulary.
  std::string decode(std::span<const std::int64_t> ids) const;
  /// How people see an id: a character, or a piece; padding and end have names.
  std::string piece(std::int64_t id) const;
  /// True where ids are characters.
  bool reads_characters() const;
  /// What makes the pieces. Throws ArgumentError where ids are characters.
  const SentencePieceTokenizer& pieces() const;

 private:
  std::variant<CharacterTokenizer, SentencePieceTokenizer> tokenizer_;
};

}  // namespace weft
