// Random permutations and evenly spaced subsets of examples.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Returns a permutation of 0, 1, ..., count - 1 that is a function of `seed` and `epoch`
/// (Fisher-Yates).
std::vector<std::int64_t> shuffled(std::int64_t count, std::uint64_t seed, std::uint32_t epoch = 0);

/// Chooses the examples that are held out from training. Returns true for round(fraction * count)
/// of `count` examples; if `fraction` is positive, for at least one of them, but not for all. The
/// result is a function of `seed`. Throws ArgumentError unless 0 <= fraction < 1.
std::vector<bool> held_out_examples(std::int64_t count, double fraction, std::uint64_t seed);

/// Returns `most` evenly spaced indices of `count` examples, in ascending order. Even spacing
/// matters because a set may be sorted by class. Returns all indices if `most` is 0 or at least
/// `count`.
std::vector<std::int64_t> evenly_spread(std::int64_t count, std::int64_t most);

}  // namespace weft
