// Generating over any model that is run step by step: greedily, by drawing, or with beams.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "weft/core/tensor.h"
#include "weft/models/generate/options.h"

namespace WEFT_API weft {

/// Logits f32 [rows, vocab] of what follows `tokens` i64 [rows, new], which stand after `position`
/// ids that the model has seen already; row r goes on from row parents[r] (i64 [rows]), one of the
/// same prompt. Every prompt has as many rows, next to each other: `beams`, or `results` draws.
using DecodeStep =
    std::function<Tensor(const Tensor& tokens, std::int64_t position, const Tensor& parents)>;
/// Rows per prompt.
std::int64_t rows_per_prompt(const GenerationOptions& options);

/// What sequences start from, one per prompt, all of one length.
struct SearchStarts {
  std::vector<TokenIds> ids;
  /// As many ids in front of each are padding: no length counts them and no rule sees them. Empty:
  /// none.
  std::vector<std::int64_t> padding = {};
};

/// Told every new id of every row as it comes, row by row; false ends that row. With beams a row is
/// a prompt, an id comes as soon as all beams and all that is finished have it, and what ended is
/// the best so far.
using OnToken = std::function<bool(std::int64_t row, std::int64_t id)>;

/// The sequences that a search generated.
struct SearchResult {
  /// `results` sequences per prompt, best first, with what they start from, padding left out. With
  /// their end, where they ended before they were at full length.
  std::vector<TokenIds> sequences;
  /// Beams only: sum of log-probabilities / length^length_penalty, the end not counted as length.
  std::vector<double> scores;
};

/// Continues `starts`. Beams work as in Hugging Face's library: of the 2 * beams best candidates of
/// a prompt (more with several ends) those that are an end and among the first `beams` finish a
/// sequence, others go on. Scores are computed in double, so that ties do not depend on the CPU.
/// Throws ArgumentError for options out of range, for a start that leaves nothing to generate, and
/// for on_token with several results of beams, of which nothing is certain before the end;
/// ShapeError for logits of another shape, DataError where logits are not finite or the options
/// forbid every id.
SearchResult search(const DecodeStep& step, const SearchStarts& starts,
                    const GenerationOptions& options, const OnToken& on_token = {});
/// The same for starts i64 [prompts, length].
SearchResult search(const DecodeStep& step, const Tensor& starts, const GenerationOptions& options,
                    const OnToken& on_token = {});

/// Fills sequences up with `pad_id`: each group of `group` adjacent ones is then as long as its
/// longest (0: all are one group).
void fill_up(std::vector<TokenIds>& sequences, std::int64_t pad_id, std::int64_t group = 0);

/// Rows of ids, all of one length: i64 [rows, length].
Tensor ids_tensor(const std::vector<TokenIds>& rows);
/// The rows of i64 [rows, length].
std::vector<TokenIds> ids_rows(const Tensor& ids);

}  // namespace weft
