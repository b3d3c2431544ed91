// Greedy search and sampling of a single sequence: option checks, the choice of the next id, and
// the end of the sequence.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "weft/models/generate/logits_rules.h"
#include "weft/models/generate/options.h"

namespace WEFT_API weft {

/// Checks `options` without a tokenizer or a default length. Throws ArgumentError.
void check_options(const GenerationOptions& options);
/// Returns the length limits of a sequence that starts from `start` ids. Throws ArgumentError if
/// there is no room for new ids.
LengthRules checked_length_rules(const GenerationOptions& options, std::int64_t start);
/// Throws ArgumentError if an id in the options is outside the vocabulary.
void check_ids(const GenerationOptions& options, std::int64_t vocab);

/// Copies logits to `scores` in double precision. Throws DataError if a logit is NaN or the largest
/// logit is infinite. `name` is the name of the sequence in the message, for example "row 3".
void read_logits(std::span<const float> logits, std::string_view name, std::vector<double>& scores);

/// Returns the id that follows `ids`: applies the rules to `scores`, then selects the most likely
/// id or, with options.sampling, samples one for (seed, sampling.first_row + row, number of new
/// ids). Throws DataError if the options exclude every id. `name` is the name of the sequence in
/// the message, for example "row 3". If `log_probability` is not null, adds to it the
/// log-probability of the id after the rules and before the filters.
std::int64_t next_id(const GenerationOptions& options, const LengthRules& lengths,
                     std::span<const std::int64_t> ids, std::int64_t row, std::string_view name,
                     std::vector<double>& scores, double* log_probability = nullptr);

/// Returns true if the sequence ends with the last of `ids`: at its maximum length, an end id or a
/// stop sequence. `ids` contains at least one new id.
bool ends_sequence(const GenerationOptions& options, const LengthRules& lengths,
                   std::span<const std::int64_t> ids);

}  // namespace weft
