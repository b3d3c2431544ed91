// Text generation with decoders (GPT) and key/value caches.
#pragma once

#include <optional>
#include <vector>

#include "weft/graph/run/session.h"
#include "weft/models/families/gpt_config.h"
#include "weft/models/generate/search.h"

namespace WEFT_API weft {

/// Returns the maximum text length, in tokens, that a model was trained for. Longer texts either
/// are not supported or exceed the length of all training texts. Returns the largest int64 for
/// models without a length limit.
std::int64_t trained_context(const GptConfig& config);

/// Generates with a program made by Gpt::decode_program; each new id takes one step. Prompts of
/// different lengths are batched with left padding, which is masked and not counted in positions.
class Generator {
 public:
  /// Session and program must outlive the Generator; the session may be used for training between
  /// calls. Programs from old files, which lack the input "visible", do not support padding; all
  /// prompts in a batch must then have the same length.
  Generator(Session& session, const Program& decode, const GptConfig& config);

  /// Continues each prompt independently of the others (greedy search returns the same ids as for
  /// the prompt alone, unless scores are equal up to rounding). Padding does not count towards
  /// lengths. Sequences begin with the prompt. Throws the same exceptions as search(). Also throws
  /// ArgumentError if a prompt is empty, or if the longest sequence exceeds the learned positions
  /// and `slide` is off.
  SearchResult generate(const std::vector<TokenIds>& prompts, const GenerationOptions& options = {},
                        const OnToken& on_token = {});

  /// Continues `prompts`, i64 [prompts, length]. `mask` has the same type or is undefined; it is 0
  /// for padding, which must be on the left. As in Hugging Face transformers, lengths include the
  /// padding, the rules apply to padding ids as well, and shorter sequences are padded with pad_id.
  SearchResult generate(const Tensor& prompts, const Tensor& mask, const GenerationOptions& options,
                        const OnToken& on_token = {});

  /// Continues a single prompt that usually starts with the previous text, as in a conversation.
  /// The keys and values of the common prefix are reused, and only the new part is computed.
  /// Returns the same ids as generate(), unless scores are equal up to rounding, even after a call
  /// that failed or was cancelled. Between calls, no other Generator may decode with the session;
  /// calls to generate() are allowed. Throws the same exceptions as generate(). Also throws
  /// ArgumentError if there is more than one row.
  SearchResult continue_text(const TokenIds& prompt, const GenerationOptions& options = {},
                             const OnToken& on_token = {});
  /// Returns the number of ids in the last prompt of continue_text() that were not recomputed.
  std::int64_t reused() const { return reused_; }

 private:
  struct Batch;
  class CacheRecorder;
  SearchResult run(const SearchStarts& starts, std::vector<TokenIds> texts,
                   const GenerationOptions& options, const OnToken& on_token,
                   bool reuse_caches = false);
  std::int64_t common_prefix_length(const TokenIds& text) const;
  Tensor step(Batch& batch, const Tensor& tokens, std::int64_t position, const Tensor& parents);
  Tensor decode(Batch& batch, const std::vector<TokenIds>& columns);

  Session& session_;
  Program decode_;
  std::optional<Program> reorder_;  // created on first use by beam search
  GptConfig config_;
  DType id_type_;
  bool supports_padding_ = false;
  // For continue_text(): the ids whose keys and values are cached, the capacity of the caches, and
  // the result of reused().
  TokenIds cached_ids_;
  std::int64_t cache_capacity_ = 0, reused_ = 0;
};

}  // namespace weft
