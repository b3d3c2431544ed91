// What a tokenizer.json says: added tokens are found, the rest is normalised and cut into words,
// words become pieces of a vocabulary, and special ids are put around it all.
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

/// A tokenizer made of parts. Immutable; one for several threads.
class SubwordTokenizer {
 public:
  static constexpr const char* kType = "weft.tokenizer.subword";
  static constexpr const char* kUnit = "tokens";

  /// Internal: formats/ make pipelines.
  explicit SubwordTokenizer(std::shared_ptr<const SubwordPipeline> pipeline);

  /// Reads a tokenizer.json. Throws FormatError that says what is wrong or not known, and where.
  static SubwordTokenizer from_bytes(std::string_view json);
  /// A tokenizer.json that says also which ids are special: what checkpoints store.
  std::string to_bytes() const;
  /// A tokenizer.json for other programs, which find that in other files.
  std::string to_library() const;

  /// One more than the highest id.
  std::int64_t vocab_size() const;
  const SpecialIds& special() const;
  /// Ids of `text`, none put around it. Added tokens in it are found. Throws DataError for what is
  /// unknown where no id stands for that.
  std::vector<std::int32_t> encode(std::string_view text,
                                   TextPlace place = TextPlace::beginning) const;
  /// The same with spans and more; of `options`, what concerns a text alone: nothing is put around
  /// it, cut off or filled up. Ids beyond `limit` are left out: so are, as in the library whose
  /// results are the standard, windows that would show them.
  Encoding encode_alone(std::string_view text, const EncodeOptions& options,
                        const TokenLimit& limit) const;
  std::vector<std::string> pieces(std::string_view text) const;
  /// Text of `ids`. Throws DataError for an id outside the vocabulary.
  std::string decode(std::span<const std::int32_t> ids,
                     const DecodeOptions& options = {.keep_bytes = true}) const;
  /// As files spell it; empty for an id without one. Throws DataError for an id outside.
  std::string piece(std::int32_t id) const;
  /// -1 where no id stands for exactly `piece`.
  std::int32_t find(std::string_view piece) const;
  bool is_special(std::int32_t id) const;
  bool is_word_start(std::int32_t id) const;

  /// How many ids are put around one text, or two.
  std::size_t added(bool pair) const;
  /// Puts special ids around one text or two.
  Encoding put_around(std::vector<Encoding> texts, bool add_special) const;
  /// What the file says of texts that are too long, and of batches.
  const std::optional<Truncation>& truncation() const;
  const std::optional<Padding>& padding() const;

 private:
  std::shared_ptr<const SubwordPipeline> pipeline_;
};

}  // namespace weft
