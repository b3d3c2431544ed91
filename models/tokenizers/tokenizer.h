// Text as ids and back: the one tokenizer that all models of text know.
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

#include "weft/models/tokenizers/character.h"
#include "weft/models/tokenizers/encode_options.h"
#include "weft/models/tokenizers/encoding.h"
#include "weft/models/tokenizers/sentence_piece.h"
#include "weft/models/tokenizers/special_ids.h"
#include "weft/models/tokenizers/subword_tokenizer.h"

namespace WEFT_API weft {

/// What a kind of tokenizer offers. Tokenizer says what each means.
template <class T>
concept TokenizerKind = requires(const T& t, std::string_view text, std::int32_t id,
                                 std::span<const std::int32_t> ids, TextPlace place,
                                 std::vector<Encoding> texts, bool yes) {
  { T::kType } -> std::convertible_to<std::string_view>;  // in files
  { T::kUnit } -> std::convertible_to<std::string_view>;  // "pieces"
  { T::from_bytes(text) } -> std::same_as<T>;
  { t.to_bytes() } -> std::same_as<std::string>;
  { t.vocab_size() } -> std::same_as<std::int64_t>;
  { t.special() } -> std::convertible_to<SpecialIds>;
  { t.encode(text, place) } -> std::same_as<std::vector<std::int32_t>>;
  // A text alone: nothing around it, cut off or filled up.
  { t.encode_alone(text, EncodeOptions(), TokenLimit()) } -> std::same_as<Encoding>;
  { t.added(yes) } -> std::same_as<std::size_t>;  // ids around one text, or two
  { t.put_around(texts, yes) } -> std::same_as<Encoding>;
  { t.pieces(text) } -> std::same_as<std::vector<std::string>>;
  { t.decode(ids, DecodeOptions()) } -> std::same_as<std::string>;
  { t.piece(id) } -> std::convertible_to<std::string>;
  { t.find(text) } -> std::same_as<std::int32_t>;
  { t.is_special(id) } -> std::same_as<bool>;
  { t.is_word_start(id) } -> std::same_as<bool>;
};

/// A tokenizer of any kind. Immutable. A kind is a class of its own, which satisfies TokenizerKind,
/// and a name in the list below: files, folders, tasks and commands then know it.
class Tokenizer {
 public:
  using Kinds = std::variant<CharacterTokenizer, SentencePieceTokenizer, SubwordTokenizer>;

  Tokenizer() = default;  // of no characters
  template <TokenizerKind Kind>
  requires std::is_constructible_v<Kinds, std::in_place_type_t<Kind>, Kind> Tokenizer(Kind kind)
      : kinds_(std::in_place_type<Kind>, std::move(kind)) {}

  /// Inverse of type() and bytes(); throws FormatError, also for a type that is not known.
  static Tokenizer from_bytes(std::string_view type, std::string_view bytes);
  /// What checkpoints store as an attachment: "weft.tokenizer.character", say.
  std::string type() const;
  std::string bytes() const;

  /// Number of ids.
  std::int64_t vocab_size() const;
  const SpecialIds& special() const;
  std::int32_t pad_id() const { return special().pad; }
  std::int32_t unk_id() const { return special().unk; }
  std::int32_t bos_id() const { return special().bos; }
  std::int32_t eos_id() const { return special().eos; }
  std::int32_t cls_id() const { return special().cls; }
  std::int32_t sep_id() const { return special().sep; }
  std::int32_t mask_id() const { return special().mask; }
  /// True for those, and for others that no text becomes. Throws DataError for an id outside.
  bool is_special(std::int32_t id) const;
  /// True where a word may begin with this id. Throws DataError for an id outside.
  bool is_word_start(std::int32_t id) const;

  /// Ids of `text`, no special ones around it. What spells a special id is text to characters and
  /// SentencePiece's pieces; the tokens of a tokenizer.json are found. Throws DataError for a
  /// character that has no id, where there is no unk_id() for it; FormatError for invalid UTF-8.
  std::vector<std::int32_t> encode(std::string_view text,
                                   TextPlace place = TextPlace::beginning) const;
  /// The same as text: what each id stands for (unknown characters as they are).
  std::vector<std::string> pieces(std::string_view text) const;
  /// Text of `ids`; special ones are left out. A kind whose ids are bytes gives the bytes, also
  /// where they end inside of a character (TextStream waits for the rest). Throws DataError for an
  /// id outside the vocabulary.
  std::string decode(std::span<const std::int32_t> ids) const;
  std::string decode(std::span<const std::int64_t> ids) const;

  // Texts with all that models want to know of them.

  /// One text, or two. What spells a special id becomes it, of SentencePiece's pieces, too, where
  /// `options` does not take it as text. Throws as encode(), ArgumentError where truncation cannot
  /// do what it says.
  Encoding encode_text(std::string_view text, const EncodeOptions& options = {}) const;
  Encoding encode_pair(const TokenizerInput& texts, const EncodeOptions& options = {}) const;
  /// All of a batch, on all threads, filled up to one length where `options` has padding. Throws
  /// as encode_pair() of the first that fails.
  std::vector<Encoding> encode_batch(std::span<const TokenizerInput> batch,
                                     const EncodeOptions& options = {}) const;
  /// The truncation and the padding that the tokenizer's file asks for.
  EncodeOptions default_options() const;
  /// Text of `ids`, special ones among them if `options` says so.
  std::string decode(std::span<const std::int32_t> ids, const DecodeOptions& options) const;

  /// How people see an id: "e", "\u2581the", "</s>". Throws DataError.
  std::string piece(std::int64_t id) const;
  /// -1 where no id stands for exactly `piece`.
  std::int32_t find(std::string_view piece) const;
  /// What ids are, for people: "characters", "pieces".
  std::string_view unit() const;
  bool reads_characters() const;
  /// visit(kind), whichever it is: for who asks what only one kind knows.
  template <class Visit>
  decltype(auto) visit(Visit&& visit) const {
    return std::visit(std::forward<Visit>(visit), kinds_);
  }

  /// What a text begins with where nobody says: a line break where a text can have one, else the
  /// id that stands in front of texts, else the first that stands for text. Throws ArgumentError
  /// where there is none of these.
  std::vector<std::int32_t> start_ids() const;

  // Texts that an id ends, as encoder-decoders read and write them.

  /// The tokenizer of the texts that a model writes, with the same ids. Mostly this one; some
  /// published translators cut the two languages by models of their own.
  Tokenizer targets() const;
  /// The same tokenizer with ids for padding and end, which characters otherwise do without. Throws
  /// ArgumentError where it is of another kind and lacks one.
  Tokenizer with_ends() const;
  /// Ids of `text` and the end. Throws as encode(), ArgumentError where there is no id for the end.
  std::vector<std::int32_t> encode_to_end(std::string_view text) const;
  /// The text of `ids` up to the first end, always UTF-8. Throws as decode().
  std::string decode_to_end(std::span<const std::int64_t> ids) const;

 private:
  Kinds kinds_;
};

}  // namespace weft
