// Text as subwords: byte-pair encoding (Sennrich et al. 2016) as SentencePiece does it (Kudo and
// Richardson 2018). Blanks are part of the pieces, as U+2581 in front of a word, so that decoding
// needs no rules. Models are stored in SentencePiece's own format: its tools read them.
//
// SentencePiece's library is not used: Debian's carries an old protobuf inside whose symbols meet
// those of the protobuf that Weft needs, in either order a crash.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "weft/models/tokenizers/special_ids.h"

namespace weft {

struct SentencePieceOptions {
  /// Ids, the special ones among them: at most so many, fewer where the text does not give them.
  std::int64_t vocab = 8000;
  /// Always one id each, wherever they stand in a text ("<en>"): they are found before any other.
  std::vector<std::string> symbols = {};
  /// Share of the text's characters that the vocabulary must have, in (0, 1]; the rarest of the
  /// rest are unknown.
  double character_coverage = 0.9995;
  /// Texts come back as they were, with line breaks, tabs and every blank.
  bool keep_whitespace = false;
};

/// A byte-pair model. Immutable. Runs of blanks (also tabs and line breaks) count as one blank,
/// those at the ends of a text as none, but in models that keep whitespace.
class SentencePieceTokenizer {
 public:
  static constexpr const char* kType = "weft.tokenizer.sentence_piece";
  static constexpr const char* kUnit = "pieces";

  SentencePieceTokenizer() = default;  // without any pieces
  /// Learns pieces from `texts` (UTF-8): a function of texts and options. No piece has a blank
  /// inside, or letters beside digits or punctuation, or more than 16 characters. Throws
  /// ArgumentError for options out of range and a vocabulary that is too small for the characters;
  /// FormatError for invalid UTF-8.
  static SentencePieceTokenizer train(std::span<const std::string> texts,
                                      const SentencePieceOptions& options);
  /// The inverse of to_bytes(), also for SentencePiece's own byte-pair models that do not change
  /// characters (normalization "identity"). Throws FormatError that says what is wrong or not
  /// supported.
  static SentencePieceTokenizer from_bytes(std::string_view bytes);
  /// What checkpoints store as an attachment of type kType.
  std::string to_bytes() const;

  /// Number of ids.
  std::int64_t vocab_size() const { return static_cast<std::int64_t>(pieces_.size()); }
  /// Ids of `text`, no special ones around it; unknown characters side by side are one unk_id().
  /// Throws FormatError for invalid UTF-8, DataError for a word (of models with blanks inside of
  /// pieces: a text) of more than 16 MiB.
  std::vector<std::int32_t> encode(std::string_view text,
                                   TextPlace place = TextPlace::beginning) const;
  /// The same as text: what each id stands for (unknown characters as they are).
  std::vector<std::string> pieces(std::string_view text) const;
  /// Text of `ids`; special ones are left out, an unknown one is U+2047. Throws DataError for an id
  /// outside the vocabulary.
  std::string decode(std::span<const std::int32_t> ids) const;

  /// "\u2581the" for an id. Throws DataError.
  const std::string& piece(std::int32_t id) const;
  /// -1 where no id stands for exactly `piece`.
  std::int32_t find(std::string_view piece) const;

  /// The ids that no text becomes: 0 to 6 in what train() makes.
  const SpecialIds& special() const { return special_; }
  std::int32_t pad_id() const { return special_.pad; }
  std::int32_t unk_id() const { return special_.unk; }
  std::int32_t bos_id() const { return special_.bos; }
  std::int32_t eos_id() const { return special_.eos; }
  std::int32_t cls_id() const { return special_.cls; }
  std::int32_t sep_id() const { return special_.sep; }
  std::int32_t mask_id() const { return special_.mask; }
  /// True for those, and for other control ids of a model. Throws DataError for an id outside.
  bool is_special(std::int32_t id) const;
  /// True where a word begins with this id: its piece begins with a blank, or it is special, or one
  /// of the user's symbols. Throws DataError for an id outside.
  bool is_word_start(std::int32_t id) const;

 private:
  enum class Kind : std::uint8_t { normal, unknown, control, symbol };
  struct Piece {
    std::string text;
    float score;  // the best is merged first
    Kind kind;
  };
  struct Found {  // in a normalised text
    std::size_t begin, size;
    std::int32_t id;
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };

  SentencePieceTokenizer(std::vector<Piece> pieces, bool keep_whitespace);
  std::string normalised(std::string_view text, TextPlace place) const;
  const Piece& at(std::int32_t id) const;
  std::vector<Found> segment(std::string_view text) const;
  std::vector<Found> segment_part(std::string_view text) const;
  void merge(std::string_view text, std::vector<Found>& found) const;

  std::vector<Piece> pieces_;
  std::unordered_map<std::string, std::int32_t, Hash, std::equal_to<>> ids_;
  std::size_t longest_symbol_ = 0;  // in bytes
  bool crosses_words_ = false;      // a piece has a blank inside
  bool keep_whitespace_ = false;
  SpecialIds special_;
};

}  // namespace weft
