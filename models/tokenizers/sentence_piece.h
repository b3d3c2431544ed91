// Subword tokenization compatible with SentencePiece (Kudo and Richardson 2018): BPE (Sennrich et
// al. 2016), unigram, word and character models. Spaces are part of the pieces, as U+2581 in front
// of a word, so decoding needs no rules. Models are stored in SentencePiece's own format and can be
// read by its tools.
//
// The SentencePiece library itself is not used: Debian's build bundles an old protobuf whose
// symbols collide with those of the protobuf that Weft needs. The process crashes, whichever of the
// two comes first.
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
  /// Maximum vocabulary size, including special tokens. The result is smaller if the text does not
  /// yield enough pieces.
  std::int64_t vocab = 8000;
  /// User-defined symbols ("<en>"): each is always one id, wherever it occurs in a text, and takes
  /// precedence over all other pieces.
  std::vector<std::string> symbols = {};
  /// Fraction of the text's characters that the vocabulary must cover, in (0, 1]. The rarest
  /// characters beyond that are unknown.
  double character_coverage = 0.9995;
  /// If true, decoding restores the text exactly, with line breaks, tabs and every space.
  bool keep_whitespace = false;
};

/// A SentencePiece model. Immutable; copies share their state.
///
/// Models trained by Weft collapse each run of whitespace (including tabs and line breaks) to one
/// space and strip whitespace at the ends of a text, unless they keep whitespace. Their input must
/// be UTF-8. All other models reproduce the SentencePiece library: the same ids for the same bytes,
/// for any bytes.
class SentencePieceTokenizer : public NoSpecialTokens {
 public:
  static constexpr const char* kType = "weft.tokenizer.sentence_piece";
  static constexpr const char* kUnit = "pieces";

  /// One of the n best segmentations of a text.
  struct Segmentation {
    std::vector<std::int32_t> ids;
    double score = 0;  // the sum of log-probabilities
  };

  SentencePieceTokenizer();  // without any pieces
  /// Throws ArgumentError if the parts of the model are inconsistent, FormatError for an invalid
  /// compiled character map.
  explicit SentencePieceTokenizer(SentencePieceModel model);
  /// Trains a BPE model on `texts` (UTF-8). The result depends on `texts` and `options` only.
  /// Pieces contain no space except at the start, do not mix letters, digits and punctuation, and
  /// have at most 16 characters. Throws ArgumentError for options out of range or a vocabulary that
  /// is too small for the characters, FormatError for invalid UTF-8.
  static SentencePieceTokenizer train(std::span<const std::string> texts,
                                      const SentencePieceOptions& options);
  /// Inverse of to_bytes(); also reads SentencePiece's own models. Throws FormatError with the
  /// reason for invalid or unsupported models.
  static SentencePieceTokenizer from_bytes(std::string_view bytes);
  /// Serialises the model for a checkpoint attachment of type kType.
  std::string to_bytes() const;
  /// Returns the same model with the ids of `layout`. Published models often renumber the pieces of
  /// their SentencePiece model.
  SentencePieceTokenizer with_layout(SentencePieceModel::Layout layout) const;
  const SentencePieceModel& model() const;
  /// Returns the tokenizer for the target texts of an encoder-decoder, which has the same ids. It
  /// is this tokenizer except for Marian models, which have two.
  SentencePieceTokenizer targets() const;

  /// Number of ids.
  std::int64_t vocab_size() const;
  /// Returns the ids of `text`. No special tokens are added or recognised: "</s>" is plain text.
  /// Adjacent unknown characters become one unk_id(), or their bytes. Models trained by Weft throw
  /// FormatError for invalid UTF-8. Throws DataError for a word of more than 16 MiB (for models
  /// with spaces inside pieces, a text of more than 16 MiB).
  std::vector<std::int32_t> encode(std::string_view text,
                                   TextPlace place = TextPlace::beginning) const;
  /// As encode(), with the bytes of `text` that each id came from. A space that was inserted in
  /// front of the text has an empty span. If an unknown character is encoded as several byte
  /// pieces, the last one has the whole span. If `special_in_text`, the names of special ids and of
  /// added pieces ("</s>") become those ids, except in `plain`.
  std::vector<SubwordSpan> encode_spans(std::string_view text,
                                        TextPlace place = TextPlace::beginning,
                                        bool special_in_text = false,
                                        const PlainParts& plain = {}) const;
  /// As encode_spans(), but returns an Encoding. `limit` is ignored, and so are the options for
  /// special tokens around a text, truncation and padding.
  Encoding encode_alone(std::string_view text, const EncodeOptions& options,
                        const TokenLimit& limit) const;
  /// Returns the piece of each id of `text`; unknown characters are returned unchanged.
  std::vector<std::string> pieces(std::string_view text) const;
  /// Returns up to `count` segmentations of `text`, the best first. Throws ArgumentError unless the
  /// model is a unigram model, DataError as Unigram::best() does.
  std::vector<Segmentation> best(std::string_view text, std::size_t count) const;
  /// Returns the text of `ids`. Special ids are omitted unless `options` keeps their names. The
  /// unknown id becomes U+2047. Throws DataError for an id outside the vocabulary.
  std::string decode(std::span<const std::int32_t> ids, const DecodeOptions& options = {}) const;

  /// Returns the piece of an id, for example "\u2581the". Throws DataError for an id outside the
  /// vocabulary.
  const std::string& piece(std::int32_t id) const;
  /// Returns the id of exactly `piece`, or -1.
  std::int32_t find(std::string_view piece) const;

  /// The special ids. Of these, encode() returns only unk_id(). In models made by train(), they are
  /// ids 0 to 6.
  const SpecialIds& special() const;
  std::int32_t pad_id() const { return special().pad; }
  std::int32_t unk_id() const { return special().unk; }
  std::int32_t bos_id() const { return special().bos; }
  std::int32_t eos_id() const { return special().eos; }
  std::int32_t cls_id() const { return special().cls; }
  std::int32_t sep_id() const { return special().sep; }
  std::int32_t mask_id() const { return special().mask; }
  /// True for these and for other control ids of the model. Throws DataError for an id outside the
  /// vocabulary.
  bool is_special(std::int32_t id) const;
  /// True if a word starts with this id: its piece starts with U+2581, or it is a special id or a
  /// user-defined symbol. Throws DataError for an id outside the vocabulary.
  bool is_word_start(std::int32_t id) const;

 private:
  struct State;
  explicit SentencePieceTokenizer(std::shared_ptr<const State> state) : state_(std::move(state)) {}

  std::shared_ptr<const State> state_;
};

}  // namespace weft
