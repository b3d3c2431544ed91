#include "weft/ops/kernels/quantized/quantized.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "weft/ops/kernels/cpu_features.h"
#include "weft/ops/kernels/quantized/quantized_dot.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/ops/kernels/quantized/quantized.cc"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "weft/ops/kernels/quantized/weights-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft {
namespace HWY_NAMESPACE {
namespace {

// The prefetch distance in bytes. It is large because processing the weights of one input takes
// only a few cycles.
constexpr int64_t kAhead = 2048;

// -- Products of a few rows ----------------------------------------------------------------------

// The sums of one product, with several independent chains for every row and part of the panel.
template <int kRows>
struct Sums {
  static constexpr int kChains = kRows >= 4 ? 1 : 4 / kRows;
  V at[kRows * kParts * kChains];

  HWY_INLINE void clear() {
#pragma GCC unroll 16
    for (V& v : at) v = hn::Zero(Floats());
  }
  HWY_INLINE void add(int row, int part, int input, V w, V x) {
    V& sum = at[(row * kParts + part) * kChains + input % kChains];
    sum = hn::MulAdd(w, x, sum);
  }
  HWY_INLINE V total(int row, int part) const {
    const V* s = at + (row * kParts + part) * kChains;
    if constexpr (kChains == 1) return s[0];
    if constexpr (kChains == 2) return hn::Add(s[0], s[1]);
    return hn::Add(hn::Add(s[0], s[1]), hn::Add(s[2], s[3]));
  }
};

HWY_INLINE void store_panel_part(V v, float* y, int64_t outputs, int64_t j) {
  const Floats d;
  if (j + kLanes <= outputs) {
    hn::StoreU(v, d, y + j);
  } else if (j < outputs) {
    store_part(v, d, y + j, static_cast<size_t>(outputs - j));
  }
}

template <int kRows, int t>
HWY_INLINE void int8_step(const hn::Vec<Words>* words, const float* x, int64_t x_stride,
                          Sums<kRows>& sums) {
#pragma GCC unroll 16
  for (int p = 0; p < kParts; ++p) {
    const V weights = int8_weights<t>(words[p]);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r)
      sums.add(r, p, t, weights, hn::Set(Floats(), x[r * x_stride + t]));
  }
}

template <int kRows>
HWY_INLINE void int8_inputs(const int8_t* q, const float* x, int64_t x_stride, Sums<kRows>& sums) {
  hn::Vec<Words> words[kParts];
  load_words(q, words);
  int8_step<kRows, 0>(words, x, x_stride, sums);
  int8_step<kRows, 1>(words, x, x_stride, sums);
  int8_step<kRows, 2>(words, x, x_stride, sums);
  int8_step<kRows, 3>(words, x, x_stride, sums);
}

// Adds the products of the last inputs, which are fewer than four. q and x are the beginnings of
// the panel and of the rows.
template <int kRows>
void last_int8_inputs(const int8_t* q, const float* x, int64_t inputs, Sums<kRows>& sums) {
  const int64_t whole = inputs / 4;
  float padded[kRows * 4] = {};
  for (int r = 0; r < kRows; ++r) {
    memcpy(padded + r * 4, x + r * inputs + whole * 4,
           static_cast<size_t>(inputs - whole * 4) * sizeof(float));
  }
  int8_inputs<kRows>(q + whole * 4 * kPanel, padded, 4, sums);
}

template <int kRows>
void int8_panel(const QuantizedWeights& w, const float* HWY_RESTRICT x, int64_t panel,
                float* HWY_RESTRICT y) {
  const Floats d;
  const int64_t blocks = (w.inputs + 3) / 4, whole = w.inputs / 4;
  const int8_t* q = static_cast<const int8_t*>(w.q) + panel * blocks * 4 * kPanel;
  Sums<kRows> sums;
  sums.clear();
  for (int64_t b = 0; b < whole; ++b) {
    hwy::Prefetch(q + b * 4 * kPanel + kAhead);
    int8_inputs<kRows>(q + b * 4 * kPanel, x + 4 * b, w.inputs, sums);
  }
  if (whole < blocks) last_int8_inputs<kRows>(q, x, w.inputs, sums);
  const float* scale = static_cast<const float*>(w.scale) + panel * kPanel;
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
    for (int p = 0; p < kParts; ++p) {
      store_panel_part(hn::Mul(sums.total(r, p), hn::LoadU(d, scale + p * kLanes)),
                       y + r * w.outputs, w.outputs, panel * kPanel + p * kLanes);
    }
  }
}

