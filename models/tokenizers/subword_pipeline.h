// The parts of a SubwordTokenizer and how they work together. Internal.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/models/tokenizers/added_tokens.h"
#include "weft/models/tokenizers/decoders/decoder.h"
#include "weft/models/tokenizers/encode_options.h"
#include "weft/models/tokenizers/encoding.h"
#include "weft/models/tokenizers/normalizers/normalizer.h"
#include "weft/models/tokenizers/parted_text.h"
#include "weft/models/tokenizers/post_processors/post_processor.h"
#include "weft/models/tokenizers/pre_tokenizers/pre_tokenizer.h"
#include "weft/models/tokenizers/subwords/subword_model.h"
#include "weft/models/tokenizers/subwords/word_cache.h"

namespace WEFT_API weft {

/// What a SubwordTokenizer is made of; all but the model may be missing.
struct SubwordParts {
  std::vector<AddedToken> added;
  NormalizerPtr normalizer = {};
  PreTokenizerPtr pre_tokenizer = {};
  SubwordModelPtr model;
  PostProcessorPtr post_processor = {};
  DecoderPtr decoder = {};
  std::optional<Truncation> truncation = {};
  std::optional<Padding> padding = {};
  /// Who knows says it; what is -1 is found by its usual names.
  SpecialIds special = {};
};

class SubwordPipeline {
 public:
  /// Throws FormatError for added tokens that contradict each other.
  explicit SubwordPipeline(SubwordParts parts);

  const SubwordParts& parts() const { return parts_; }
  const AddedTokens& added() const { return added_; }
  const SpecialIds& special() const { return special_; }
  std::int64_t vocab_size() const { return vocab_size_; }

  /// Appends ids alone.
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
  /// What a thread works with; kept for the next text.
  struct Workspace {
    PartedText parts;
    WordCache words;
    std::vector<SubwordSpan> found;
  };
  class Lease;

  void cut(std::string_view text, const EncodeOptions& options, Workspace& work) const;
  void cut_front(Workspace& work, std::size_t most) const;
  std::span<const SubwordSpan> segment(std::string_view word, Workspace& work) const;
  template <class Give>
  void run(std::string_view text, const EncodeOptions& options, const TokenLimit& limit,
           const Give& give) const;
  template <class Give>
  void give_broken(std::string_view text, const TextPart& part, Workspace& work,
                   const Give& give) const;
  void find_special();

  SubwordParts parts_;
  AddedTokens added_;
  SpecialIds special_;
  std::int64_t vocab_size_ = 0;
  bool takes_bytes_ = false;

  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Workspace>> idle_;
};

}  // namespace weft
