// Sampling of the next id.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/models/generate/options.h"

namespace WEFT_API weft {

/// Divides scores by the temperature and sets those that top_k, top_p and min_p exclude to -inf. At
/// least one id remains.
void filter_scores(const SamplingOptions& options, std::vector<double>& scores);

/// Samples an id with probability softmax(scores). The result is a function of (seed, row, index)
/// and the scores; `index` is the number of new ids in the row so far. At least one score must be
/// finite.
std::int64_t sample_id(const std::vector<double>& scores, std::uint64_t seed, std::int64_t row,
                       std::int64_t index);

}  // namespace weft