// Adds the sums of a group, multiplied by its scales, to `total`.
template <int kRows>
HWY_INLINE void add_scaled(const Sums<kRows>& sums, const uint16_t* scale, V* total) {
#pragma GCC unroll 16
  for (int p = 0; p < kParts; ++p) {
    const V scales = half_scales(scale + p * kLanes);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      V& t = total[r * kParts + p];
      t = hn::MulAdd(sums.total(r, p), scales, t);
    }
  }
}

template <int kRows>
void store_panel(const V* total, int64_t panel, int64_t outputs, float* HWY_RESTRICT y) {
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
    for (int p = 0; p < kParts; ++p) {
      store_panel_part(total[r * kParts + p], y + r * outputs, outputs,
                       panel * kPanel + p * kLanes);
    }
  }
}

template <int kRows>
void q8_0_panel(const QuantizedWeights& w, const float* HWY_RESTRICT x, int64_t panel,
                float* HWY_RESTRICT y) {
  const int64_t blocks = (w.inputs + 3) / 4, whole = w.inputs / 4;
  const int64_t groups = (w.inputs + kGroup - 1) / kGroup;
  const int8_t* q = static_cast<const int8_t*>(w.q) + panel * blocks * 4 * kPanel;
  const uint16_t* scale = static_cast<const uint16_t*>(w.scale) + panel * groups * kPanel;
  V total[kRows * kParts];
#pragma GCC unroll 16
  for (V& v : total) v = hn::Zero(Floats());
  for (int64_t g = 0; g < groups; ++g) {
    Sums<kRows> sums;
    sums.clear();
    const int64_t end = HWY_MIN(whole, 8 * g + 8);
    for (int64_t b = 8 * g; b < end; ++b) {
      hwy::Prefetch(q + b * 4 * kPanel + kAhead);
      int8_inputs<kRows>(q + b * 4 * kPanel, x + 4 * b, w.inputs, sums);
    }
    if (end < 8 * g + 8 && whole < blocks) last_int8_inputs<kRows>(q, x, w.inputs, sums);
    add_scaled(sums, scale + g * kPanel, total);
  }
  store_panel<kRows>(total, panel, w.outputs, y);
}

template <int kRows, int t>
HWY_INLINE void int4_step(const hn::Vec<Words>* words, const float* x, int64_t x_stride,
                          Sums<kRows>& sums) {
#pragma GCC unroll 16
  for (int p = 0; p < kParts; ++p) {
    const V weights = int4_weights<t>(words[p]);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r)
      sums.add(r, p, t, weights, hn::Set(Floats(), x[r * x_stride + t]));
  }
}

// Adds the sums of 32 inputs, multiplied by the scales of the group, to `total`.
template <int kRows>
HWY_INLINE void int4_group(const uint8_t* q, const uint16_t* scale, const float* x,
                           int64_t x_stride, V* total) {
  Sums<kRows> sums;
  sums.clear();
#pragma GCC unroll 4
  for (int step = 0; step < 4; ++step) {
    hn::Vec<Words> words[kParts];
    load_words(q + step * kStepBytes, words);
    const float* xs = x + step * kStep;
    int4_step<kRows, 0>(words, xs, x_stride, sums);
    int4_step<kRows, 1>(words, xs, x_stride, sums);
    int4_step<kRows, 2>(words, xs, x_stride, sums);
    int4_step<kRows, 3>(words, xs, x_stride, sums);
    int4_step<kRows, 4>(words, xs, x_stride, sums);
    int4_step<kRows, 5>(words, xs, x_stride, sums);
    int4_step<kRows, 6>(words, xs, x_stride, sums);
    int4_step<kRows, 7>(words, xs, x_stride, sums);
  }
  add_scaled(sums, scale, total);
}

