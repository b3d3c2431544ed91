// Orders at random.
#pragma once

#include <cstdint>
#include <vector>

namespace weft {

/// 0, 1, ..., count - 1 in an order that is a function of `seed` and `epoch` alone (Fisher and
/// Yates).
std::vector<std::int64_t> shuffled(std::int64_t count, std::uint64_t seed, std::uint32_t epoch = 0);

}  // namespace weft
