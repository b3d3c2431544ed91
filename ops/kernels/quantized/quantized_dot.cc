// This file does not use Highway, because the Highway targets that Weft uses do not include these
// instructions. The CPU is selected by a target region instead of compiler flags for the file, so
// that no inline function from a library is compiled for this CPU and then linked into code for all
// CPUs.
#include "weft/ops/kernels/quantized/quantized_dot.h"

#include <stdint.h>

#if defined(__x86_64__)
#if defined(__GNUC__) && !defined(__clang__)
// g++ 12 warns about the "undefined" operand in its own intrinsics (GCC bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>
#endif

namespace weft::kernels {
namespace {

constexpr int64_t kPanel = 16, kGroup = 32;

// A group of 32 values of a row. Term t of four consecutive values forms one 32-bit word, which is
// broadcast to all lanes.
struct alignas(64) PreparedGroup {
  int32_t terms[3][8];  // low, middle, high
  // Minus the product of the weights' zero point and the sum of the term's bytes.
  int32_t start[3];
  float step;
};

constexpr int64_t groups_of(int64_t inputs) { return (inputs + kGroup - 1) / kGroup; }

// A row consists of its groups followed by a cache line whose first word is 1 if the row can be
// represented by bytes.
constexpr int64_t row_bytes(int64_t inputs) {
  return groups_of(inputs) * static_cast<int64_t>(sizeof(PreparedGroup)) + 64;
}
const PreparedGroup* groups_at(const std::byte* prepared, int64_t inputs, int64_t row) {
  return reinterpret_cast<const PreparedGroup*>(prepared + row * row_bytes(inputs));
}
int32_t* usable_at(std::byte* prepared, int64_t inputs, int64_t row) {
  return reinterpret_cast<int32_t*>(prepared + (row + 1) * row_bytes(inputs) - 64);
}

}  // namespace

std::size_t dot_rows_bytes(std::int64_t inputs, std::int64_t rows) {
  return static_cast<std::size_t>(rows * row_bytes(inputs));
}

bool can_dot(const QuantizedWeights& w, std::int64_t row, const std::byte* prepared) {
  return *usable_at(const_cast<std::byte*>(prepared), w.inputs, row) != 0;
}

#if defined(__x86_64__)

#if defined(__clang__)
#pragma clang attribute push( \
    __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni,f16c,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512vnni,f16c,fma")
#endif

namespace {

// -- Rows into bytes -----------------------------------------------------------------------------

// The largest integer whose three bytes are all at most 127.
constexpr float kLargest = 127 * 65536 + 127 * 256 + 127;

// Returns the low bytes of two vectors of 16 integers, in order, as signed numbers, and removes
// these bytes from the integers.
__m256i take_low_bytes(__m512i& a, __m512i& b) {
  const __m512i low_a = _mm512_srai_epi32(_mm512_slli_epi32(a, 24), 24);
  const __m512i low_b = _mm512_srai_epi32(_mm512_slli_epi32(b, 24), 24);
  a = _mm512_srai_epi32(_mm512_sub_epi32(a, low_a), 8);
  b = _mm512_srai_epi32(_mm512_sub_epi32(b, low_b), 8);
  return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm512_cvtepi32_epi8(low_a)),
                                 _mm512_cvtepi32_epi8(low_b), 1);
}

int32_t sum_of_bytes(__m256i bytes) {
  const __m256i sums = _mm256_dpbusd_epi32(_mm256_setzero_si256(), _mm256_set1_epi8(1), bytes);
  const __m128i four =
      _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
  const __m128i two = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4E));
  return _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32(two, 0xB1)));
}

