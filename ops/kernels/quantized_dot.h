// Products with quantised weights by byte dot products (AVX512_VNNI), at float32 accuracy of x:
// every 32 values of a row are converted to 24-bit integers with a common step, which are split
// into three signed bytes, x = step * (65536 high + 256 middle + low). Sums of bytes times weights
// are exact in 32 bits, so the only error per value is half a step, 2^-24 of the largest of the 32
// values. This takes four instructions per 64 int8 weights instead of twelve or more, so that the
// speed is limited by memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/ops/kernels/quantized_weights.h"

namespace weft::kernels {

/// Returns true if this CPU has the instructions, which some of the functions below require.
bool dot_unit();

/// Returns the bytes that prepare_dot_rows() writes.
std::size_t dot_rows_bytes(std::int64_t inputs, std::int64_t rows);
/// Splits rows of x [rows, inputs] into bytes, in the order of the weights. Requires dot_unit().
void prepare_dot_rows(const QuantizedWeights& w, const float* x, std::int64_t rows,
                      std::byte* prepared);
/// Returns false if a row has values that are not representable by bytes: values that are not
/// finite, or a group whose values are all below 2^-90 but not all 0.
bool can_dot(const QuantizedWeights& w, std::int64_t rows, const std::byte* prepared);
/// Computes y [rows, outputs] for panels [begin, end). Requires dot_unit().
void dot_product(const QuantizedWeights& w, const std::byte* prepared, std::int64_t rows,
                 std::int64_t begin, std::int64_t end, float* y);

}  // namespace weft::kernels
