// What generation allows, forbids and prefers, as changes of scores.
#pragma once

#include <limits>
#include <span>
#include <vector>

#include "weft/core/export.h"
#include "weft/models/generate/options.h"

namespace WEFT_API weft {

/// The score of an id that must not come.
inline constexpr double kForbidden = -std::numeric_limits<double>::infinity();

/// The lengths of one sequence, all counting the ids of its start.
struct LengthRules {
  std::int64_t start = 0;  // ids that it starts from
  std::int64_t free = 0;   // the first place after them that nothing is forced at
  std::int64_t min = 0;    // no end before there are as many
  std::int64_t max = 0;    // it ends here
};
/// What the options say for a sequence that starts from `start` ids.
LengthRules length_rules(const GenerationOptions& options, std::int64_t start);

/// Changes the scores of the id that follows `ids`, as GenerationOptions describes. Ids of the
/// options and `ids` must be in the vocabulary.
void apply_rules(const GenerationOptions& options, const LengthRules& lengths,
                 std::span<const std::int64_t> ids, std::vector<double>& scores);

}  // namespace weft
