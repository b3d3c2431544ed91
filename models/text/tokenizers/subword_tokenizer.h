// A tokenizer that is defined by a tokenizer.json. Added tokens are recognised first. The remaining
// text is normalised and split into words, the words are segmented into pieces of a vocabulary, and
// special tokens are added around the result.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/models/text/tokenizers/base/encode_options.h"
#include "weft/models/text/tokenizers/base/encoding.h"
#include "weft/models/text/tokenizers/base/special_ids.h"

namespace WEFT_API weft {

class SubwordPipeline;

/// A tokenizer that consists of the components of a SubwordPipeline. Immutable and thread-safe.
class SubwordTokenizer {
 public:
  static constexpr const char* kType = "weft.tokenizer.subword";
  static constexpr const char* kUnit = "tokens";

  /// Internal: used by the readers in formats/, which create pipelines.
  explicit SubwordTokenizer(std::shared_ptr<const SubwordPipeline> pipeline);

  /// Reads a tokenizer.json. Throws a FormatError that names the invalid or unknown field and its
  /// location.
  static SubwordTokenizer from_bytes(std::string_view json);
  /// Returns a tokenizer.json that also contains the special ids, for use as a checkpoint
  /// attachment.
  std::string to_bytes() const;
  /// Returns a tokenizer.json for other programs, which read the special ids from other files.
  std::string to_hugging_face_json() const;

  /// Returns the highest id plus one.
  std::int64_t vocab_size() const;
  const SpecialIds& special() const;
  /// Returns the ids of `text`. Added tokens are recognised in the text, but no special tokens are
  /// added around it. Throws DataError if the text contains characters outside the vocabulary and
  /// there is no unknown id.
  std::vector<std::int32_t> encode(std::string_view text,
                                   TextPlace place = TextPlace::beginning) const;
  /// Like encode(), but also returns spans and the other fields of Encoding. Regardless of
  /// `options`, no special tokens are added, and the text is neither truncated nor padded. Words
  /// beyond `limit` are not encoded, so overflow windows do not contain them either. Hugging Face's
  /// tokenizers library, the reference implementation, behaves in the same way.
  Encoding encode_alone(std::string_view text, const EncodeOptions& options,
                        const TokenLimit& limit) const;
  /// Returns the piece for each id of `text`. Unknown parts of the text are returned unchanged.
  std::vector<std::string> pieces(std::string_view text) const;
  /// Returns the text of `ids`. Throws DataError if an id is outside the vocabulary.
  std::string decode(std::span<const std::int32_t> ids,
                     const DecodeOptions& options = {.keep_bytes = true}) const;
  /// Returns the piece of an id, spelled as in files, or an empty string if the id has no piece.
  /// Throws DataError if `id` is outside the vocabulary.
  std::string piece(std::int32_t id) const;
  /// Returns the id whose piece is exactly `piece`, or -1 if there is none.
  std::int32_t find(std::string_view piece) const;
  bool is_special(std::int32_t id) const;
  bool is_word_start(std::int32_t id) const;

  /// Returns the number of special tokens that are added to a single text, or to a pair of texts if
  /// `pair` is true.
  std::size_t added(bool pair) const;
  /// Joins one or two texts. Adds special tokens if `add_special` is true.
  Encoding add_special_tokens(std::vector<Encoding> texts, bool add_special) const;
  /// The truncation and padding settings in the file, if any.
  const std::optional<Truncation>& truncation() const;
  const std::optional<Padding>& padding() const;

 private:
  std::shared_ptr<const SubwordPipeline> pipeline_;
};

}  // namespace weft
