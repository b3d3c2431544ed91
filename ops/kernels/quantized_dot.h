// Products with quantised weights by dot products of bytes (AVX512_VNNI), without giving up float32
// accuracy of x: every 32 values of a row become 24-bit integers over a common step, cut into three
// signed bytes, x = step * (65536 high + 256 middle + low). Sums of bytes times weights are exact
// in 32 bits, so the only error is half a step, 2^-24 of the largest of the 32 values, per value.
// That is four instructions per 64 int8 weights instead of twelve or more, few enough to wait for
// memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/ops/kernels/quantized_weights.h"

namespace weft::kernels {

/// True where this CPU has the instructions; the functions below that say so need them.
bool dot_unit();

/// Bytes for prepare_dot_rows().
std::size_t dot_rows_bytes(std::int64_t inputs, std::int64_t rows);
/// Cuts rows of x [rows, inputs] into bytes, in the order in which the weights lie. Needs the unit.
void prepare_dot_rows(const QuantizedWeights& w, const float* x, std::int64_t rows,
                      std::byte* prepared);
/// False where a row has values that bytes cannot carry: not finite, or all of a group's below
/// 2^-90 but not 0.
bool can_dot(const QuantizedWeights& w, std::int64_t rows, const std::byte* prepared);
/// y [rows, outputs] for panels [begin, end). Needs the unit.
void dot_product(const QuantizedWeights& w, const std::byte* prepared, std::int64_t rows,
                 std::int64_t begin, std::int64_t end, float* y);

}  // namespace weft::kernels
