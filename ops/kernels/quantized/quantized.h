// Products with quantised weight matrices, and conversion of the weights to float. The layouts are
// defined in ops/quantized/quantized.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/core/dtype.h"
#include "weft/ops/kernels/quantized/quantized_weights.h"

namespace weft::kernels {

/// Returns true if quantized_product() uses byte dot products (quantized_dot.h), on this CPU and
/// for the SIMD target in use. Then it is also the fastest kernel for any number of rows that uses
/// vector instructions.
bool uses_byte_dots();
/// Returns the maximum number of bytes that prepare_rows() writes on any CPU.
std::size_t prepared_rows_bytes(std::int64_t inputs, std::int64_t rows);
/// Converts the rows of x, a dense matrix [rows, inputs], to the layout that quantized_product()
/// expects on this CPU; see quantized_dot.h. `prepared` must be 64-byte aligned.
void prepare_rows(const QuantizedWeights& w, const float* x, std::int64_t rows,
                  std::byte* prepared);

/// Computes y[r][j] = sum_i x[r][i] W[i][j] for `rows` rows and the outputs of panels [begin, end).
/// y is [rows, outputs]. The panels are read once per four rows, the first time from memory and
/// then from cache. The error is the same as for sums in float32. With byte dot products, the bits
/// of a row depend on this row only. Otherwise, the order of summation also depends on the position
/// of a row within its group of four rows, unless `batch_invariant` is set. It does not depend on
/// `begin` and `end`.
void quantized_product(const QuantizedWeights& w, const float* x, const std::byte* prepared,
                       std::int64_t rows, std::int64_t begin, std::int64_t end, float* y,
                       bool batch_invariant = false);
/// Like quantized_product(), but always uses fused multiply-adds, for tests on CPUs with faster
/// instructions.
void quantized_product_fma(const QuantizedWeights& w, const float* x, std::int64_t rows,
                           std::int64_t begin, std::int64_t end, float* y);

/// Writes out[i - first][j] = W[i][16 begin + j] for inputs [first, last) and panels [begin, end).
/// The last panel is written as a whole even if the outputs end inside it. `first` must be a
/// multiple of 32. The rows of `out` are `stride` floats apart.
void dequantize_block(const QuantizedWeights& w, std::int64_t first, std::int64_t last,
                      std::int64_t begin, std::int64_t end, float* out, std::int64_t stride);

/// Writes the weights of an int8 matrix as in dequantize_block(), but divided by factors that
/// scale_columns() applies. The factors are such that the weights are bf16 numbers.
void dequantize_bf16_block(const QuantizedWeights& w, std::int64_t first, std::int64_t last,
                           std::int64_t begin, std::int64_t end, BFloat16* out,
                           std::int64_t stride);
/// Multiplies columns [first, first + columns) of a product by their factors. c points to the first
/// of these columns, and its rows are `stride` floats apart. `first` must be a multiple of 16.
void scale_columns(const QuantizedWeights& w, std::int64_t first, std::int64_t columns,
                   std::int64_t rows, float* c, std::int64_t stride);

/// Writes out[i] = W[i][output] for all inputs.
void dequantize_channel(const QuantizedWeights& w, std::int64_t output, float* out);

}  // namespace weft::kernels
