// Examples of like length together: little padding.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace weft {

/// The numbers of examples of these lengths, the shortest first; those of one length in their
/// order.
std::vector<std::size_t> by_length(std::span<const std::size_t> lengths);

/// Calls `use` with the numbers of the examples of every batch: 64 of like length, and the rest.
void for_batches_by_length(std::span<const std::size_t> lengths,
                           const std::function<void(std::span<const std::size_t>)>& use);

}  // namespace weft
