// Encodes texts as inputs of encoders: special ids, truncation, padding and token types.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/run/session.h"
#include "weft/models/families/encoder_config.h"
#include "weft/models/fields/field_list.h"
#include "weft/models/tokenizers/tokenizer.h"
#include "weft/models/trained/long_texts.h"

namespace WEFT_API weft {

/// Stored in the files of encoders from Hugging Face folders; the tokenizer determines the special
/// ids around their texts. Encoders that Weft trained have no TextReading: their input is "[CLS]
/// text [SEP]".
struct TextReading {
  bool token_types = false;  // programs have an input "token_types"

  /// All fields with their help texts.
  static const FieldList<TextReading>& fields();
  std::string to_json() const;
  /// Throws FormatError for a missing, unknown or wrongly typed field.
  static TextReading from_json(std::string_view json);
  friend bool operator==(const TextReading&, const TextReading&) = default;
};
inline constexpr const char* kReadingPart = "model.reading";

/// Throws ArgumentError if a tokenizer does not fit an encoder. The embedding table must not have
/// fewer rows than the tokenizer has ids. For encoders that Weft trained (without `reading`), the
/// padding ids must also be equal.
void check_vocabulary(const EncoderConfig& config, const Tokenizer& tokenizer,
                      const std::optional<TextReading>& reading);

/// Returns the message for a tokenizer with more ids than the embedding table has rows.
std::string ids_without_rows(std::int64_t ids, std::int64_t rows);

/// Returns the id that pads rows.
std::int32_t padding_id(const EncoderConfig& config, const Tokenizer& tokenizer);

/// One or two texts as a row of a batch.
struct TextRow {
  std::vector<std::int32_t> ids;
  std::vector<std::int32_t> token_types = {};  // one per id; empty: all 0
};

/// Encodes texts for one encoder. Config and tokenizer must outlive it.
class TextReader {
 public:
  TextReader(const EncoderConfig& config, const Tokenizer& tokenizer,
             const std::optional<TextReading>& reading)
      : config_(config), tokenizer_(tokenizer), reading_(reading) {}

  const Tokenizer& tokenizer() const { return tokenizer_; }
  /// Maximum number of ids of a row.
  std::int64_t longest() const { return config_.max_tokens(); }

  /// Returns the row of a text, truncated to the context of the encoder. Throws as
  /// Tokenizer::encode for encoders that Weft trained, as Tokenizer::encode_text for others.
  TextRow row(std::string_view text) const;
  /// Returns the rows of many texts, encoded on all threads. Throws TextError for a text that
  /// cannot be encoded and, if `on_cut` is empty, for the first text that is too long.
  std::vector<TextRow> rows(std::span<const std::string> texts, const OnCut& on_cut) const;
  /// Encodes one or two texts, with the spans and words of all ids. They are truncated to the
  /// context of the encoder, the longer one first. Text that spells a special token is encoded as
  /// that token. Throws ArgumentError for two texts if the tokenizer has no id that separates them.
  Encoding encode(const TokenizerInput& texts) const;
  /// As above, for text `number` of several texts; `on_cut` is called if it is truncated. Throws
  /// TextError as rows().
  Encoding encode(std::string_view text, std::size_t number, const OnCut& on_cut) const;
  /// Encodes two texts as rows of at most `most` ids. Each row contains the whole first text and a
  /// window of the second. Adjacent windows share `stride` ids, but at most half of a window.
  /// Throws ArgumentError as encode(), and if the first text leaves no room for the second.
  std::vector<Encoding> windows(std::string_view first, std::string_view second, std::int64_t most,
                                std::int64_t stride) const;

  /// Returns the inputs "tokens", "mask" (1 = token) and, if programs have it, "token_types": i32
  /// [rows, length]. The length is rounded up to `multiple`. Throws DataError for a row without
  /// ids.
  NamedTensors inputs(std::span<const TextRow* const> rows, std::int64_t multiple = 16) const;

 private:
  /// As the public encode(), but truncates according to `truncation`; not at all if it is empty.
  Encoding encode(const TokenizerInput& texts, const std::optional<Truncation>& truncation) const;
  /// As the public row(); sets `tokens` to the number of tokens before truncation.
  TextRow row(std::string_view text, std::int64_t& tokens) const;
  Truncation to_fit() const;
  /// Encodes a text without special ids. `is_second`: as the second of two texts.
  Encoding encode_without_special(std::string_view text, bool is_second) const;
  /// Number of special ids that add_special_tokens() adds to one text or, if `pair`, to two.
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
