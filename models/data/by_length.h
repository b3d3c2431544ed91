// Examples of like length together: little padding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// The numbers of examples of these lengths, the shortest first; those of one length in their
/// order.
std::vector<std::size_t> by_length(std::span<const std::size_t> lengths);

/// The numbers of the examples of every batch: 64 of like length, and the rest.
std::vector<std::vector<std::size_t>> batches_by_length(std::span<const std::size_t> lengths);

/// Batches of examples that have at most `most_tokens` tokens with their padding (an example that
/// is longer is one alone), the longest first. Little is padding: examples of a batch differ by a
/// sixteenth in length, but in batches that are too small to fill a machine. Whole batches of one
/// length have one size, for which a session has a plan.
std::vector<std::vector<std::size_t>> batches_by_tokens(std::span<const std::size_t> lengths,
                                                        std::int64_t most_tokens);

}  // namespace weft
