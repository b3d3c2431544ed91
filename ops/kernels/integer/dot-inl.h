// The kernel for units that multiply four unsigned bytes by four signed bytes and add the products
// to a 32-bit integer (VPDPBUSD). Included in a region that is compiled for the CPU of the unit.
//
// Weights are made unsigned by adding 128 (int8, q8_0) or 8 (int4). Every sum starts with minus
// this number times the sum of the levels, so that the result is exact. Intermediate sums may wrap
// around.
//
// A prepared row consists of the levels in the order of the weights, as 32-bit words, padded with
// zeros to whole groups, followed by the start of each sum: one, or one per group for q8_0 and
// int4.
#pragma once

namespace weft::kernels {
namespace {

constexpr int64_t kPanel = 16, kGroup = 32, kGroupWords = 8;
constexpr int64_t kAhead = 4096;  // prefetch distance in bytes

inline int64_t groups_of(const QuantizedWeights& w) { return (w.inputs + kGroup - 1) / kGroup; }
inline bool is_grouped(const QuantizedWeights& w) { return w.int4 || w.q8_0; }

// The distance of rows, in words, is not a multiple of 1 KiB, so that the rows of a block do not
// share cache sets.
inline int64_t row_words(const QuantizedWeights& w) {
  const int64_t words = groups_of(w) * kGroupWords + (is_grouped(w) ? groups_of(w) : 1);
  const int64_t lines = (words + 15) / 16;
  return (lines % 16 == 0 ? lines + 1 : lines) * 16;
}
inline size_t dot_row_bytes(const QuantizedWeights& w) {
  return static_cast<size_t>(row_words(w)) * 4;
}

template <class Unit>
void dot_prepare(const QuantizedWeights& w, const int8_t* levels, int64_t rows, std::byte* to) {
  const int64_t groups = groups_of(w), whole = w.inputs / kGroup;
  for (int64_t r = 0; r < rows; ++r, levels += w.inputs) {
    int32_t* const words = reinterpret_cast<int32_t*>(to) + r * row_words(w);
    int32_t* const starts = words + groups * kGroupWords;
    int32_t total = 0;
    for (int64_t g = 0; g < groups; ++g) {
      alignas(32) int8_t padded[kGroup] = {};
      const int8_t* from = levels + g * kGroup;
      if (g == whole) {
        memcpy(padded, from, static_cast<size_t>(w.inputs - whole * kGroup));
        from = padded;
      }
      const int32_t sum = Unit::prepare_group(from, w.int4, words + g * kGroupWords);
      total += sum;
      if (is_grouped(w)) starts[g] = (w.int4 ? -8 : -128) * sum;
    }
    if (!is_grouped(w)) starts[0] = static_cast<int32_t>(-128 * int64_t{total});
  }
}

/// A block of kRows rows and kPanels panels.
template <class Unit, int kRows, int kPanels>
struct DotBlock {
  using I = typename Unit::Integers;
  using F = typename Unit::Floats;
  static constexpr int kParts = static_cast<int>(kPanel) / Unit::kLanes;
  static constexpr int kVectors = kPanels * kParts;

  const int32_t* words[kRows];
  const int32_t* starts[kRows];
  const float* steps;
  I sums[kRows][kVectors];

