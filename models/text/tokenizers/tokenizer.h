// Converts text to ids and ids to text. All text models use this class.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "weft/models/text/tokenizers/base/encode_options.h"
#include "weft/models/text/tokenizers/base/encoding.h"
#include "weft/models/text/tokenizers/base/special_ids.h"
#include "weft/models/text/tokenizers/character.h"
#include "weft/models/text/tokenizers/sentence_piece/sentence_piece.h"
#include "weft/models/text/tokenizers/subword_tokenizer.h"

namespace WEFT_API weft {

/// The interface of a tokenizer class. The members are documented in Tokenizer.
template <class T>
concept TokenizerKind = requires(const T& t, std::string_view text, std::int32_t id,
                                 std::span<const std::int32_t> ids, TextPlace place,
                                 std::vector<Encoding> texts, bool yes) {
  { T::kType } -> std::convertible_to<std::string_view>;  // the attachment type in files
  /// the name of its ids, for example "pieces"
  { T::kUnit } -> std::convertible_to<std::string_view>;
  { T::from_bytes(text) } -> std::same_as<T>;
  { t.to_bytes() } -> std::same_as<std::string>;
  { t.vocab_size() } -> std::same_as<std::int64_t>;
  { t.special() } -> std::convertible_to<SpecialIds>;
  { t.encode(text, place) } -> std::same_as<std::vector<std::int32_t>>;
  // Encodes a single text without adding special tokens, truncation or padding.
  { t.encode_alone(text, EncodeOptions(), TokenLimit()) } -> std::same_as<Encoding>;
  /// number of special tokens added to a text or a pair
  { t.added(yes) } -> std::same_as<std::size_t>;
  { t.add_special_tokens(texts, yes) } -> std::same_as<Encoding>;
  { t.pieces(text) } -> std::same_as<std::vector<std::string>>;
  { t.decode(ids, DecodeOptions()) } -> std::same_as<std::string>;
  { t.piece(id) } -> std::convertible_to<std::string>;
  { t.find(text) } -> std::same_as<std::int32_t>;
  { t.is_special(id) } -> std::same_as<bool>;
  { t.is_word_start(id) } -> std::same_as<bool>;
};

/// A tokenizer of any type. Immutable. To add a type, write a class that satisfies TokenizerKind
/// and add it to `Kinds`; files, folders, tasks and commands then support it.
class Tokenizer {
 public:
  using Kinds = std::variant<CharacterTokenizer, SentencePieceTokenizer, SubwordTokenizer>;

  Tokenizer() = default;  // a CharacterTokenizer with an empty vocabulary
  template <TokenizerKind Kind>
  requires std::is_constructible_v<Kinds, std::in_place_type_t<Kind>, Kind> Tokenizer(Kind kind)
      : kinds_(std::in_place_type<Kind>, std::move(kind)) {}

  /// Inverse of type() and bytes(). Throws FormatError if `type` is unknown or `bytes` are invalid.
  static Tokenizer from_bytes(std::string_view type, std::string_view bytes);
  /// Returns the type of the checkpoint attachment that stores the tokenizer, for example
  /// "weft.tokenizer.character".
  std::string type() const;
  /// Returns the contents of that attachment.
  std::string bytes() const;

  /// Returns the number of ids.
  std::int64_t vocab_size() const;
  const SpecialIds& special() const;
  std::int32_t pad_id() const { return special().pad; }
  std::int32_t unk_id() const { return special().unk; }
  std::int32_t bos_id() const { return special().bos; }
  std::int32_t eos_id() const { return special().eos; }
  std::int32_t cls_id() const { return special().cls; }
  std::int32_t sep_id() const { return special().sep; }
  std::int32_t mask_id() const { return special().mask; }
  /// Returns true for the special ids above and for other ids that do not represent text. Throws
  /// DataError if `id` is outside the vocabulary.
  bool is_special(std::int32_t id) const;
  /// Returns true if a word may start with this id. Throws DataError if `id` is outside the
  /// vocabulary.
  bool is_word_start(std::int32_t id) const;

