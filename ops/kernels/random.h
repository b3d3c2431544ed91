// Rows of random numbers. Every element is a function of (stream, its index) alone; `begin` is a
// multiple of 4, so that rows begin with a block of Philox.
#pragma once

#include <cstdint>

#include "weft/core/random.h"

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

/// out[i] = x[i] / (1 - rate) where word i >= rate * 2^32, else 0. x and out are the row [begin,
/// end) itself and may be the same.
void dropout_row(const RandomStream& stream, double rate, std::int64_t begin, std::int64_t end,
                 const float* x, float* out);
void dropout_row(const RandomStream& stream, double rate, std::int64_t begin, std::int64_t end,
                 const double* x, double* out);

}  // namespace weft::kernels
