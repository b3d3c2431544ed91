// Subword tokenization compatible with SentencePiece (Kudo and Richardson 2018): BPE (Sennrich et
// al. 2016), unigram, word and character models. Spaces are part of the pieces (U+2581 before a
// word), so decoding requires no rules. Models are stored in SentencePiece's own format and can be
// read by its tools.
//
// The SentencePiece library itself is not used, because Debian's build bundles an old version of
// protobuf. Its symbols collide with those of the protobuf version that Weft needs, and the process
// crashes regardless of which of the two comes first.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/models/text/tokenizers/base/encode_options.h"
#include "weft/models/text/tokenizers/base/encoding.h"
#include "weft/models/text/tokenizers/base/special_ids.h"
#include "weft/models/text/tokenizers/sentence_piece/sentence_piece_model.h"
#include "weft/models/text/tokenizers/subwords/subword_span.h"

namespace WEFT_API weft {

struct SentencePieceOptions {
  /// Maximum vocabulary size, including special tokens. The vocabulary is smaller if the text does
  /// not yield enough pieces.
  std::int64_t vocab = 8000;
  /// User-defined symbols, for example "<en>". Each symbol always has a single id, wherever it
  /// occurs in a text, and takes precedence over all other pieces.
  std::vector<std::string> symbols = {};
  /// Fraction of the characters in the text that the vocabulary must cover, in (0, 1]. The
  /// remaining characters, which are the rarest ones, become unknown.
  double character_coverage = 0.9995;
  /// If true, decoding restores the text exactly, including line breaks, tabs and all spaces.
  bool keep_whitespace = false;
};

/// A SentencePiece model. Immutable; copies share their state.
///
/// Models trained by Weft collapse each run of whitespace (including tabs and line breaks) to one
/// space and strip whitespace at the ends of a text, unless they keep whitespace. Their input must
/// be UTF-8. All other models return the same ids as the SentencePiece library for arbitrary bytes.
class SentencePieceTokenizer : public NoSpecialTokens {
 public:
  static constexpr const char* kType = "weft.tokenizer.sentence_piece";
  static constexpr const char* kUnit = "pieces";

  /// One of the n best segmentations of a text.
  struct Segmentation {
    std::vector<std::int32_t> ids;
    double score = 0;  // sum of log-probabilities
  };

  SentencePieceTokenizer();  // creates a tokenizer without pieces
  /// Throws ArgumentError if the parts of the model are inconsistent, and FormatError if its
  /// compiled character map is invalid.
  explicit SentencePieceTokenizer(SentencePieceModel model);
  /// Trains a BPE model on `texts` (UTF-8). The result depends only on `texts` and `options`.
  /// Pieces contain no space except at the start, do not mix letters, digits and punctuation, and
  /// have at most 16 characters. Throws ArgumentError if an option is out of range or the
  /// vocabulary is too small for the characters, and FormatError for invalid UTF-8.
  static SentencePieceTokenizer train(std::span<const std::string> texts,
                                      const SentencePieceOptions& options);
  /// Inverse of to_bytes(). Also reads models trained by SentencePiece. Throws a FormatError with
  /// the reason if the model is invalid or unsupported.
  static SentencePieceTokenizer from_bytes(std::string_view bytes);
  /// Serialises the model as a checkpoint attachment of type kType.
  std::string to_bytes() const;
  /// Returns a copy of this tokenizer whose ids follow `layout`. Many published models use ids that
  /// differ from the piece indices of their SentencePiece model.
  SentencePieceTokenizer with_layout(SentencePieceModel::Layout layout) const;
  const SentencePieceModel& model() const;
  /// Returns the tokenizer for the target texts of an encoder-decoder. It uses the same ids as this
  /// tokenizer. For Marian models, which have two tokenizers, it is the second one; for all other
  /// models, it is this tokenizer.
  SentencePieceTokenizer targets() const;

  /// Returns the number of ids.
  std::int64_t vocab_size() const;
  /// Returns the ids of `text`. No special tokens are added or recognised: "</s>" is plain text.
  /// Adjacent unknown characters become a single unk_id(), or the ids of their bytes. For models
  /// trained by Weft, throws FormatError for invalid UTF-8. Throws DataError if a word exceeds 16
  /// MiB, or if a text exceeds 16 MiB and the model has spaces inside pieces.
  std::vector<std::int32_t> encode(std::string_view text,
                                   TextPlace place = TextPlace::beginning) const;
  /// Like encode(), but also returns the bytes of `text` that each id represents. A space that was
  /// inserted before the text has an empty span. If an unknown character is encoded as several byte
  /// pieces, the last one has the whole span. If `special_in_text` is true, the names of special
  /// ids and of added pieces ("</s>") are encoded as those ids, except in `plain`.
  std::vector<SubwordSpan> encode_spans(std::string_view text,
                                        TextPlace place = TextPlace::beginning,
                                        bool special_in_text = false,
                                        const PlainParts& plain = {}) const;
  /// Like encode_spans(), but returns an Encoding. Ignores `limit` and the options for special
  /// tokens around a text, truncation and padding.
  Encoding encode_alone(std::string_view text, const EncodeOptions& options,
                        const TokenLimit& limit) const;
  /// Returns the piece for each id of `text`. Unknown characters are returned unchanged.
  std::vector<std::string> pieces(std::string_view text) const;
  /// Returns up to `count` segmentations of `text`, the best first. Throws ArgumentError if the
  /// model is not a unigram model, and DataError under the same conditions as Unigram::best().
  std::vector<Segmentation> best(std::string_view text, std::size_t count) const;
  /// Returns the text of `ids`. Special ids are omitted unless `options` keeps their names. The
  /// unknown id is decoded to U+2047. Throws DataError if an id is outside the vocabulary.
  std::string decode(std::span<const std::int32_t> ids, const DecodeOptions& options = {}) const;

  /// Returns the piece of an id, for example "\u2581the". Throws DataError if `id` is outside the
  /// vocabulary.
  const std::string& piece(std::int32_t id) const;
  /// Returns the id whose piece is exactly `piece`, or -1 if there is none.
  std::int32_t find(std::string_view piece) const;

  /// Returns the special ids. Of these, encode() returns only unk_id(). In models created by
  /// train(), they are ids 0 to 6.
  const SpecialIds& special() const;
  std::int32_t pad_id() const { return special().pad; }
  std::int32_t unk_id() const { return special().unk; }
  std::int32_t bos_id() const { return special().bos; }
  std::int32_t eos_id() const { return special().eos; }
  std::int32_t cls_id() const { return special().cls; }
  std::int32_t sep_id() const { return special().sep; }
  std::int32_t mask_id() const { return special().mask; }
  /// Returns true for the special ids above and for other control ids of the model. Throws
  /// DataError if `id` is outside the vocabulary.
  bool is_special(std::int32_t id) const;
  /// Returns true if a word starts with this id, that is, if its piece starts with U+2581 or if it
  /// is a special id or a user-defined symbol. Throws DataError if `id` is outside the vocabulary.
  bool is_word_start(std::int32_t id) const;

 private:
  struct State;
  explicit SentencePieceTokenizer(std::shared_ptr<const State> state) : state_(std::move(state)) {}

  std::shared_ptr<const State> state_;
};

}  // namespace weft