  inline __attribute__((always_inline)) void start(int64_t group) {
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const I first = Unit::set(starts[r][group]);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) sums[r][v] = first;
    }
  }
  inline __attribute__((always_inline)) void add(const I* weights, int64_t word) {
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const I x = Unit::set(words[r][word]);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) sums[r][v] = Unit::dot(sums[r][v], weights[v], x);
    }
  }
  /// Adds word `word` of int8 weights.
  inline __attribute__((always_inline)) void add_int8(const char* const* q, int64_t word) {
    I weights[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      const char* at = q[v / kParts] + word * 64 + v % kParts * Unit::kLanes * 4;
      if (v % kParts == 0) Unit::prefetch(at + kAhead);
      weights[v] = Unit::from_signed(Unit::load(at));
    }
    add(weights, word);
  }
  /// Adds eight inputs of int4 weights.
  inline __attribute__((always_inline)) void add_int4(const char* const* q, int64_t step) {
    I low[kVectors], high[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      const char* at = q[v / kParts] + step * 64 + v % kParts * Unit::kLanes * 4;
      if (v % kParts == 0) Unit::prefetch(at + kAhead);
      const I bytes = Unit::load(at);
      low[v] = Unit::low_halves(bytes);
      high[v] = Unit::high_halves(bytes);
    }
    add(low, 2 * step);
    add(high, 2 * step + 1);
  }

  void int8(const QuantizedWeights& w, int64_t panel, float* y, int64_t stride) {
    const int64_t count = (w.inputs + 3) / 4;
    const char* q[kPanels];
    for (int p = 0; p < kPanels; ++p)
      q[p] = static_cast<const char*>(w.q) + (panel + p) * count * 64;
      // The starts are added last, because g++ 12 copies all sums in every iteration if several of
      // them start with the same register.
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) sums[r][v] = Unit::set(0);
    }
    int64_t i = 0;
    for (; i + 4 <= count; i += 4) {
#pragma GCC unroll 4
      for (int64_t t = 0; t < 4; ++t) add_int8(q, i + t);
    }
    for (; i < count; ++i) add_int8(q, i);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v)
        sums[r][v] = Unit::add_integers(sums[r][v], Unit::set(starts[r][0]));
    }
    if (w.start != nullptr) add_start(w.start + panel * kPanel);
    finish(w, panel, y, stride);
  }

  void add_start(const int32_t* start) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      const I column = Unit::load(reinterpret_cast<const char*>(start + v * Unit::kLanes));
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) sums[r][v] = Unit::add_integers(sums[r][v], column);
    }
  }
  /// Stores the sums of int8 weights, scaled if there is a scale.
  void finish(const QuantizedWeights& w, int64_t panel, float* y, int64_t stride) {
    const float* scale = static_cast<const float*>(w.scale);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) {
        const int64_t column = panel * kPanel + v * Unit::kLanes;
        F result = Unit::as_float(sums[r][v]);
        if (scale != nullptr) {
          result = Unit::mul(Unit::to_float(sums[r][v]), Unit::set_float(steps[r]));
          result = Unit::mul(result, Unit::load_floats(scale + column));
        }
        store(result, w.outputs, column, y + r * stride);
      }
    }
  }

  template <bool kInt4>
  void grouped(const QuantizedWeights& w, int64_t panel, float* y, int64_t stride) {
    const int64_t groups = groups_of(w), count = (w.inputs + 3) / 4;
    const int64_t panel_bytes = kInt4 ? groups * 256 : count * 64;
    const char* q[kPanels];
    const uint16_t* scale[kPanels];
    for (int p = 0; p < kPanels; ++p) {
      q[p] = static_cast<const char*>(w.q) + (panel + p) * panel_bytes;
      scale[p] = static_cast<const uint16_t*>(w.scale) + (panel + p) * groups * kPanel;
    }
    F totals[kRows][kVectors];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) totals[r][v] = Unit::set_float(0);
    }
    for (int64_t g = 0; g < groups; ++g) {
      start(g);
      if constexpr (kInt4) {
#pragma GCC unroll 4
        for (int64_t i = 0; i < 4; ++i) add_int4(q, 4 * g + i);
      } else if (count >= 8 * g + 8) {
#pragma GCC unroll 8
        for (int64_t i = 0; i < 8; ++i) add_int8(q, 8 * g + i);
      } else {
        for (int64_t i = 8 * g; i < count; ++i) add_int8(q, i);
      }
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) {
        const F scales =
            Unit::load_halves(scale[v / kParts] + g * kPanel + v % kParts * Unit::kLanes);
#pragma GCC unroll 8
        for (int r = 0; r < kRows; ++r) {
          totals[r][v] = Unit::plus(totals[r][v], Unit::mul(Unit::to_float(sums[r][v]), scales));
        }
      }
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const F step = Unit::set_float(steps[r]);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) {
        store(Unit::mul(totals[r][v], step), w.outputs, panel * kPanel + v * Unit::kLanes,
              y + r * stride);
      }
    }
  }

  static void store(F v, int64_t outputs, int64_t j, float* y) {
    if (j + Unit::kLanes <= outputs) {
      Unit::store_floats(v, y + j);
    } else if (j < outputs) {
      float buffer[Unit::kLanes];
      Unit::store_floats(v, buffer);
      memcpy(y + j, buffer, static_cast<size_t>(outputs - j) * sizeof(float));
    }
  }
};

