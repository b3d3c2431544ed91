// Greedy search and sampling of a single sequence: option checks, the choice of the next id, and
// the end of the sequence.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "weft/models/generate/finish.h"
#include "weft/models/generate/logits_rules.h"
#include "weft/models/generate/options.h"
#include "weft/models/generate/structured/constraint.h"

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

/// A token and its log-probability after the rules and before the filters of sampling.
struct ScoredToken {
  std::int64_t id = 0;
  double log_probability = 0;
};
/// A new token and its alternatives.
struct NewToken {
  ScoredToken token;
  std::vector<ScoredToken> top = {};  // the most likely tokens, most likely first
};

/// Returns the id that follows `ids`: applies the rules to the logits f32 [vocab], then selects the
/// most likely id or, with options.sampling, samples one for (seed, sampling.first_row + row,
/// number of new ids). Throws like read_logits(), and DataError if the options exclude every id.
/// `name` is the name of the sequence in the message, for example "row 3". `scores` is a buffer.
/// `top` is the number of alternatives in the result; -1 = not even the log-probability of the id
/// is computed. `constraint` is the state of options.constraint, which continues with the id unless
/// it is an end id; end ids are allowed if the text is complete. Null: no constraint.
NewToken next_id(const GenerationOptions& options, const LengthRules& lengths,
                 std::span<const std::int64_t> ids, std::int64_t row, std::string_view name,
                 std::span<const float> logits, std::vector<double>& scores, std::int64_t top = -1,
                 ConstraintState* constraint = nullptr);

/// Returns the reason why the sequence ends with the last of `ids`, or nothing if it continues: an
/// end id, a stop sequence, a constraint that permits nothing else, or its maximum length. `ids`
/// contains at least one new id.
std::optional<Finish> finish_of(const GenerationOptions& options, const LengthRules& lengths,
                                std::span<const std::int64_t> ids,
                                const ConstraintState* constraint = nullptr);

}  // namespace weft
