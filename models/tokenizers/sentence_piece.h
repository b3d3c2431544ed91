// Text as subwords, as SentencePiece does it (Kudo and Richardson 2018): byte pairs (Sennrich et
// al. 2016), unigrams, words or characters. Blanks are part of the pieces, as U+2581 in front of a
// word, so that decoding needs no rules. Models are stored in SentencePiece's own format: its tools
// read them.
//
// SentencePiece's library is not used: Debian's carries an old protobuf inside whose symbols meet
// those of the protobuf that Weft needs, in either order a crash.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/models/tokenizers/encode_options.h"
#include "weft/models/tokenizers/encoding.h"
#include "weft/models/tokenizers/formats/sentence_piece_model.h"
#include "weft/models/tokenizers/special_ids.h"
#include "weft/models/tokenizers/subwords/subword_span.h"

namespace WEFT_API weft {

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

/// A model of SentencePiece. Immutable; copies share what they hold.
///
/// Models that Weft trained take runs of blanks (also tabs and line breaks) as one blank, those at
/// the ends of a text as none, but where they keep whitespace; texts must be UTF-8. All others do
/// what SentencePiece's library does: the same ids for the same bytes, whatever these are.
class SentencePieceTokenizer : public NothingAround {
 public:
  static constexpr const char* kType = "weft.tokenizer.sentence_piece";
  static constexpr const char* kUnit = "pieces";

  /// One of the best ways to cut a text.
  struct Cut {
    std::vector<std::int32_t> ids;
    double score = 0;  // the sum of log-probabilities
  };

  SentencePieceTokenizer();  // without any pieces
  /// Throws ArgumentError where the model's parts do not fit each other, FormatError for a compiled
  /// map that is none.
  explicit SentencePieceTokenizer(SentencePieceModel model);
  /// Learns pieces from `texts` (UTF-8): a function of texts and options. No piece has a blank
  /// inside, or letters beside digits or punctuation, or more than 16 characters. Throws
  /// ArgumentError for options out of range and a vocabulary that is too small for the characters;
  /// FormatError for invalid UTF-8.
  static SentencePieceTokenizer train(std::span<const std::string> texts,
                                      const SentencePieceOptions& options);
  /// The inverse of to_bytes(), also for SentencePiece's own models. Throws FormatError that says
  /// what is wrong or not supported.
  static SentencePieceTokenizer from_bytes(std::string_view bytes);
  /// What checkpoints store as an attachment of type kType.
  std::string to_bytes() const;
  /// The same model with other ids: what the users of a published model made of its own.
  SentencePieceTokenizer with_layout(SentencePieceModel::Layout layout) const;
  const SentencePieceModel& model() const;
  /// The tokenizer of texts that an encoder-decoder writes, with the same ids: mostly this one, but
  /// Marian's models have two.
  SentencePieceTokenizer targets() const;

  /// Number of ids.
  std::int64_t vocab_size() const;
  /// Ids of `text`, no special ones around it, nor in it: "</s>" is text. Unknown characters side
  /// by side are one unk_id(), or their bytes. Of models that Weft trained: throws FormatError for
  /// invalid UTF-8. Throws DataError for a word (of models with blanks inside of pieces: a text) of
  /// more than 16 MiB.
  std::vector<std::int32_t> encode(std::string_view text,
                                   TextPlace place = TextPlace::beginning) const;
  /// The same ids, each with the bytes of `text` that it came from. A blank in front of a text that
  /// is not there has none; of the bytes of an unknown character the last has all. Where
  /// `special_in_text`, what spells a special id or an added piece ("</s>") becomes that id, but in
  /// `plain`.
  std::vector<SubwordSpan> encode_spans(std::string_view text,
                                        TextPlace place = TextPlace::beginning,
                                        bool special_in_text = false,
                                        const PlainParts& plain = {}) const;
  /// The same with all that is known of them; of `options`, what concerns a text alone.
  Encoding encode_alone(std::string_view text, const EncodeOptions& options,
                        const TokenLimit& limit) const;
  /// The same as text: what each id stands for (unknown characters as they are).
  std::vector<std::string> pieces(std::string_view text) const;
  /// Up to `count` ways to cut `text`, the best first. Throws ArgumentError for other models than
  /// unigrams, DataError as Unigram::best.
  std::vector<Cut> best(std::string_view text, std::size_t count) const;
  /// Text of `ids`; special ones are left out if `options` does not keep their names, an unknown
  /// one is U+2047. Throws DataError for an id outside the vocabulary.
  std::string decode(std::span<const std::int32_t> ids, const DecodeOptions& options = {}) const;

  /// "\u2581the" for an id. Throws DataError.
  const std::string& piece(std::int32_t id) const;
  /// -1 where no id stands for exactly `piece`.
  std::int32_t find(std::string_view piece) const;

  /// The ids that no text becomes: 0 to 6 in what train() makes.
  const SpecialIds& special() const;
  std::int32_t pad_id() const { return special().pad; }
  std::int32_t unk_id() const { return special().unk; }
  std::int32_t bos_id() const { return special().bos; }
  std::int32_t eos_id() const { return special().eos; }
  std::int32_t cls_id() const { return special().cls; }
  std::int32_t sep_id() const { return special().sep; }
  std::int32_t mask_id() const { return special().mask; }
  /// True for those, and for other control ids of a model. Throws DataError for an id outside.
  bool is_special(std::int32_t id) const;
  /// True where a word begins with this id: its piece begins with a blank, or it is special, or one
  /// of the user's symbols. Throws DataError for an id outside.
  bool is_word_start(std::int32_t id) const;

 private:
  struct State;
  explicit SentencePieceTokenizer(std::shared_ptr<const State> state) : state_(std::move(state)) {}

  std::shared_ptr<const State> state_;
};

}  // namespace weft