enum class DotFormat { int8, q8_0, int4 };

template <class Unit, DotFormat kFormat, int kRows, int kPanels>
void dot_block(const QuantizedWeights& w, const std::byte* prepared, const float* steps,
               int64_t panel, float* y, int64_t stride) {
  DotBlock<Unit, kRows, kPanels> block;
  block.steps = steps;
  for (int r = 0; r < kRows; ++r) {
    block.words[r] = reinterpret_cast<const int32_t*>(prepared) + r * row_words(w);
    block.starts[r] = block.words[r] + groups_of(w) * kGroupWords;
  }
  if constexpr (kFormat == DotFormat::int8) {
    block.int8(w, panel, y, stride);
  } else {
    block.template grouped<kFormat == DotFormat::int4>(w, panel, y, stride);
  }
}

/// Multiplies all rows by kPanels panels, in blocks of at most kRows rows.
template <class Unit, DotFormat kFormat, int kRows, int kPanels>
void dot_rows(const QuantizedWeights& w, const std::byte* prepared, const float* steps,
              int64_t rows, int64_t panel, float* y, int64_t stride) {
  while (rows >= kRows) {
    dot_block<Unit, kFormat, kRows, kPanels>(w, prepared, steps, panel, y, stride);
    rows -= kRows, steps += kRows, y += kRows * stride;
    prepared += kRows * static_cast<int64_t>(dot_row_bytes(w));
  }
  // The last rows form one block, because blocks of fewer rows would read the weights several
  // times.
  if constexpr (kRows > 1) {
    if (rows > 0)
      dot_rows<Unit, kFormat, kRows - 1, kPanels>(w, prepared, steps, rows, panel, y, stride);
  }
}

template <class Unit, DotFormat kFormat, int kRows, int kPanels>
void dot_panels(const QuantizedWeights& w, const std::byte* prepared, const float* steps,
                int64_t rows, int64_t begin, int64_t end, float* y, int64_t stride) {
  int64_t panel = begin;
  for (; panel + kPanels <= end; panel += kPanels)
    dot_rows<Unit, kFormat, kRows, kPanels>(w, prepared, steps, rows, panel, y, stride);
  for (; panel < end; ++panel)
    dot_rows<Unit, kFormat, kRows, 1>(w, prepared, steps, rows, panel, y, stride);
}

template <class Unit>
void dot_product(const QuantizedWeights& w, const std::byte* prepared, const float* steps,
                 int64_t rows, int64_t begin, int64_t end, float* y, int64_t stride) {
  if (w.int4) {
    dot_panels<Unit, DotFormat::int4, Unit::kGroupedRows, Unit::kGroupedPanels>(
        w, prepared, steps, rows, begin, end, y, stride);
  } else if (w.q8_0) {
    dot_panels<Unit, DotFormat::q8_0, Unit::kGroupedRows, Unit::kGroupedPanels>(
        w, prepared, steps, rows, begin, end, y, stride);
  } else {
    dot_panels<Unit, DotFormat::int8, Unit::kRows, Unit::kPanels>(w, prepared, steps, rows, begin,
                                                                  end, y, stride);
  }
}

/// Twelve chains hide the latency of all current units and fit into 16 registers.
template <class Unit>
double dot_chains(int64_t rounds) {
  using I = typename Unit::Integers;
  constexpr int kChains = 12;
  const I weights = Unit::set(0x01020304), levels = Unit::set(0x05060708);
  I sums[kChains];
#pragma GCC unroll 12
  for (int i = 0; i < kChains; ++i) sums[i] = Unit::set(i);
  for (int64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) sums[i] = Unit::dot(sums[i], weights, levels);
  }
  I sum = sums[0];
#pragma GCC unroll 12
  for (int i = 1; i < kChains; ++i) sum = Unit::add_integers(sum, sums[i]);
  // Use the result, so that the compiler does not remove the loop.
  float buffer[Unit::kLanes];
  Unit::store_floats(Unit::to_float(sum), buffer);
  volatile float sink = buffer[0];
  static_cast<void>(sink);
  return static_cast<double>(rounds) * kChains * Unit::kLanes * 4;
}

}  // namespace
}  // namespace weft::kernels
