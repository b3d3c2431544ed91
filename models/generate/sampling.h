// Samples the next id.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/models/generate/options.h"

namespace WEFT_API weft {

/// Divides scores by the temperature, and sets the scores that top_k, top_p or min_p exclude to
/// -inf. At least one score remains finite.
void filter_scores(const SamplingOptions& options, std::vector<double>& scores);

/// Samples an id with probability softmax(scores). The result depends only on the scores and (seed,
/// row, index); `index` is the number of new ids in the row so far. At least one score must be
/// finite.
std::int64_t sample_id(const std::vector<double>& scores, std::uint64_t seed, std::int64_t row,
                       std::int64_t index);

}  // namespace weft
