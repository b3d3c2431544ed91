// Products of bfloat16 terms in plain loops: the scalar model of each precision, and the arithmetic
// of the instructions that compute it.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "weft/core/dtype.h"
#include "weft/core/tensor.h"
#include "weft/ops/kernels/gemm/bf16_split/panel.h"

namespace weft::testing {

/// Splits x into bfloat16 terms. Each term is what remains of x after the previous terms, rounded
/// to nearest.
inline std::array<float, 3> bf16_terms(float x, int terms) {
  std::array<float, 3> result = {};
  for (int t = 0; t < terms; ++t) {
    result[static_cast<std::size_t>(t)] = to_float(to_bfloat16(x));
    x -= result[static_cast<std::size_t>(t)];
  }
  return result;
}

inline int split_terms_of(int products) { return products == 1 ? 1 : products == 3 ? 2 : 3; }

/// The expected product of split matrices. A is m x k, B is k x n; both are f32 and row-major.
struct Bf16SplitModel {
  Tensor value;      // f64: the sum of the kept products of terms, rounded in double only
  Tensor magnitude;  // f64: the sum of the absolute values of the kept products
};

/// Terms t and u are multiplied if t + u < terms. In blocks of K for which representable_by_terms()
/// rejects the row or the column of an element, the original values are multiplied instead. With
/// `single_term_b`, B consists of bfloat16 numbers, and every term of A requires one product.
inline Bf16SplitModel model_bf16_split(const Tensor& a, const Tensor& b, int products,
                                       std::int64_t depth_block, bool single_term_b = false) {
  const int terms = single_term_b ? products : split_terms_of(products);
  const std::int64_t m = a.size(0), k = a.size(1), n = b.size(1);
  Bf16SplitModel model{Tensor::zeros(DType::f64, {m, n}), Tensor::zeros(DType::f64, {m, n})};
  const float *x = a.data<float>(), *y = b.data<float>();
  struct Range {
    std::uint32_t largest = 0, smallest = ~0u;
    void note(float v) {
      std::uint32_t bits;
      std::memcpy(&bits, &v, sizeof(bits));
      bits &= 0x7FFFFFFFu;
      largest = std::max(largest, bits);
      if (bits != 0) smallest = std::min(smallest, bits);
    }
  };
  for (std::int64_t p0 = 0; p0 < k; p0 += depth_block) {
    const std::int64_t end = std::min(k, p0 + depth_block);
    std::vector<Range> rows(static_cast<std::size_t>(m)), columns(static_cast<std::size_t>(n));
    for (std::int64_t p = p0; p < end; ++p) {
      for (std::int64_t i = 0; i < m; ++i) rows[static_cast<std::size_t>(i)].note(x[i * k + p]);
      for (std::int64_t j = 0; j < n; ++j) columns[static_cast<std::size_t>(j)].note(y[p * n + j]);
    }
    std::vector<std::array<float, 3>> b_terms(static_cast<std::size_t>((end - p0) * n));
    for (std::int64_t p = p0; p < end; ++p) {
      for (std::int64_t j = 0; j < n; ++j) {
        b_terms[static_cast<std::size_t>((p - p0) * n + j)] = bf16_terms(y[p * n + j], terms);
      }
    }
    for (std::int64_t i = 0; i < m; ++i) {
      const Range& row = rows[static_cast<std::size_t>(i)];
      for (std::int64_t p = p0; p < end; ++p) {
        const std::array<float, 3> s = bf16_terms(x[i * k + p], terms);
        for (std::int64_t j = 0; j < n; ++j) {
          const Range& column = columns[static_cast<std::size_t>(j)];
          double value = 0, magnitude = 0;
          if (kernels::representable_by_terms(row.largest, row.smallest, column.largest,
                                              column.smallest, end - p0)) {
            const auto& r = b_terms[static_cast<std::size_t>((p - p0) * n + j)];
            for (std::size_t t = 0; t < static_cast<std::size_t>(terms); ++t) {
              for (std::size_t u = 0; t + u < static_cast<std::size_t>(terms); ++u) {
                const double product = static_cast<double>(s[t]) * r[u];
                value += product;
                magnitude += std::abs(product);
              }
            }
          } else {
            value = static_cast<double>(x[i * k + p]) * y[p * n + j];
            magnitude = std::abs(value);
          }
          model.value.mutable_data<double>()[i * n + j] += value;
          model.magnitude.mutable_data<double>()[i * n + j] += magnitude;
        }
      }
    }
  }
  return model;
}

/// Returns the maximum difference between the model and float sums in the order of the kernels,
/// relative to the magnitude of the model. In a slice of 32, products of terms are summed by a
/// chain of 16 multiply-adds that starts at zero (one chain for even k, one for odd k) and one
/// addition. The result is added to the sum of its block, with `products` additions per slice, and
/// then the sums of the blocks are added. Each addition has a relative rounding error of at most
/// 2^-24. The number of additions that affect a product of terms is at most the total number of
/// additions:
///
///   16 + 1 + products * slices + blocks
///
/// For VDPBF16PS, and for the elements that representable_by_terms() rejects, the chain has
/// depth_block multiply-adds.
inline double split_sum_bound(int products, std::int64_t k, std::int64_t depth_block, bool chain) {
  const std::int64_t depth = std::min(k, depth_block);
  const std::int64_t in_block = chain ? depth : 17 + products * kernels::bf16_slices(depth);
  const std::int64_t blocks = (k + depth_block - 1) / depth_block;
  return static_cast<double>(in_block + blocks) * 0x1p-24;
}

/// Replaces denormals by zeros of the same sign.
inline float flush_denormal(float x) {
  return std::abs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x;
}

/// A fused multiply-add that treats denormal operands as zero and flushes a denormal result to
/// zero.
inline float flushed_fma(float a, float b, float c) {
  return flush_denormal(std::fma(flush_denormal(a), flush_denormal(b), flush_denormal(c)));
}

inline float lower_bf16(std::uint32_t pair) {
  return to_float(BFloat16{static_cast<std::uint16_t>(pair)});
}
inline float upper_bf16(std::uint32_t pair) {
  return to_float(BFloat16{static_cast<std::uint16_t>(pair >> 16)});
}

/// TDPBF16PS as defined in Intel's manual: c[16 x 16] += A B for a tile of A (16 rows of 16 pairs)
/// and a tile of B (16 rows that hold one pair for each of 16 columns).
inline void reference_tdpbf16ps(float* c, const std::uint32_t* a, const std::uint32_t* b) {
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 16; ++j) {
      float even = 0, odd = 0;
      for (int q = 0; q < 16; ++q) {
        even = flushed_fma(lower_bf16(a[i * 16 + q]), lower_bf16(b[q * 16 + j]), even);
        odd = flushed_fma(upper_bf16(a[i * 16 + q]), upper_bf16(b[q * 16 + j]), odd);
      }
      const float sum = flush_denormal(even + odd);
      c[i * 16 + j] = flush_denormal(flush_denormal(c[i * 16 + j]) + sum);
    }
  }
}

/// Computes one lane of VDPBF16PS.
inline float reference_vdpbf16ps(float c, std::uint32_t a, std::uint32_t b) {
  const float odd = flushed_fma(upper_bf16(a), upper_bf16(b), c);
  return flushed_fma(lower_bf16(a), lower_bf16(b), odd);
}

}  // namespace weft::testing
