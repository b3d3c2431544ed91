// Rows of random numbers. Every element is a function of (stream, its index) alone. Where a row is
// [begin, end), `begin` is a multiple of 4: it begins with a block of Philox.
#pragma once

#include <cstdint>

#include "weft/core/random.h"
#include "weft/ops/row_kernel.h"

namespace weft::kernels {

/// out[4 b + i] = word i of block first_block + b, for `blocks` blocks: the same bits as
/// RandomStream::block, many blocks at once.
void random_words(const RandomStream& stream, std::uint64_t first_block, std::int64_t blocks,
                  std::uint32_t* out);

/// Elements [begin, end) of a uniform draw in [0, 1), to out[0 ...]. float: element i is
/// uniform_float(word i). double: uniform_double(word 2 i, word 2 i + 1).
void uniform_row(const RandomStream& stream, std::int64_t begin, std::int64_t end, float* out);
void uniform_row(const RandomStream& stream, std::int64_t begin, std::int64_t end, double* out);

/// Standard normals: elements 2 i and 2 i + 1 are normal_pair(word 2 i, word 2 i + 1), rounded for
/// float.
void normal_row(const RandomStream& stream, std::int64_t begin, std::int64_t end, float* out);
void normal_row(const RandomStream& stream, std::int64_t begin, std::int64_t end, double* out);

/// out[i] = word i < probability * 2^32, as 0 or 1.
void bernoulli_row(const RandomStream& stream, double probability, std::int64_t begin,
                   std::int64_t end, std::uint8_t* out);

/// Dropout of f32 or f64: out[i] = x[i] / (1 - rate) where word `position + i` >= rate * 2^32, else
/// 0. Operand 1 is the key {seed, runs} (i64[2], whole). Null for other dtypes.
RowKernel dropout_row(DType dtype, double rate, std::int64_t stream);

}  // namespace weft::kernels
