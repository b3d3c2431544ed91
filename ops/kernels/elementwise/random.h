// Functions that generate rows of random numbers. Every element depends only on the stream and the
// index of the element. In a range [begin, end), `begin` must be a multiple of 4, so that every row
// begins with a Philox block.
#pragma once

#include <cstdint>

#include "weft/core/random.h"
#include "weft/ops/row_kernel.h"

namespace weft::kernels {

/// Sets out[4 b + i] to word i of block first_block + b for `blocks` blocks. The bits are the same
/// as for RandomStream::block, but many blocks are computed at once.
void random_words(const RandomStream& stream, std::uint64_t first_block, std::int64_t blocks,
                  std::uint32_t* out);

/// Writes uniform random numbers in [0, 1), elements [begin, end) of the stream, to out. Element i
/// is uniform_float(word i) for float and uniform_double(word 2 i, word 2 i + 1) for double.
void uniform_row(const RandomStream& stream, std::int64_t begin, std::int64_t end, float* out);
void uniform_row(const RandomStream& stream, std::int64_t begin, std::int64_t end, double* out);

/// Writes standard normal random numbers: elements 2 i and 2 i + 1 are normal_pair(word 2 i, word 2
/// i + 1), rounded for float.
void normal_row(const RandomStream& stream, std::int64_t begin, std::int64_t end, float* out);
void normal_row(const RandomStream& stream, std::int64_t begin, std::int64_t end, double* out);

/// For elements i in [begin, end), writes 1 if word i < probability * 2^32, else 0.
void bernoulli_row(const RandomStream& stream, double probability, std::int64_t begin,
                   std::int64_t end, std::uint8_t* out);

/// Returns the row kernel of dropout on f32 or f64: out[i] = x[i] / (1 - rate) if word `position +
/// i` >= rate * 2^32, else 0. Operand 1 is the key {seed, runs} (i64[2], read as a whole). Null for
/// other dtypes.
RowKernel dropout_row(DType dtype, double rate, std::int64_t stream);

}  // namespace weft::kernels
