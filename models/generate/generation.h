// Generation of ids, one at a time, with any model that decodes step by step.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "weft/core/tensor.h"
#include "weft/models/generate/options.h"

namespace WEFT_API weft {

/// A model that decodes step by step. It serves one Generation at a time: starting another one
/// invalidates the previous one.
class StepModel {
 public:
  StepModel() = default;
  StepModel(const StepModel&) = delete;
  StepModel& operator=(const StepModel&) = delete;
  virtual ~StepModel() = default;

  /// Runs the model on `tokens` i64 [rows, new] and returns the logits f32 [rows, vocab] of the
  /// next id. The tokens follow `position` ids that the model has already processed. Row r
  /// continues row parents[r] of the previous step, which belongs to the same prompt; `parents` is
  /// i64 [rows]. Each prompt has rows_per_prompt() adjacent rows.
  virtual Tensor step(const Tensor& tokens, std::int64_t position, const Tensor& parents) = 0;

 private:
  friend class Search;
  std::int64_t searches_ = 0;  // number of searches that were started
};

/// Returns the number of rows per prompt: `beams`, or `results` when sampling.
std::int64_t rows_per_prompt(const GenerationOptions& options);

/// The ids that sequences start from, one list per prompt, all of the same length.
struct SearchStarts {
  std::vector<TokenIds> ids;
  /// Number of leading padding ids in each list. Lengths and rules ignore them. Empty: no padding.
  std::vector<std::int64_t> padding = {};
  /// The inputs of an encoder, one list per prompt. Empty: the ids above without padding.
  std::vector<TokenIds> sources = {};
};

/// The sequences that were generated.
struct SearchResult {
  /// `results` sequences per prompt, best first, including the ids that they start from and
  /// excluding padding. A sequence that ended before its maximum length includes its end id.
  std::vector<TokenIds> sequences;
  /// Beam search: the sum of log-probabilities divided by length^length_penalty. The length does
  /// not include the end id. Otherwise empty, unless GenerationOptions::log_probabilities is set.
  std::vector<double> scores;
};

/// A new id of a row. Row prompt * results + result is one of the results for a prompt.
struct GeneratedToken {
  std::int64_t row = 0, id = 0;
};

class Search;

/// Generates sequences of ids with greedy search, sampling or beam search. The caller drives it:
///
///   for (Generation g = generator.generate(prompts, options); const auto token = g.next();)
///     use(token->row, token->id);
///
/// Beam search works as in Hugging Face transformers: it considers the best 2 * beams candidates
/// for each prompt (more if there are several end ids). End ids among the first `beams` candidates
/// finish a sequence; candidates that are not end ids continue. Scores are computed in double
/// precision, so that ties do not depend on the CPU.
class Generation {
 public:
  /// Continues `starts`. The model must outlive the Generation. Throws ArgumentError if options are
  /// invalid or if a start leaves no room for new ids.
  Generation(StepModel& model, const SearchStarts& starts, const GenerationOptions& options);
  Generation(Generation&&) noexcept;
  Generation& operator=(Generation&&) noexcept;
  ~Generation();

  /// Returns the next id of any row, or nothing at the end. Each step of the model provides an id
  /// for every running row. Beam search reports an id as soon as all running beams and all finished
  /// sequences of the prompt share it; if there are several results, it reports all ids at the end.
  /// Throws ShapeError if logits have the wrong shape, DataError if logits are not finite or the
  /// options exclude every id, and ArgumentError if an id in the options is outside the vocabulary
  /// or another Generation was started with the same model. After an exception, the Generation must
  /// not be used any more.
  std::optional<GeneratedToken> next();
  /// Ends a row after the ids that next() has returned. In beam search, the result is then the best
  /// sequence so far, truncated to these ids. Returns false if the row has already ended.
  bool stop(std::int64_t row);
  /// Generates all remaining ids and returns the sequences. Throws the same exceptions as next().
  SearchResult run();

 private:
  std::unique_ptr<Search> search_;
  std::deque<GeneratedToken> ready_;  // final ids that next() has not returned yet
  struct Row {
    // Number of ids, including those of the start and excluding those in ready_.
    std::size_t length;
    bool stopped = false;
  };
  std::vector<Row> rows_;
};

/// Pads sequences with `pad_id`, so that all sequences in each group of `group` adjacent ones have
/// equal length. If `group` is 0, all sequences form one group.
void pad_to_longest(std::vector<TokenIds>& sequences, std::int64_t pad_id, std::int64_t group = 0);

/// Converts rows of ids, which must have the same length, to a tensor i64 [rows, length].
Tensor ids_tensor(const std::vector<TokenIds>& rows);
/// Converts a tensor i64 [rows, length] to rows of ids.
std::vector<TokenIds> ids_rows(const Tensor& ids);

}  // namespace weft