  /// Returns the ids of `text` without adding special tokens. Character and SentencePiece
  /// tokenizers treat the name of a special token in `text` as plain text; a tokenizer defined by a
  /// tokenizer.json recognises its added tokens. Throws DataError if a character is outside the
  /// vocabulary and there is no unk_id(), and FormatError for invalid UTF-8.
  std::vector<std::int32_t> encode(std::string_view text,
                                   TextPlace place = TextPlace::beginning) const;
  /// Returns the piece for each id of `text`. Unknown characters are returned unchanged.
  std::vector<std::string> pieces(std::string_view text) const;
  /// Returns the text of `ids` without special ids. Byte-level tokenizers return the raw bytes,
  /// even if these end inside a character; TextStream can be used to wait for the rest of the
  /// character. Throws DataError if an id is outside the vocabulary.
  std::string decode(std::span<const std::int32_t> ids) const;
  std::string decode(std::span<const std::int64_t> ids) const;

  // Functions for encoding with special tokens, spans, type ids and masks.

  /// Encodes a text or a pair of texts. The name of a special token in a text is encoded as its id,
  /// also by SentencePiece tokenizers, unless `options` specifies that it is plain text. Throws the
  /// same exceptions as encode(), and ArgumentError if the truncation settings cannot be satisfied.
  Encoding encode_text(std::string_view text, const EncodeOptions& options = {}) const;
  Encoding encode_pair(const TokenizerInput& texts, const EncodeOptions& options = {}) const;
  /// Encodes a batch on all threads. Pads the batch to a common length if `options` enables
  /// padding. Throws the exception of the first input that fails; see encode_pair().
  std::vector<Encoding> encode_batch(std::span<const TokenizerInput> batch,
                                     const EncodeOptions& options = {}) const;
  /// Returns the default options, with the truncation and padding settings in the tokenizer's file.
  EncodeOptions default_options() const;
  /// Returns the text of `ids`. Special ids are included if `options` keeps them.
  std::string decode(std::span<const std::int32_t> ids, const DecodeOptions& options) const;

  /// Returns the text of an id for display, for example "e", "\u2581the" or "</s>". Throws
  /// DataError if `id` is outside the vocabulary.
  std::string piece(std::int64_t id) const;
  /// Returns the id whose piece is exactly `piece`, or -1 if there is none.
  std::int32_t find(std::string_view piece) const;
  /// Returns the name of the ids for display: "characters", "pieces" or "tokens".
  std::string_view unit() const;
  bool reads_characters() const;
  /// Calls visit(kind) with the concrete tokenizer and returns the result. This gives access to
  /// members that only one class has.
  template <class Visit>
  decltype(auto) visit(Visit&& visit) const {
    return std::visit(std::forward<Visit>(visit), kinds_);
  }

  /// Returns the ids with which generation starts by default: a line break if it can be encoded,
  /// else bos_id(), else the first id that is not special. Throws ArgumentError if none of these
  /// exists.
  std::vector<std::int32_t> start_ids() const;

  // Functions for texts that end with eos_id(), as encoder-decoder models read and generate them.

  /// Returns the tokenizer for the target texts of a model. It uses the same ids as this tokenizer
  /// and is usually the same tokenizer, but some published translation models have a separate
  /// SentencePiece model for each language.
  Tokenizer targets() const;
  /// Returns this tokenizer with ids for padding and end of sequence, which a CharacterTokenizer
  /// does not have by default. Throws ArgumentError if a tokenizer of another type lacks one of
  /// them.
  Tokenizer with_ends() const;
  /// Returns the ids of `text` followed by eos_id(). Throws the same exceptions as encode(), and
  /// ArgumentError if there is no eos_id().
  std::vector<std::int32_t> encode_to_end(std::string_view text) const;
  /// Returns the text of `ids` before the first eos_id(). The result is always valid UTF-8. Throws
  /// the same exceptions as decode().
  std::string decode_to_end(std::span<const std::int64_t> ids) const;

 private:
  Kinds kinds_;
};

}  // namespace weft