template <int kRows>
void int4_panel(const QuantizedWeights& w, const float* HWY_RESTRICT x, int64_t panel,
                float* HWY_RESTRICT y) {
  const int64_t groups = (w.inputs + kGroup - 1) / kGroup, whole = w.inputs / kGroup;
  const uint8_t* q = static_cast<const uint8_t*>(w.q) + panel * groups * 4 * kStepBytes;
  const uint16_t* scale = static_cast<const uint16_t*>(w.scale) + panel * groups * kPanel;
  V total[kRows * kParts];
#pragma GCC unroll 16
  for (V& v : total) v = hn::Zero(Floats());
  for (int64_t g = 0; g < whole; ++g) {
    const uint8_t* at = q + g * 4 * kStepBytes;
    hwy::Prefetch(at + kAhead);
    hwy::Prefetch(at + kAhead + 64);
    hwy::Prefetch(at + kAhead + 128);
    hwy::Prefetch(at + kAhead + 192);
    int4_group<kRows>(at, scale + g * kPanel, x + g * kGroup, w.inputs, total);
  }
  if (whole < groups) {
    HWY_ALIGN float padded[kRows * kGroup] = {};
    for (int r = 0; r < kRows; ++r) {
      memcpy(padded + r * kGroup, x + r * w.inputs + whole * kGroup,
             static_cast<size_t>(w.inputs - whole * kGroup) * sizeof(float));
    }
    int4_group<kRows>(q + whole * 4 * kStepBytes, scale + whole * kPanel, padded, kGroup, total);
  }
  store_panel<kRows>(total, panel, w.outputs, y);
}

template <int kRows>
HWY_INLINE void product_panel(const QuantizedWeights& w, const float* x, int64_t panel, float* y) {
  if (w.int4) {
    int4_panel<kRows>(w, x, panel, y);
  } else if (w.q8_0) {
    q8_0_panel<kRows>(w, x, panel, y);
  } else {
    int8_panel<kRows>(w, x, panel, y);
  }
}

void product_fma(const QuantizedWeights& w, const float* x, int64_t rows, int64_t begin,
                 int64_t end, float* y) {
  for (int64_t panel = begin; panel < end; ++panel) {
    int64_t r = 0;
    for (; r + 4 <= rows; r += 4) product_panel<4>(w, x + r * w.inputs, panel, y + r * w.outputs);
    if (r + 2 <= rows) {
      product_panel<2>(w, x + r * w.inputs, panel, y + r * w.outputs);
      r += 2;
    }
    if (r < rows) product_panel<1>(w, x + r * w.inputs, panel, y + r * w.outputs);
  }
}

// Byte dot products are implemented without Highway. They are only used with Highway's AVX3 target,
// so that tests that force a different target actually test that target.
bool has_dot() { return HWY_TARGET == HWY_AVX3 && kernels::cpu_features().avx512_vnni; }

// -- Products of large numbers -------------------------------------------------------------------

// Returns true if the magnitude of an element is at least 2^100 or the element is not finite. In
// this case, sums of products with unscaled weights may overflow even if the result does not.
bool are_large(const float* x, int64_t count) {
  int32_t large = 0;  // no branch, so that the compiler vectorises the loop
  for (int64_t i = 0; i < count; ++i) large |= static_cast<int32_t>(!(fabsf(x[i]) < 0x1p100f));
  return large != 0;
}

// Converts the weights to floats and computes the rows sequentially. This function is rarely
// needed.
void product_of_large(const QuantizedWeights& w, const float* x, int64_t rows, int64_t begin,
                      int64_t end, float* y) {
  const Floats d;
  HWY_ALIGN float tile[kGroup * kPanel];
  for (int64_t panel = begin; panel < end; ++panel) {
    for (int64_t r = 0; r < rows; ++r) {
      V sums[kParts];
      for (V& sum : sums) sum = hn::Zero(d);
      for (int64_t i = 0; i < w.inputs; i += kGroup) {
        const int64_t last = HWY_MIN(w.inputs, i + kGroup);
        kernels::dequantize_block(w, i, last, panel, panel + 1, tile, kPanel);
        for (int64_t k = i; k < last; ++k) {
          const V factor = hn::Set(d, x[r * w.inputs + k]);
          for (int p = 0; p < kParts; ++p)
            sums[p] =
                hn::MulAdd(hn::Load(d, tile + (k - i) * kPanel + p * kLanes), factor, sums[p]);
        }
      }
      for (int p = 0; p < kParts; ++p)
        store_panel_part(sums[p], y + r * w.outputs, w.outputs, panel * kPanel + p * kLanes);
    }
  }
}

