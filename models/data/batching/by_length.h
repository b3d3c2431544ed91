// Batches of examples of similar length, to reduce padding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Returns the indices of the examples, sorted by ascending length. Examples of equal length keep
/// their order.
std::vector<std::size_t> by_length(std::span<const std::size_t> lengths);

/// Returns the indices of the examples in each batch. A batch contains 64 examples of similar
/// length; the last batch contains the remaining examples.
std::vector<std::vector<std::size_t>> batches_by_length(std::span<const std::size_t> lengths);

/// Returns batches with at most `max_tokens` tokens including padding, starting with the longest
/// examples. An example that exceeds the limit forms its own batch. To limit padding, examples are
/// at most one sixteenth shorter than the longest example in their batch, except in batches that
/// are too small to fully utilise the machine. Full batches of equal length have equal size, so
/// that a session reuses its plan.
std::vector<std::vector<std::size_t>> batches_by_tokens(std::span<const std::size_t> lengths,
                                                        std::int64_t max_tokens);

/// Returns batches of examples without padding: the longest examples first, with at most
/// `max_tokens` tokens per batch. An example that exceeds the limit forms its own batch.
std::vector<std::vector<std::size_t>> batches_without_padding(std::span<const std::size_t> lengths,
                                                              std::int64_t max_tokens);

}  // namespace weft
