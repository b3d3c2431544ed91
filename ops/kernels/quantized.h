// Products with quantised weight matrices and their conversion to float. The layouts are those of
// ops/quantized.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/ops/kernels/quantized_weights.h"

namespace weft::kernels {

/// Returns the bytes that prepare_rows() writes, on any CPU.
std::size_t prepared_rows_bytes(std::int64_t inputs, std::int64_t rows);
/// Converts rows of x, a dense [rows, inputs], to the form that quantized_product() reads on this
/// CPU: see quantized_dot.h. `prepared` is aligned to 64 bytes.
void prepare_rows(const QuantizedWeights& w, const float* x, std::int64_t rows,
                  std::byte* prepared);

/// Computes y[r][j] = sum_i x[r][i] W[i][j] for `rows` rows and the outputs of panels [begin, end).
/// The panels are read once per four rows, the first time from memory and then from cache. y is
/// [rows, outputs]. The error is that of float32 sums. The order of a sum depends on the position
/// of a row in its group of four, on the SIMD target and on the CPU, but not on `begin` and `end`.
void quantized_product(const QuantizedWeights& w, const float* x, const std::byte* prepared,
                       std::int64_t rows, std::int64_t begin, std::int64_t end, float* y);
/// As above, with fused multiply-adds on every CPU, for tests on CPUs that have faster
/// instructions.
void quantized_product_fma(const QuantizedWeights& w, const float* x, std::int64_t rows,
                           std::int64_t begin, std::int64_t end, float* y);

/// Writes out[i - first][j] = W[i][16 begin + j] for inputs [first, last) and panels [begin, end).
/// The last panel is written as a whole even if outputs end inside it. `first` is a multiple of 32.
/// Rows of `out` are `stride` floats apart.
void dequantize_block(const QuantizedWeights& w, std::int64_t first, std::int64_t last,
                      std::int64_t begin, std::int64_t end, float* out, std::int64_t stride);

/// Writes out[i] = W[i][output] for all inputs.
void dequantize_channel(const QuantizedWeights& w, std::int64_t output, float* out);

}  // namespace weft::kernels
