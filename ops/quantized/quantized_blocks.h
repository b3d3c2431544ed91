// Products of float rows with parts of a quantised matrix, on the calling thread.
#pragma once

#include "weft/ops/quantized/quantized_operands.h"

namespace weft {

/// With at most this many rows, a product reads the quantised weights directly and converts each
/// weight once per four rows. With more rows, blocks of weights are converted once and then
/// multiplied as float matrices, unless byte dot products are faster.
inline constexpr std::int64_t kFewQuantizedRows = 16;
/// The number of bytes of quantised weights that one core reads and uses per nanosecond.
inline constexpr double kQuantizedBytesPerNs = 12;
/// The number of panels that multiply_panels() converts together, and the corresponding number of
/// columns. A block of converted weights stays in the L2 cache.
inline constexpr std::int64_t kBlockPanels = 8;
inline constexpr std::int64_t kBlockWidth = kBlockPanels * kQuantizedPanel;

/// Returns the number of bytes of scratch of the functions below for at most `rows` rows.
std::size_t block_scratch_bytes(std::int64_t rows);

/// Computes columns [16 begin, 16 end) of out = x W, for dense x [rows, inputs] and out [rows,
/// outputs], with converted weights. At most kBlockPanels panels. There must be at least one input.
void multiply_panels(const kernels::QuantizedWeights& w, const float* x, std::int64_t rows,
                     std::int64_t begin, std::int64_t end, float* out, std::byte* scratch);

/// Computes columns [first, last) of out = x W^T, for dense x [rows, outputs] and out [rows,
/// inputs]. `first` is a multiple of 32, and there are at most kBlockWidth columns and at least one
/// output. If batch_invariant is set, the bits of a row do not depend on the other rows.
void multiply_transposed(const kernels::QuantizedWeights& w, const float* x, std::int64_t rows,
                         std::int64_t first, std::int64_t last, float* out, std::byte* scratch,
                         bool batch_invariant = false);

}  // namespace weft