// Splits up to 32 values into bytes. Returns false if the values cannot be represented by bytes.
bool prepare_group(const float* x, int64_t count, bool int4, PreparedGroup& to) {
  const auto mask = [](int64_t n) {
    return static_cast<__mmask16>(n >= 16 ? 0xFFFF : n <= 0 ? 0 : (1 << n) - 1);
  };
  const __m512 a = _mm512_maskz_loadu_ps(mask(count), x);
  const __m512 b = _mm512_maskz_loadu_ps(mask(count - 16), x + (count > 16 ? 16 : 0));
  // Magnitudes are compared as integers, so that NaN counts as the largest value.
  const __m512i magnitude = _mm512_set1_epi32(0x7FFFFFFF);
  const uint32_t bits = _mm512_reduce_max_epu32(
      _mm512_max_epu32(_mm512_and_si512(_mm512_castps_si512(a), magnitude),
                       _mm512_and_si512(_mm512_castps_si512(b), magnitude)));
  constexpr uint32_t kInfinity = 0x7F800000, kTiny = (127u - 90) << 23;
  if (bits >= kInfinity || (bits != 0 && bits < kTiny)) return false;
  const float largest = _mm_cvtss_f32(_mm_castsi128_ps(_mm_cvtsi32_si128(static_cast<int>(bits))));
  to.step = largest / kLargest;
  const __m512 inverse = _mm512_set1_ps(bits == 0 ? 0.0f : kLargest / largest);
  const __m512i top = _mm512_set1_epi32(static_cast<int>(kLargest));
  __m512i ia = _mm512_min_epi32(_mm512_cvtps_epi32(_mm512_mul_ps(a, inverse)), top);
  __m512i ib = _mm512_min_epi32(_mm512_cvtps_epi32(_mm512_mul_ps(b, inverse)), top);
  if (int4) {
    // The low halves of four bytes are inputs 0, 2, 4 and 6; the high halves are inputs 1, 3, 5 and
    // 7.
    const __m512i order = _mm512_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15);
    ia = _mm512_permutexvar_epi32(order, ia);
    ib = _mm512_permutexvar_epi32(order, ib);
  }
  const int32_t zero_point = int4 ? 8 : 128;
  for (int t = 0; t < 3; ++t) {
    const __m256i bytes = take_low_bytes(ia, ib);
    _mm256_store_si256(reinterpret_cast<__m256i*>(to.terms[t]), bytes);
    to.start[t] = -zero_point * sum_of_bytes(bytes);
  }
  return true;
}

// -- Products ------------------------------------------------------------------------------------

constexpr int64_t kAhead = 8192;  // prefetch distance in bytes

// The sums of a group, one per term.
struct GroupSums {
  __m512i low, middle, high;
};

inline __attribute__((always_inline)) GroupSums start_sums(const PreparedGroup& g) {
  return {_mm512_set1_epi32(g.start[0]), _mm512_set1_epi32(g.start[1]),
          _mm512_set1_epi32(g.start[2])};
}

// Adds the products of four inputs. `weights` contains unsigned bytes, and word i of the terms
// contains the corresponding values of the row.
inline __attribute__((always_inline)) void add_inputs(__m512i weights, const PreparedGroup& g,
                                                      int64_t i, GroupSums& s) {
  s.low = _mm512_dpbusd_epi32(s.low, weights, _mm512_set1_epi32(g.terms[0][i]));
  s.middle = _mm512_dpbusd_epi32(s.middle, weights, _mm512_set1_epi32(g.terms[1][i]));
  s.high = _mm512_dpbusd_epi32(s.high, weights, _mm512_set1_epi32(g.terms[2][i]));
}

// |high| < 2^20 and |256 middle + low| < 2^29, so both fit into 32 bits, and only the second value
// is rounded.
inline __attribute__((always_inline)) __m512 combine(const GroupSums& s) {
  const __m512i lower = _mm512_add_epi32(_mm512_slli_epi32(s.middle, 8), s.low);
  return _mm512_fmadd_ps(_mm512_cvtepi32_ps(s.high), _mm512_set1_ps(65536),
                         _mm512_cvtepi32_ps(lower));
}

// Returns the scales of int4 or q8_0 for a group of a panel; `at` counts the groups of all panels.
inline __attribute__((always_inline)) __m512 half_scales(const QuantizedWeights& w, int64_t at) {
  const uint16_t* scales = static_cast<const uint16_t*>(w.scale) + at * kPanel;
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(scales)));
}

inline __attribute__((always_inline)) void store_panel(__m512 v, float* y, int64_t left) {
  if (left >= kPanel) {
    _mm512_storeu_ps(y, v);
  } else {
    _mm512_mask_storeu_ps(y, static_cast<__mmask16>((1 << left) - 1), v);
  }
}

// Computes one panel. Processing two panels at a time would halve the reads of the rows, but
// reading two short runs of memory concurrently reduces the bandwidth by a third.
template <int kRows, bool kQ8_0>
void int8_panel(const QuantizedWeights& w, const PreparedGroup* const* rows, int64_t panel,
                float* y) {
  const int64_t blocks = (w.inputs + 3) / 4, groups = groups_of(w.inputs);
  const char* q = static_cast<const char*>(w.q) + panel * blocks * 64;
  const __m512i flip = _mm512_set1_epi8(-128);
  __m512 total[kRows];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) total[r] = _mm512_setzero_ps();
  for (int64_t g = 0; g < groups; ++g) {
    GroupSums sums[kRows];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) sums[r] = start_sums(rows[r][g]);
    const char* at = q + g * 8 * 64;
    const auto add = [&](int64_t i) __attribute__((always_inline)) {
      _mm_prefetch(at + i * 64 + kAhead, _MM_HINT_T0);
      const __m512i weights = _mm512_xor_si512(_mm512_loadu_si512(at + i * 64), flip);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) add_inputs(weights, rows[r][g], i, sums[r]);
    };
    if (blocks - g * 8 >= 8) {
#pragma GCC unroll 8
      for (int64_t i = 0; i < 8; ++i) add(i);
    } else {
      for (int64_t i = 0; i < blocks - g * 8; ++i) add(i);
    }
    __m512 group_scale = {};
    if constexpr (kQ8_0) group_scale = half_scales(w, panel * groups + g);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      __m512 step = _mm512_set1_ps(rows[r][g].step);
      if constexpr (kQ8_0) step = _mm512_mul_ps(group_scale, step);
      total[r] = _mm512_fmadd_ps(combine(sums[r]), step, total[r]);
    }
  }
  __m512 scale = {};
  if constexpr (!kQ8_0)
    scale = _mm512_loadu_ps(static_cast<const float*>(w.scale) + panel * kPanel);
  for (int r = 0; r < kRows; ++r) {
    store_panel(kQ8_0 ? total[r] : _mm512_mul_ps(total[r], scale),
                y + r * w.outputs + panel * kPanel, w.outputs - panel * kPanel);
  }
}

