// Text generation with decoders (GPT) and key/value caches. Includes the decoders of CTC models.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "weft/graph/run/session.h"
#include "weft/models/families/gpt_config.h"
#include "weft/models/generate/batch_generator.h"  // a part of this header
#include "weft/models/generate/generation.h"
#include "weft/models/generate/score.h"

namespace WEFT_API weft {

/// Returns the maximum text length, in tokens, that a model was trained for. Longer texts either
/// are not supported or exceed the length of all training texts. Returns the largest int64 for
/// models without a length limit.
std::int64_t trained_context(const GptConfig& config);

/// Generates with a program made by Gpt::decode_program; each new id takes one step. Prompts of
/// different lengths are batched with left padding, which is masked and not counted in positions.
///
/// In models with windows, the layers with a window keep only that window and kPiece more tokens,
/// and longer prompts are processed in pieces of kPiece tokens.
class Generator final : private StepModel {
 public:
  static constexpr std::int64_t kPiece = 512;

  /// Session and program must outlive the Generator; the session may be used for training between
  /// generations. Programs from old files, which lack the input "visible", do not support padding;
  /// all prompts in a batch must then have the same length.
  Generator(Session& session, const Program& decode, const GptConfig& config);
  ~Generator() override;

  /// Continues each prompt independently of the others (greedy search returns the same ids as for
  /// the prompt alone, unless scores are equal up to rounding). Padding does not count towards
  /// lengths. Sequences begin with the prompt. Throws the same exceptions as Generation. Also
  /// throws ArgumentError if a prompt is empty, if the longest sequence exceeds the learned
  /// positions and `slide` is off, or if `reuse_caches` is set and there is more than one row. If
  /// caches are reused, no other Generator may decode with the session between the calls.
  Generation generate(const std::vector<TokenIds>& prompts, const GenerationOptions& options = {});

  /// Continues `prompts`, i64 [prompts, length]. `mask` has the same type or is undefined; it is 0
  /// for padding, which must be on the left. As in Hugging Face transformers, lengths include the
  /// padding, and the rules apply to padding ids as well.
  Generation generate(const Tensor& prompts, const Tensor& mask, const GenerationOptions& options);

  /// Scores continuations[i] after prompts[i] as weft::score(), but computes each id as generation
  /// does: one id at a time, with keys and values from the caches. This measures the effect of the
  /// format of the caches. Throws the same exceptions as weft::score(), and DataError for ids
  /// outside the vocabulary.
  std::vector<ContinuationScore> score(const std::vector<TokenIds>& prompts,
                                       const std::vector<TokenIds>& continuations);

  /// Returns the number of ids in the last prompt that were not recomputed (see `reuse_caches`). If
  /// the prompt differs from the texts in the caches more than kPiece ids before their end, models
  /// with windows recompute all ids.
  std::int64_t reused() const { return reused_; }

 private:
  struct Batch;
  Generation start(const SearchStarts& starts, std::vector<TokenIds> texts,
                   const GenerationOptions& options);
  std::int64_t common_prefix_length(const TokenIds& text, const TokenIds& cached) const;
  Tensor step(const Tensor& tokens, std::int64_t position, const Tensor& parents) override;
  Tensor decode(const Tensor& tokens);
  Tensor run(const Tensor& tokens);

  Session& session_;
  Program decode_;
  std::optional<Program> reorder_;  // created on first use by beam search
  GptConfig config_;
  DType id_type_;
  bool supports_padding_ = false;
  std::unique_ptr<Batch> batch_;  // the texts in the caches
  std::int64_t reused_ = 0;
};

}  // namespace weft
