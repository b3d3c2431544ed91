// Greedy search, sampling and beam search with any model that runs step by step.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "weft/core/tensor.h"
#include "weft/models/generate/options.h"

namespace WEFT_API weft {

/// Runs the model on `tokens` i64 [rows, new] and returns the logits f32 [rows, vocab] of the next
/// id. The tokens follow `position` ids that the model has already processed. Row r continues row
/// parents[r] (i64 [rows]) of the previous step, which belongs to the same prompt. Every prompt has
/// the same number of adjacent rows: `beams`, or `results` when sampling.
using DecodeStep =
    std::function<Tensor(const Tensor& tokens, std::int64_t position, const Tensor& parents)>;
/// Returns the number of rows per prompt.
std::int64_t rows_per_prompt(const GenerationOptions& options);

/// The ids that sequences start from, one list per prompt, all of the same length.
struct SearchStarts {
  std::vector<TokenIds> ids;
  /// Number of padding ids at the front of each list. Lengths do not include them and rules do not
  /// see them. Empty: no padding.
  std::vector<std::int64_t> padding = {};
};

/// Called for every new id of every row, row by row; the row ends if it returns false. In beam
/// search a row is a prompt: an id is reported as soon as all running beams and all finished
/// sequences share it, and a prompt that is ended returns the best sequence so far.
using OnToken = std::function<bool(std::int64_t row, std::int64_t id)>;

/// The sequences that a search generated.
struct SearchResult {
  /// `results` sequences per prompt, best first, including the ids that they start from and
  /// excluding padding. A sequence that ended before its maximum length includes its end id.
  std::vector<TokenIds> sequences;
  /// Beam search only: sum of log-probabilities / length^length_penalty. The length excludes the
  /// end id.
  std::vector<double> scores;
};

/// Continues `starts`. Beam search works as in Hugging Face transformers: it considers the 2 *
/// beams best candidates of a prompt (more with several end ids). End ids among the first `beams`
/// candidates finish a sequence, and candidates that are not end ids continue. Scores are computed
/// in double, so that ties do not depend on the CPU.
///
/// Throws ArgumentError for invalid options, for a start that leaves nothing to generate, and for
/// on_token with several results of beam search, which are known only at the end; ShapeError for
/// logits of another shape; DataError if logits are not finite or the options exclude every id.
SearchResult search(const DecodeStep& step, const SearchStarts& starts,
                    const GenerationOptions& options, const OnToken& on_token = {});
/// As above, for starts i64 [prompts, length].
SearchResult search(const DecodeStep& step, const Tensor& starts, const GenerationOptions& options,
                    const OnToken& on_token = {});

/// Pads sequences with `pad_id`, so that each group of `group` adjacent sequences has the length of
/// its longest one (0: one group of all sequences).
void pad_to_longest(std::vector<TokenIds>& sequences, std::int64_t pad_id, std::int64_t group = 0);

/// Returns rows of ids, all of the same length, as i64 [rows, length].
Tensor ids_tensor(const std::vector<TokenIds>& rows);
/// Returns the rows of a tensor i64 [rows, length].
std::vector<TokenIds> ids_rows(const Tensor& ids);

}  // namespace weft
