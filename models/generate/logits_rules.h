// Logits processors for generation: penalties, forbidden ids and forced ids.
#pragma once

#include <limits>
#include <span>
#include <vector>

#include "weft/core/export.h"
#include "weft/models/generate/options.h"

namespace WEFT_API weft {

/// Score of an id that must not be generated.
inline constexpr double kForbidden = -std::numeric_limits<double>::infinity();

/// Length limits for one sequence. All lengths include the ids that the sequence starts from.
struct LengthRules {
  std::int64_t start = 0;           // number of ids that the sequence starts from
  std::int64_t first_unforced = 0;  // the first position after these ids without a forced id
  std::int64_t min = 0;             // no end id is allowed before this length
  std::int64_t max = 0;             // the sequence ends at this length
  TokenIds source = {};             // its n-grams are forbidden (encoder_no_repeat_ngram)
};
/// Returns the length limits that the options define for a sequence that starts from `start` ids.
LengthRules length_rules(const GenerationOptions& options, std::int64_t start);

/// Applies the rules in `options` to the scores of the id that follows `ids`. All ids in `options`
/// and `ids` must be in the vocabulary.
void apply_rules(const GenerationOptions& options, const LengthRules& lengths,
                 std::span<const std::int64_t> ids, std::vector<double>& scores);

}  // namespace weft
