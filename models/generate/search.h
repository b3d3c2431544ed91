// Greedy search, sampling and beam search for any model that decodes step by step.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "weft/core/tensor.h"
#include "weft/models/generate/options.h"

namespace WEFT_API weft {

/// Runs the model on `tokens` i64 [rows, new] and returns the logits f32 [rows, vocab] of the next
/// id. The tokens follow `position` ids that the model has already processed. Row r continues row
/// parents[r] of the previous step, which belongs to the same prompt; `parents` is i64 [rows]. Each
/// prompt has the same number of adjacent rows: `beams`, or `results` when sampling.
using DecodeStep =
    std::function<Tensor(const Tensor& tokens, std::int64_t position, const Tensor& parents)>;
/// Returns the number of rows per prompt.
std::int64_t rows_per_prompt(const GenerationOptions& options);

/// The ids that sequences start from, one list per prompt, all of the same length.
struct SearchStarts {
  std::vector<TokenIds> ids;
  /// Number of leading padding ids in each list. Lengths and rules ignore them. Empty: no padding.
  std::vector<std::int64_t> padding = {};
};

/// Called for every new id of every row, row by row. If it returns false, the row ends. In beam
/// search, `row` is the index of a prompt: an id is reported as soon as all running beams and all
/// finished sequences share it. If the callback ends the search for a prompt, the result is its
/// best sequence so far.
using OnToken = std::function<bool(std::int64_t row, std::int64_t id)>;

/// The sequences that a search generated.
struct SearchResult {
  /// `results` sequences per prompt, best first, including the ids that they start from and
  /// excluding padding. A sequence that ended before its maximum length includes its end id.
  std::vector<TokenIds> sequences;
  /// Beam search only: the sum of log-probabilities divided by length^length_penalty. The length
  /// does not include the end id.
  std::vector<double> scores;
};

/// Continues `starts`. Beam search works as in Hugging Face transformers: it considers the best 2 *
/// beams candidates for each prompt (more if there are several end ids). End ids among the first
/// `beams` candidates finish a sequence; candidates that are not end ids continue. Scores are
/// computed in double precision, so that ties do not depend on the CPU.
///
/// Throws ArgumentError if options are invalid, if a start leaves no room for new ids, or if
/// on_token is set and beam search returns several results, because they are known only at the end.
/// Throws ShapeError if logits have the wrong shape, and DataError if logits are not finite or the
/// options exclude every id.
SearchResult search(const DecodeStep& step, const SearchStarts& starts,
                    const GenerationOptions& options, const OnToken& on_token = {});
/// As above, for starts i64 [prompts, length].
SearchResult search(const DecodeStep& step, const Tensor& starts, const GenerationOptions& options,
                    const OnToken& on_token = {});

/// Pads sequences with `pad_id`, so that all sequences in each group of `group` adjacent ones have
/// equal length. If `group` is 0, all sequences form one group.
void pad_to_longest(std::vector<TokenIds>& sequences, std::int64_t pad_id, std::int64_t group = 0);

/// Converts rows of ids, which must have the same length, to a tensor i64 [rows, length].
Tensor ids_tensor(const std::vector<TokenIds>& rows);
/// Converts a tensor i64 [rows, length] to rows of ids.
std::vector<TokenIds> ids_rows(const Tensor& ids);

}  // namespace weft