// Returns the address of the flags after the prepared rows, one per row, which are 1 if the row
// contains large numbers.
int32_t* large_at(const QuantizedWeights& w, int64_t rows, const std::byte* prepared) {
  return reinterpret_cast<int32_t*>(const_cast<std::byte*>(prepared) +
                                    kernels::dot_rows_bytes(w.inputs, rows));
}

void prepare(const QuantizedWeights& w, const float* x, int64_t rows, std::byte* prepared) {
  if (has_dot()) kernels::prepare_dot_rows(w, x, rows, prepared);
  int32_t* const large = large_at(w, rows, prepared);
  for (int64_t r = 0; r < rows; ++r) large[r] = are_large(x + r * w.inputs, w.inputs) ? 1 : 0;
}

enum class RowKind { dot, fma, large };

// The kernel of a row depends on its own numbers only.
RowKind kind_of(const QuantizedWeights& w, const std::byte* prepared, int64_t rows, int64_t row) {
  if (large_at(w, rows, prepared)[row] != 0) return RowKind::large;
  return has_dot() && kernels::can_dot(w, row, prepared) ? RowKind::dot : RowKind::fma;
}

// Byte dot products sum every row in the same order. The other kernels do so only if they compute
// one row at a time.
void product(const QuantizedWeights& w, const float* x, const std::byte* prepared, int64_t rows,
             int64_t begin, int64_t end, float* y, bool batch_invariant) {
  for (int64_t first = 0, last = 0; first < rows; first = last) {
    const RowKind kind = kind_of(w, prepared, rows, first);
    const bool several = kind == RowKind::dot || !batch_invariant;
    last = first + 1;
    while (several && last < rows && kind_of(w, prepared, rows, last) == kind) ++last;
    const int64_t count = last - first;
    const float* const own = x + first * w.inputs;
    float* const to = y + first * w.outputs;
    if (kind == RowKind::large) {
      product_of_large(w, own, count, begin, end, to);
    } else if (kind == RowKind::dot) {
      kernels::dot_product(w, prepared + kernels::dot_rows_bytes(w.inputs, first), count, begin,
                           end, to);
    } else {
      product_fma(w, own, count, begin, end, to);
    }
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weft
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft::kernels {
namespace {
HWY_EXPORT(prepare);
HWY_EXPORT(product);
HWY_EXPORT(has_dot);
HWY_EXPORT(product_fma);
}  // namespace

bool uses_byte_dots() { return HWY_DYNAMIC_DISPATCH(has_dot)(); }
std::size_t prepared_rows_bytes(std::int64_t inputs, std::int64_t rows) {
  return dot_rows_bytes(inputs, rows) +
         (static_cast<std::size_t>(rows) * sizeof(int32_t) + 63) / 64 * 64;
}
void prepare_rows(const QuantizedWeights& w, const float* x, std::int64_t rows,
                  std::byte* prepared) {
  HWY_DYNAMIC_DISPATCH(prepare)(w, x, rows, prepared);
}
void quantized_product(const QuantizedWeights& w, const float* x, const std::byte* prepared,
                       std::int64_t rows, std::int64_t begin, std::int64_t end, float* y,
                       bool batch_invariant) {
  HWY_DYNAMIC_DISPATCH(product)(w, x, prepared, rows, begin, end, y, batch_invariant);
}
void quantized_product_fma(const QuantizedWeights& w, const float* x, std::int64_t rows,
                           std::int64_t begin, std::int64_t end, float* y) {
  HWY_DYNAMIC_DISPATCH(product_fma)(w, x, rows, begin, end, y);
}

}  // namespace weft::kernels
#endif