template <int kRows>
void int4_panel(const QuantizedWeights& w, const PreparedGroup* const* rows, int64_t panel,
                float* y) {
  const int64_t groups = groups_of(w.inputs);
  const char* q = static_cast<const char*>(w.q) + panel * groups * 256;
  const __m512i halves = _mm512_set1_epi8(0x0F), flip = _mm512_set1_epi8(0x08);
  constexpr int kAndXor = 0x6A;  // (a & b) ^ c
  __m512 total[kRows];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) total[r] = _mm512_setzero_ps();
  for (int64_t g = 0; g < groups; ++g) {
    GroupSums sums[kRows];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) sums[r] = start_sums(rows[r][g]);
    const char* at = q + g * 256;
#pragma GCC unroll 4
    for (int64_t i = 0; i < 4; ++i) {
      _mm_prefetch(at + i * 64 + kAhead, _MM_HINT_T0);
      const __m512i words = _mm512_loadu_si512(at + i * 64);
      const __m512i low = _mm512_ternarylogic_epi32(words, halves, flip, kAndXor);
      const __m512i high =
          _mm512_ternarylogic_epi32(_mm512_srli_epi32(words, 4), halves, flip, kAndXor);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        add_inputs(low, rows[r][g], 2 * i, sums[r]);
        add_inputs(high, rows[r][g], 2 * i + 1, sums[r]);
      }
    }
    const __m512 scale = half_scales(w, panel * groups + g);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const __m512 step = _mm512_mul_ps(scale, _mm512_set1_ps(rows[r][g].step));
      total[r] = _mm512_fmadd_ps(combine(sums[r]), step, total[r]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    store_panel(total[r], y + r * w.outputs + panel * kPanel, w.outputs - panel * kPanel);
  }
}

template <int kRows>
void multiply(const QuantizedWeights& w, const std::byte* prepared, int64_t first, int64_t panel,
              float* y) {
  const PreparedGroup* rows[kRows];
  for (int r = 0; r < kRows; ++r) rows[r] = groups_at(prepared, w.inputs, first + r);
  if (w.int4) {
    int4_panel<kRows>(w, rows, panel, y + first * w.outputs);
  } else {
    w.q8_0 ? int8_panel<kRows, true>(w, rows, panel, y + first * w.outputs)
           : int8_panel<kRows, false>(w, rows, panel, y + first * w.outputs);
  }
}

}  // namespace

void prepare_dot_rows(const QuantizedWeights& w, const float* x, std::int64_t rows,
                      std::byte* prepared) {
  for (int64_t r = 0; r < rows; ++r) {
    auto* groups = const_cast<PreparedGroup*>(groups_at(prepared, w.inputs, r));
    int32_t usable = 1;
    for (int64_t g = 0; g * kGroup < w.inputs; ++g) {
      if (!prepare_group(x + r * w.inputs + g * kGroup, w.inputs - g * kGroup, w.int4, groups[g]))
        usable = 0;
    }
    *usable_at(prepared, w.inputs, r) = usable;
  }
}

void dot_product(const QuantizedWeights& w, const std::byte* prepared, std::int64_t rows,
                 std::int64_t begin, std::int64_t end, float* y) {
  for (int64_t panel = begin; panel < end; ++panel) {
    int64_t r = 0;
    for (; r + 4 <= rows; r += 4) multiply<4>(w, prepared, r, panel, y);
    if (rows - r == 3) multiply<3>(w, prepared, r, panel, y);
    if (rows - r == 2) multiply<2>(w, prepared, r, panel, y);
    if (rows - r == 1) multiply<1>(w, prepared, r, panel, y);
  }
}

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#else  // not x86-64

void prepare_dot_rows(const QuantizedWeights&, const float*, std::int64_t, std::byte*) {}
void dot_product(const QuantizedWeights&, const std::byte*, std::int64_t, std::int64_t,
                 std::int64_t, float*) {}

#endif

}  // namespace weft::kernels
