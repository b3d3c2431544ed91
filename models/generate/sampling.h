// Drawing the next id.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/models/generate/options.h"

namespace WEFT_API weft {

/// Divides scores by the temperature and gives those that top_k, top_p and min_p drop the score
/// -inf. At least one id stays.
void filter_scores(const SamplingOptions& options, std::vector<double>& scores);

/// An id with probability softmax(scores). The draw is a function of (seed, row, index) and the
/// scores, `index` counting the new ids of the row. At least one score must be finite.
std::int64_t draw_id(const std::vector<double>& scores, std::uint64_t seed, std::int64_t row,
                     std::int64_t index);

}  // namespace weft
