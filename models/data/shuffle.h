// Which examples of a set, and in which order.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// 0, 1, ..., count - 1 in an order that is a function of `seed` and `epoch` alone (Fisher and
/// Yates).
std::vector<std::int64_t> shuffled(std::int64_t count, std::uint64_t seed, std::uint32_t epoch = 0);

/// Places of `most` of `count` examples (of all, where there are no more, and for 0), evenly spread
/// and ascending: a set's order may be that of its classes.
std::vector<std::int64_t> evenly_spread(std::int64_t count, std::int64_t most);

}  // namespace weft
