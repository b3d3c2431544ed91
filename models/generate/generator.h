// Generation with decoders (GPT) over key and value caches.
#pragma once

#include <optional>
#include <vector>

#include "weft/graph/run/session.h"
#include "weft/models/families/gpt_config.h"
#include "weft/models/generate/search.h"

namespace WEFT_API weft {

/// Returns the maximum number of tokens of a text that a model was made for. A longer text is
/// either impossible or longer than the texts in training. Returns the largest int64 for models
/// that read texts of any length.
std::int64_t trained_context(const GptConfig& config);

/// Generates with a program made by Gpt::decode_program; every id costs one step. Prompts of
/// different lengths share a batch with padding on the left, which is masked and has no positions.
class Generator {
 public:
  /// Session and program must outlive the Generator; the session may be used for training between
  /// calls. Programs of old files, which lack the input "visible", do not support padding: all
  /// their prompts must have the same length.
  Generator(Session& session, const Program& decode, const GptConfig& config);

  /// Continues each prompt as if it were alone (greedy search gives the same ids except for ties
  /// within rounding). Lengths count only the ids of the prompt itself. Sequences begin with the
  /// prompt. Throws like search(); ArgumentError for an empty prompt, and if the longest sequence
  /// exceeds learned positions and `slide` is off.
  SearchResult generate(const std::vector<TokenIds>& prompts, const GenerationOptions& options = {},
                        const OnToken& on_token = {});

  /// Continues `prompts`, i64 [prompts, length]. `mask` has the same type or is undefined; it is 0
  /// for padding, which is on the left. As in Hugging Face transformers, lengths include the
  /// padding, rules see it, and shorter sequences are padded with pad_id.
  SearchResult generate(const Tensor& prompts, const Tensor& mask, const GenerationOptions& options,
                        const OnToken& on_token = {});

  /// Continues one prompt that usually starts with the previous text, like the turns of a
  /// conversation. The keys and values of the common prefix are reused, and only the new part is
  /// computed. Returns the same ids as generate() except for ties within rounding, also after a
  /// call that failed or was cancelled. Between calls, only this Generator may decode with the
  /// session (generate() may be called). Throws like generate(); ArgumentError for more than one
  /// row.
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
  std::optional<Program> reorder_;  // created when beam search first needs it
  GptConfig config_;
  DType id_type_;
  bool supports_padding_ = false;
  // For continue_text(): the ids that the caches hold keys and values of, the capacity of the
  // caches, and the result of reused().
  TokenIds cached_ids_;
  std::int64_t cache_capacity_ = 0, reused_ = 0;
};

}  // namespace weft
