// Products with quantised weight matrices and their conversion to float. The layouts are those of
// ops/quantized.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/ops/kernels/quantized_weights.h"

namespace weft::kernels {

/// Bytes for prepare_rows(), on any CPU.
std::size_t prepared_rows_bytes(std::int64_t inputs, std::int64_t rows);
/// Brings rows of x, [rows, inputs] without gaps, into the form that quantized_product() reads on
/// this CPU: see quantized_dot.h. `prepared` is aligned to 64 bytes.
void prepare_rows(const QuantizedWeights& w, const float* x, std::int64_t rows,
                  std::byte* prepared);

/// y[r][j] = sum_i x[r][i] W[i][j] for `rows` rows and the outputs of panels [begin, end): reads
/// those panels once per four rows, the first time from memory and then from cache. y is [rows,
/// outputs]. The error is that of sums of float32. The order of a sum depends on the position of a
/// row within its four, on the target and the CPU, not on where panels begin and end.
void quantized_product(const QuantizedWeights& w, const float* x, const std::byte* prepared,
                       std::int64_t rows, std::int64_t begin, std::int64_t end, float* y);
/// The same by fused multiply-adds on every CPU, for tests of those that have something better.
void quantized_product_fma(const QuantizedWeights& w, const float* x, std::int64_t rows,
                           std::int64_t begin, std::int64_t end, float* y);

/// out[i - first][j] = W[i][16 begin + j] for inputs [first, last) and panels [begin, end), whole
/// panels also where outputs end within the last. `first` is a multiple of 32. Rows of `out` are
/// `stride` floats apart.
void dequantize_block(const QuantizedWeights& w, std::int64_t first, std::int64_t last,
                      std::int64_t begin, std::int64_t end, float* out, std::int64_t stride);

/// out[i] = W[i][output] for all inputs.
void dequantize_channel(const QuantizedWeights& w, std::int64_t output, float* out);

}  // namespace weft::kernels
