// How encoders read texts: which ids stand around them, what is cut off, what programs are given.
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

/// What files say of encoders that were made of a folder, whose texts are read as its tokenizer
/// says. Encoders that Weft trained have none: they read "[CLS] text [SEP]".
struct TextReading {
  bool token_types = false;  // programs have an input "token_types"

  /// Every field, with its help.
  static const FieldList<TextReading>& fields();
  std::string to_json() const;
  /// Throws FormatError for a missing, unknown or wrongly typed field.
  static TextReading from_json(std::string_view json);
  friend bool operator==(const TextReading&, const TextReading&) = default;
};
inline constexpr const char* kReadingPart = "model.reading";

/// Throws ArgumentError where a tokenizer does not fit an encoder: of one that Weft trained
/// vocabulary and padding are the same; tables of a folder may have more rows than ids, not less.
void check_vocabulary(const EncoderConfig& config, const Tokenizer& tokenizer,
                      const std::optional<TextReading>& reading);

/// What is said of a tokenizer with more ids than a table has rows.
std::string ids_without_rows(std::int64_t ids, std::int64_t rows);

/// The id that fills up rows.
std::int32_t padding_id(const EncoderConfig& config, const Tokenizer& tokenizer);

/// A text, or two, as a row of a batch.
struct TextRow {
  std::vector<std::int32_t> ids;
  std::vector<std::int32_t> token_types = {};  // as many; none: all 0
};

/// Reads texts for one encoder. Config and tokenizer must outlive it.
class TextReader {
 public:
  TextReader(const EncoderConfig& config, const Tokenizer& tokenizer,
             const std::optional<TextReading>& reading)
      : config_(config), tokenizer_(tokenizer), reading_(reading) {}

  const Tokenizer& tokenizer() const { return tokenizer_; }
  /// Most ids of a row.
  std::int64_t longest() const { return config_.longest_row(); }

  /// A text cut to what fits. Throws as Tokenizer::encode of encoders that Weft trained, as
  /// Tokenizer::encode_text of others.
  TextRow row(std::string_view text) const;
  /// All of them, on all threads. Throws TextError for the first that is too long where nobody
  /// listens, and for one that cannot be encoded.
  std::vector<TextRow> rows(std::span<const std::string> texts, const OnCut& on_cut) const;
  /// One text, or two, with all that is to be known of ids (spans, words), cut to what fits, the
  /// longer one first. What spells a special id becomes it. Throws ArgumentError where two texts
  /// are given and no id parts them.
  Encoding encode(const TokenizerInput& texts) const;
  /// The same of one of several texts, which is told of where it is cut.
  /// Throws TextError as rows().
  Encoding encode(std::string_view text, std::size_t number, const OnCut& on_cut) const;
  /// Two texts as rows of at most `most` ids: the first whole, windows onto the second, of which
  /// each has `stride` ids (but not more than half of them) in common with the one before. Throws
  /// ArgumentError as encode(), and where the first leaves no room.
  std::vector<Encoding> windows(std::string_view first, std::string_view second, std::int64_t most,
                                std::int64_t stride) const;

  /// The inputs "tokens", "mask" (1 = token) and, where programs have it, "token_types": i32 [rows,
  /// length], the length rounded up to `multiple`. Throws DataError for a row without any id.
  NamedTensors inputs(std::span<const TextRow* const> rows, std::int64_t multiple = 16) const;

 private:
  /// Nothing is cut without `truncation`.
  Encoding encode(const TokenizerInput& texts, const std::optional<Truncation>& truncation) const;
  /// A text cut to what fits, and how many tokens the whole has.
  TextRow row(std::string_view text, std::int64_t& tokens) const;
  Truncation to_fit() const;
  /// A text alone, or a second one: nothing around it.
  Encoding alone(std::string_view text, bool is_second) const;
  /// Ids that put_around() adds to one text or to two.
  std::size_t added(bool pair) const;
  Encoding put_around(const Encoding& first, const Encoding* second) const;
  bool puts_around() const;

  const EncoderConfig& config_;
  const Tokenizer& tokenizer_;
  std::optional<TextReading> reading_;
};

}  // namespace weft
