// The components of a SubwordTokenizer and the pipeline that they form. Internal.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/models/text/tokenizers/base/encode_options.h"
#include "weft/models/text/tokenizers/base/encoding.h"
#include "weft/models/text/tokenizers/base/split_text.h"
#include "weft/models/text/tokenizers/decoders/decoder.h"
#include "weft/models/text/tokenizers/normalizers/normalizer.h"
#include "weft/models/text/tokenizers/pipeline/added_tokens.h"
#include "weft/models/text/tokenizers/post_processors/post_processor.h"
#include "weft/models/text/tokenizers/pre_tokenizers/pre_tokenizer.h"
#include "weft/models/text/tokenizers/subwords/subword_model.h"
#include "weft/models/text/tokenizers/subwords/word_cache.h"

namespace WEFT_API weft {

/// The components of a SubwordTokenizer. All components except the model are optional.
struct SubwordParts {
  std::vector<AddedToken> added;
  NormalizerPtr normalizer = {};
  PreTokenizerPtr pre_tokenizer = {};
  SubwordModelPtr model;
  PostProcessorPtr post_processor = {};
  DecoderPtr decoder = {};
  std::optional<Truncation> truncation = {};
  std::optional<Padding> padding = {};
  /// Known special ids. If an id is -1, it is looked up under the usual names of the token.
  SpecialIds special = {};
};

/// Encodes texts with the components of a SubwordTokenizer. Immutable and thread-safe.
class SubwordPipeline {
 public:
  /// Throws FormatError if added tokens conflict, or if a component uses an id outside the
  /// vocabulary.
  explicit SubwordPipeline(SubwordParts parts);

  const SubwordParts& parts() const { return parts_; }
  const AddedTokens& added() const { return added_; }
  const SpecialIds& special() const { return special_; }
  std::int64_t vocab_size() const { return vocab_size_; }

  /// Appends the ids of `text` to `ids`, without computing spans.
  void encode(std::string_view text, const EncodeOptions& options,
              std::vector<std::int32_t>& ids) const;
  Encoding encode(std::string_view text, const EncodeOptions& options,
                  const TokenLimit& limit = {}) const;
  std::vector<std::string> pieces(std::string_view text) const;
  std::string decode(std::span<const std::int32_t> ids, const DecodeOptions& options) const;
  std::string_view piece(std::int32_t id) const;
  std::int32_t find(std::string_view piece) const;
  void check(std::int32_t id) const;

 private:
  /// The working memory of one thread, which is reused for later texts.
  struct Workspace {
    SplitText parts;
    WordCache words;
    std::vector<SubwordSpan> found, part;
  };
  class Lease;

  void cut(std::string_view text, const EncodeOptions& options, Workspace& work) const;
  void drop_front_words(Workspace& work, std::size_t most) const;
  std::span<const SubwordSpan> segment(std::string_view word, Workspace& work) const;
  std::span<const SubwordSpan> segment_part(std::string_view part, Workspace& work) const;
  template <class Give>
  void run(std::string_view text, const EncodeOptions& options, const TokenLimit& limit,
           const Give& give) const;
  template <class Give>
  void emit_invalid_bytes(std::string_view text, const TextPart& part, Workspace& work,
                          const Give& give) const;
  void find_special();
  void check_ids() const;

  SubwordParts parts_;
  AddedTokens added_;
  SpecialIds special_;
  std::int64_t vocab_size_ = 0;
  bool takes_bytes_ = false;

  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Workspace>> idle_;
};

}  // namespace weft
