// Products with quantised weights, computed with byte dot-product instructions (AVX512_VNNI) at
// float32 accuracy. Each group of 32 values of a row is converted to 24-bit integers with a common
// step. The integers are split into three signed bytes: x = step * (65536 high + 256 middle + low).
// Sums of products of bytes and weights are exact in 32 bits, so the only error per value is half a
// step, which is 2^-24 times the largest of the 32 values. The kernel needs four instructions per
// 64 int8 weights instead of twelve or more, so its speed is limited by memory bandwidth.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/ops/kernels/quantized/quantized_weights.h"

namespace weft::kernels {

/// Returns the number of bytes that prepare_dot_rows() writes.
std::size_t dot_rows_bytes(std::int64_t inputs, std::int64_t rows);
/// Splits the rows of x [rows, inputs] into bytes, in the order of the weights. Requires
/// AVX512_VNNI.
void prepare_dot_rows(const QuantizedWeights& w, const float* x, std::int64_t rows,
                      std::byte* prepared);
/// Returns false if row `row` contains values that cannot be represented by bytes. These are values
/// that are not finite, and groups in which all values are below 2^-90 but not all are 0.
bool can_dot(const QuantizedWeights& w, std::int64_t row, const std::byte* prepared);
/// Computes y [rows, outputs] for panels [begin, end). The bits of a row do not depend on the other
/// rows. Requires AVX512_VNNI.
void dot_product(const QuantizedWeights& w, const std::byte* prepared, std::int64_t rows,
                 std::int64_t begin, std::int64_t end, float* y);

}  // namespace weft::kernels
