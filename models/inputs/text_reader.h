// Encodes texts as inputs of encoders: special ids, truncation, padding and token types.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/run/session.h"
#include "weft/models/families/encoder_config.h"
#include "weft/models/fields/field_list.h"
#include "weft/models/inputs/long_texts.h"
#include "weft/models/text/tokenizers/tokenizer.h"

namespace WEFT_API weft {

/// Input options stored in the files of encoders from Hugging Face folders, for which the tokenizer
/// determines the special ids around texts. Encoders trained by Weft have no TextReading, because
/// their input is always "[CLS] text [SEP]".
struct TextReading {
  bool token_types = false;  // programs have an input "token_types"
  /// Maximum number of ids in a row if it is smaller than the context of the encoder. Longer texts
  /// are truncated without an error, because the model's own settings demand it. 0: no limit.
  std::int64_t max_tokens = 0;
  bool lower_case = false;  // convert texts to lower case
  /// The end at which texts that are too long are truncated (truncation_side of
  /// tokenizer_config.json).
  TextEnd truncation_side = TextEnd::right;

  /// Returns all fields with their help texts.
  static const FieldList<TextReading>& fields();
  friend bool operator==(const TextReading&, const TextReading&) = default;
};
inline constexpr const char* kReadingPart = "model.reading";

/// Throws ArgumentError if a tokenizer does not match an encoder. The embedding table must have at
/// least one row per token id. For encoders trained by Weft (without `reading`), the padding ids
/// must also be equal.
void check_vocabulary(const EncoderConfig& config, const Tokenizer& tokenizer,
                      const std::optional<TextReading>& reading);

/// Returns the error message for a tokenizer that has more ids than the embedding table has rows.
std::string ids_without_rows(std::int64_t ids, std::int64_t rows);

/// Returns the padding id.
std::int32_t padding_id(const EncoderConfig& config, const Tokenizer& tokenizer);

/// One or two texts as a row of a batch.
struct TextRow {
  std::vector<std::int32_t> ids;
  std::vector<std::int32_t> token_types = {};  // one per id; empty: all 0
};

/// Encodes texts for one encoder. The config and the tokenizer must outlive the TextReader.
class TextReader {
 public:
  TextReader(const EncoderConfig& config, const Tokenizer& tokenizer,
             const std::optional<TextReading>& reading)
      : config_(config), tokenizer_(tokenizer), reading_(reading) {}

  const Tokenizer& tokenizer() const { return tokenizer_; }
  /// Returns the maximum number of ids in a row.
  std::int64_t longest() const {
    const std::int64_t limit = reading_ ? reading_->max_tokens : 0;
    return limit > 0 ? std::min(limit, config_.max_tokens()) : config_.max_tokens();
  }

  /// Returns the end at which texts are truncated.
  TextEnd truncation_side() const { return reading_ ? reading_->truncation_side : TextEnd::right; }

  /// Returns the row for a text, truncated to the context of the encoder. For encoders trained by
  /// Weft, throws the same exceptions as Tokenizer::encode; for others, the same exceptions as
  /// Tokenizer::encode_text.
  TextRow row(std::string_view text) const;
  /// Returns the rows for many texts, which are encoded on all threads. Throws TextError for a text
  /// that cannot be encoded and, if `on_cut` is empty and the model has no TextReading::max_tokens,
  /// for the first text that is too long.
  std::vector<TextRow> rows(std::span<const std::string> texts, const OnCut& on_cut) const;
  /// Encodes one or two texts; the result includes the span and the word of every id. The texts are
  /// truncated to the context of the encoder, starting with the longer one. If a part of a text
  /// spells a special token, it is encoded as that token. Throws ArgumentError for two texts if the
  /// tokenizer has no separator id.
  Encoding encode(const TokenizerInput& texts) const;
  /// As above, for text or text pair `number` of several; `on_cut` is called if it is truncated.
  /// Throws TextError under the same conditions as rows().
  Encoding encode(const TokenizerInput& texts, std::size_t number, const OnCut& on_cut) const;
  Encoding encode(std::string_view text, std::size_t number, const OnCut& on_cut) const {
    return encode(TokenizerInput{text}, number, on_cut);
  }
  /// Encodes two texts as one or more rows of at most `most` ids. Each row contains the whole first
  /// text and a window of the second. Adjacent windows overlap by `stride` ids, but by at most half
  /// a window. Throws ArgumentError under the same conditions as encode(), and if the first text
  /// leaves no room for the second.
  std::vector<Encoding> windows(std::string_view first, std::string_view second, std::int64_t most,
                                std::int64_t stride) const;

  /// Returns the inputs "tokens", "mask" (1 = token) and, if the programs have that input,
  /// "token_types". All are i32 [rows, length]. The length is rounded up to a multiple of
  /// `multiple`. Throws DataError if a row has no ids.
  NamedTensors inputs(std::span<const TextRow* const> rows, std::int64_t multiple = 16) const;
  /// Returns inputs() and the input "token_places" i64 [tokens], for programs that skip padding
  /// (EncoderInputs::token_places).
  NamedTensors inputs_with_places(std::span<const TextRow* const> rows) const;
  /// Returns the inputs of programs without padding: "unpadded_tokens" and, if the programs have
  /// that input, "unpadded_token_types", i32 [1, total], and "offsets" i64 [rows + 1]. Throws
  /// DataError if a row has no ids.
  NamedTensors unpadded_inputs(std::span<const TextRow* const> rows) const;

 private:
  /// Same as the public encode(), but truncates according to `truncation`. Does not truncate if
  /// `truncation` is empty.
  Encoding encode(const TokenizerInput& texts, const std::optional<Truncation>& truncation) const;
  /// As above, but does not convert the texts to lower case.
  Encoding encode_as_written(const TokenizerInput& texts,
                             const std::optional<Truncation>& truncation) const;
  /// Same as the public row(), but also sets `tokens` to the number of tokens before truncation.
  TextRow row(std::string_view text, std::int64_t& tokens) const;
  Truncation to_fit() const;
  /// Calls `on_cut`, or throws if it is empty and the model does not truncate texts itself.
  void report_cut(const CutText& cut, const OnCut& on_cut) const;
  /// Encodes a text without special ids. `is_second` is true for the second of two texts.
  Encoding encode_without_special(std::string_view text, bool is_second) const;
  /// Returns the number of special ids that add_special_tokens() adds to a text or, if `pair` is
  /// set, to a text pair.
  std::size_t added(bool pair) const;
  /// Adds the special ids around one or two texts; `second` may be null.
  Encoding add_special_tokens(const Encoding& first, const Encoding* second) const;
  /// Returns true if the tokenizer defines the special ids around texts.
  bool tokenizer_adds_special_tokens() const;

  const EncoderConfig& config_;
  const Tokenizer& tokenizer_;
  std::optional<TextReading> reading_;
};

}  // namespace weft
