// Dequantisation of blocks. Every value is computed with the same float operations in the same
// order as in ggml (ggml/src/ggml-quants.c, dequantize_row_*), so that the bits are equal. The
// products of levels and scales are exact in float; only the subtraction or addition of a minimum
// rounds.
#include <algorithm>
#include <bit>
#include <cstring>

#include "weft/core/parallel.h"
#include "weft/core/rounding.h"
#include "weft/serialization/gguf/blocks.h"

namespace weft {
namespace {

constexpr int kLevels = 32, kSuperLevels = 256;

float half_at(const std::uint8_t* bytes) {
  Float16 half;
  std::memcpy(&half.bits, bytes, sizeof(half.bits));
  return to_float(half);
}

// -- Blocks of 32 ---------------------------------------------------------------------------------

void widen_q8_0(const std::uint8_t* block, float* y) {
  const float scale = half_at(block);
  for (int i = 0; i < kLevels; ++i)
    y[i] = static_cast<float>(static_cast<std::int8_t>(block[2 + i])) * scale;
}

// Q4_0, Q4_1, Q5_0 and Q5_1: a scale, a minimum (_1), the fifth bits of all levels (Q5), and the
// low bits: elements i and i + 16 share a byte. Without a minimum, the middle level is 0.
template <int kBits, bool kHasMinimum>
void widen_small(const std::uint8_t* block, float* y) {
  const float scale = half_at(block), minimum = kHasMinimum ? half_at(block + 2) : 0;
  const std::uint8_t* rest = block + (kHasMinimum ? 4 : 2);
  std::uint32_t fifth_bits = 0;
  if (kBits == 5) {
    std::memcpy(&fifth_bits, rest, sizeof(fifth_bits));
    rest += sizeof(fifth_bits);
  }
  for (int i = 0; i < kLevels; ++i) {
    const int low = i < 16 ? rest[i] & 15 : rest[i - 16] >> 4;
    const int level = low | static_cast<int>(fifth_bits >> i & 1) << 4;
    y[i] = kHasMinimum ? static_cast<float>(level) * scale + minimum
                       : static_cast<float>(level - (1 << (kBits - 1))) * scale;
  }
}

// An E8M0 scale 2^(e - 127) and 4-bit floats (E2M1), of which the table contains the doubles. The
// numbers of OCP's Microscaling Formats, except that the scale 255 (NaN) is 2^128 as in ggml.
void widen_mxfp4(const std::uint8_t* block, float* y) {
  constexpr float kDoubles[] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
  const std::uint32_t e = block[0];
  const float half_scale =
      std::bit_cast<float>(e < 2 ? std::uint32_t{0x00200000} << e : (e - 1) << 23);
  for (int i = 0; i < 16; ++i) {
    y[i] = kDoubles[block[1 + i] & 15] * half_scale;
    y[i + 16] = kDoubles[block[1 + i] >> 4] * half_scale;
  }
}

// -- Blocks of 256 --------------------------------------------------------------------------------

// Scale and minimum of a group of 32 levels, 6 bits each. Eight pairs are packed in 12 bytes: the
// low 6 bits of bytes 0 to 7 are the first four scales and minima; the last four consist of the
// halves of bytes 8 to 11 and the upper 2 bits of bytes 0 to 7.
std::pair<int, int> scale_and_minimum(const std::uint8_t* packed, int group) {
  if (group < 4) return {packed[group] & 63, packed[group + 4] & 63};
  return {(packed[group + 4] & 15) | (packed[group - 4] >> 6) << 4,
          (packed[group + 4] >> 4) | (packed[group] >> 6) << 4};
}

// Q4_K and Q5_K: the scales of scales and minima, 12 bytes of scales and minima, the fifth bits
// (Q5_K: bit g of byte i belongs to level i of group g), and the low bits: levels i of two
// consecutive groups share a byte.
template <int kBits>
void widen_k(const std::uint8_t* block, float* y) {
  const float scale = half_at(block), minimum = half_at(block + 2);
  const std::uint8_t* const fifth_bits = block + 16;
  const std::uint8_t* const low_bits = fifth_bits + (kBits == 5 ? kLevels : 0);
  for (int group = 0; group < kSuperLevels / kLevels; ++group) {
    const auto [steps, offset] = scale_and_minimum(block + 4, group);
    const float group_scale = scale * static_cast<float>(steps);
    const float group_minimum = minimum * static_cast<float>(offset);
    for (int i = 0; i < kLevels; ++i) {
      const int byte = low_bits[group / 2 * kLevels + i];
      int level = group % 2 == 0 ? byte & 15 : byte >> 4;
      if (kBits == 5) level |= (fifth_bits[i] >> group & 1) << 4;
      *y++ = group_scale * static_cast<float>(level) - group_minimum;
    }
  }
}

// Q6_K: the low 4 bits of the levels, their upper 2 bits, 16 scales of 8 bits for 16 levels each,
// and the scale of scales. Half a block of 128 levels consists of four quarters: quarters 0 and 2,
// and 1 and 3, share bytes of low bits; all four share bytes of upper bits.
void widen_q6_k(const std::uint8_t* block, float* y) {
  const std::uint8_t *const low_bits = block, *const upper_bits = block + 128,
                            *const scales = block + 192;
  const float scale = half_at(block + 208);
  for (int i = 0; i < kSuperLevels; ++i) {
    const int half = i / 128, quarter = i / 32 % 4, at = i % 32;
    const int low = low_bits[64 * half + 32 * (quarter % 2) + at] >> (quarter < 2 ? 0 : 4) & 15;
    const int upper = upper_bits[32 * half + at] >> (2 * quarter) & 3;
    const auto steps = static_cast<float>(static_cast<std::int8_t>(scales[i / 16]));
    y[i] = scale * steps * static_cast<float>((low | upper << 4) - 32);
  }
}

using Widen = void (*)(const std::uint8_t* block, float* y);

Widen widen_of(GgmlType type) {
  switch (type) {
    case GgmlType::q4_0: return widen_small<4, false>;
    case GgmlType::q4_1: return widen_small<4, true>;
    case GgmlType::q5_0: return widen_small<5, false>;
    case GgmlType::q5_1: return widen_small<5, true>;
    case GgmlType::q8_0: return widen_q8_0;
    case GgmlType::q4_k: return widen_k<4>;
    case GgmlType::q5_k: return widen_k<5>;
    case GgmlType::q6_k: return widen_q6_k;
    case GgmlType::mxfp4: return widen_mxfp4;
    case GgmlType::f32:
    case GgmlType::f16:
    case GgmlType::bf16: break;
  }
  return nullptr;
}

/// Returns the bytes of a tensor as elements of `dtype`.
Tensor elements(const GgufTensor& tensor, DType dtype) {
  if (reinterpret_cast<std::uintptr_t>(tensor.data.raw()) % dtype_size(dtype) == 0)
    return Tensor::view(dtype, tensor.sizes, tensor.data.buffer(), tensor.data.byte_offset());
  Tensor copy = Tensor::empty(dtype, tensor.sizes);
  std::memcpy(copy.mutable_raw(), tensor.data.raw(), tensor.data.bytes());
  return copy;
}

}  // namespace

Tensor widened(const GgufTensor& tensor) {
  const DType dtype = ggml_widened_dtype(tensor.type);
  const Widen widen = widen_of(tensor.type);
  if (widen == nullptr) return elements(tensor, dtype);
  Tensor result = Tensor::empty(dtype, tensor.sizes);
  const std::int64_t block = ggml_block_elements(tensor.type),
                     bytes = ggml_block_bytes(tensor.type), blocks = result.numel() / block;
  const auto* from = tensor.data.data<std::uint8_t>();
  float* const floats = dtype == DType::f32 ? result.mutable_data<float>() : nullptr;
  BFloat16* const narrow = dtype == DType::f32 ? nullptr : result.mutable_data<BFloat16>();
  constexpr std::int64_t kChunk = 4096;
  Workers workers;
  workers.for_chunks(divide_up(blocks, kChunk), [&](std::int64_t chunk, int) {
    const std::int64_t end = std::min(blocks, (chunk + 1) * kChunk);
    for (std::int64_t b = chunk * kChunk; b < end; ++b) {
      if (floats != nullptr) {
        widen(from + b * bytes, floats + b * block);
        continue;
      }
      float values[kSuperLevels];
      widen(from + b * bytes, values);
      for (std::int64_t i = 0; i < block; ++i) narrow[b * block + i] = to_bfloat16(values[i]);
    }
  });
  return result;
}

}  // namespace weft
