// The tokenizer that a tokenizer.json describes. Added tokens are recognised first, the rest is
// normalised and split into words, words become pieces of a vocabulary, and special tokens are
// added around the result.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/models/tokenizers/encode_options.h"
#include "weft/models/tokenizers/encoding.h"
#include "weft/models/tokenizers/special_ids.h"

namespace WEFT_API weft {

class SubwordPipeline;

/// A tokenizer composed of a SubwordPipeline's components. Immutable; may be shared by threads.
class SubwordTokenizer {
 public:
  static constexpr const char* kType = "weft.tokenizer.subword";
  static constexpr const char* kUnit = "tokens";

  /// Internal: the readers in formats/ create pipelines.
  explicit SubwordTokenizer(std::shared_ptr<const SubwordPipeline> pipeline);

  /// Reads a tokenizer.json. Throws FormatError that names the invalid or unknown field and its
  /// location.
  static SubwordTokenizer from_bytes(std::string_view json);
  /// Returns a tokenizer.json that also lists the special ids, for a checkpoint attachment.
  std::string to_bytes() const;
  /// Returns a tokenizer.json for other programs, which read the special ids from other files.
  std::string to_hugging_face_json() const;

  /// One more than the highest id.
  std::int64_t vocab_size() const;
  const SpecialIds& special() const;
  /// Returns the ids of `text`. Added tokens are recognised in it, but no special tokens are added
  /// around it. Throws DataError for text outside the vocabulary if there is no unknown id.
  std::vector<std::int32_t> encode(std::string_view text,
                                   TextPlace place = TextPlace::beginning) const;
  /// As encode(), with spans and the other fields of Encoding. No special tokens are added, and the
  /// text is neither truncated nor padded, whatever `options` says. Words beyond `limit` are not
  /// encoded, so later overflow windows do not contain them either, as in Hugging Face's tokenizers
  /// library, the reference implementation.
  Encoding encode_alone(std::string_view text, const EncodeOptions& options,
                        const TokenLimit& limit) const;
  /// Returns the piece of each id of `text`; unknown parts of the text are returned unchanged.
  std::vector<std::string> pieces(std::string_view text) const;
  /// Returns the text of `ids`. Throws DataError for an id outside the vocabulary.
  std::string decode(std::span<const std::int32_t> ids,
                     const DecodeOptions& options = {.keep_bytes = true}) const;
  /// Returns the piece of an id, spelled as in files; empty for an id without a piece. Throws
  /// DataError for an id outside the vocabulary.
  std::string piece(std::int32_t id) const;
  /// Returns the id of exactly `piece`, or -1.
  std::int32_t find(std::string_view piece) const;
  bool is_special(std::int32_t id) const;
  bool is_word_start(std::int32_t id) const;

  /// Returns the number of special tokens that are added to one text, or to a pair.
  std::size_t added(bool pair) const;
  /// Joins one text or two and adds special tokens if `add_special` is true.
  Encoding add_special_tokens(std::vector<Encoding> texts, bool add_special) const;
  /// The truncation and padding settings of the file, if any.
  const std::optional<Truncation>& truncation() const;
  const std::optional<Padding>& padding() const;

 private:
  std::shared_ptr<const SubwordPipeline> pipeline_;
};

}  // namespace weft
