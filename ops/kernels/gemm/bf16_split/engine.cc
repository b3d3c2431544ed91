#include "weft/ops/kernels/gemm/bf16_split/engine.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/error.h"
#include "weft/ops/kernels/gemm/bf16_split/fallback.h"
#include "weft/ops/kernels/gemm/bf16_split/pack.h"
#include "weft/ops/kernels/gemm/bf16_split/panel.h"

namespace weft::kernels {
namespace {

constexpr std::int64_t kBlockElements = kBf16Panel * kBf16Panel;

// The depth block sizes for one, two and three terms of B. A panel of B (32 columns of all terms)
// stays in the L1 cache while panels of A are streamed.
constexpr std::int64_t kDepthBlock[] = {512, 256, 192};

// The number of terms of each operand.
struct Terms {
  int a, b;
};

// Recomputes the elements of `product` whose row or column cannot be represented by terms.
void replace_unrepresentable(const PanelRange& a, const PanelRange& b, const MatrixSource& a_source,
                             const MatrixSource& b_source, std::int64_t rows, std::int64_t columns,
                             std::int64_t depth, float* product, float* replacement,
                             std::byte* scratch) {
  fma_block(a_source, b_source, rows, columns, depth, replacement, scratch);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      if (!representable_by_terms(a.largest[i], a.smallest[i], b.largest[j], b.smallest[j],
                                  depth)) {
        product[i * kBf16Panel + j] = replacement[i * kBf16Panel + j];
      }
    }
  }
}

void multiply_panels(const Bf16UnitKernels& kernels, Terms terms, const PackedBlock& a,
                     const PackedBlock& b, std::int64_t rows, std::int64_t columns,
                     std::int64_t depth, float* c, std::int64_t c_stride, bool accumulate,
                     std::byte* scratch) {
  const PanelGemm panel_gemm =
      (terms.b == 1 ? kernels.single_term_b : kernels.panel_gemm)[terms.a - 1];
  const std::size_t a_bytes = bf16_panel_bytes(terms.a, depth);
  const std::size_t b_bytes = bf16_panel_bytes(terms.b, depth);
  const std::int64_t slices = bf16_slices(depth);
  float* const product = reinterpret_cast<float*>(scratch);
  float* const replacement = product + kBlockElements;
  if (kernels.begin != nullptr) kernels.begin();
  const std::byte* b_panel = b.panels;
  for (std::int64_t j = 0; j < columns; j += kBf16Panel, b_panel += b_bytes) {
    const std::int64_t width = std::min(kBf16Panel, columns - j);
    const PanelRange& b_range = panel_range(b_panel);
    const std::byte* a_panel = a.panels;
    for (std::int64_t i = 0; i < rows; i += kBf16Panel, a_panel += a_bytes) {
      const std::int64_t height = std::min(kBf16Panel, rows - i);
      const PanelRange& a_range = panel_range(a_panel);
      const bool representable =
          representable_by_terms(a_range.panel_largest, a_range.panel_smallest,
                                 b_range.panel_largest, b_range.panel_smallest, depth);
      float* const to = c + i * c_stride + j;
      // The first panel of B reads all panels of A. Memory after the last panels may belong to
      // another worker and must not be prefetched.
      const std::byte* const next = j == 0 && i + kBf16Panel < rows ? a_panel + a_bytes
                                    : j + kBf16Panel < columns      ? b_panel + b_bytes
                                                                    : a.panels;
      const bool direct = representable && height == kBf16Panel && width == kBf16Panel;
      panel_gemm(panel_tiles(a_panel), panel_tiles(b_panel), slices, height > kTileSide ? 2 : 1,
                 width > kTileSide ? 2 : 1, direct ? to : product, direct ? c_stride : kBf16Panel,
                 direct && accumulate, panel_tiles(next));
      if (direct) continue;
      if (!representable) {
        replace_unrepresentable(a_range, b_range, a.source.from(i, 0), b.source.from(0, j), height,
                                width, depth, product, replacement,
                                reinterpret_cast<std::byte*>(replacement + kBlockElements));
      }
      store_block(product, height, width, to, c_stride, accumulate);
    }
  }
  if (kernels.end != nullptr) kernels.end();
}

// The functions of an engine. They are static, because an engine has no state.
template <Bf16Unit kUnit, int kTerms, int kBTerms>
struct Engine {
  static std::size_t a_panel_bytes(std::int64_t depth) { return bf16_panel_bytes(kTerms, depth); }
  static std::size_t b_panel_bytes(std::int64_t depth) { return bf16_panel_bytes(kBTerms, depth); }
  static void pack_a(const MatrixSource& a, std::int64_t rows, std::int64_t depth,
                     std::byte* panels) {
    pack_terms(OperandSide::a, kTerms, a, rows, depth, panels);
  }
  static void pack_b(const MatrixSource& b, std::int64_t depth, std::int64_t columns,
                     std::byte* panels) {
    pack_terms(OperandSide::b, kBTerms, b, columns, depth, panels);
  }
  static void multiply(const PackedBlock& a, const PackedBlock& b, std::int64_t rows,
                       std::int64_t columns, std::int64_t depth, void* c, std::int64_t c_stride,
                       bool accumulate, std::byte* scratch) {
    multiply_panels(bf16_unit_kernels(kUnit), {kTerms, kBTerms}, a, b, rows, columns, depth,
                    static_cast<float*>(c), c_stride, accumulate, scratch);
  }
};

constexpr const char* kNames[4][3] = {
    {"amx x1", "amx x3", "amx x6"},
    {"dot x1", "", ""},
    {"emulated amx x1", "emulated amx x3", "emulated amx x6"},
    {"emulated dot x1", "", ""},
};
// The names of engines with one term of B, by unit and number of terms of A minus two.
constexpr const char* kSingleTermNames[4][2] = {
    {"amx 2x1", "amx 3x1"}, {}, {"emulated amx 2x1", "emulated amx 3x1"}, {}};

template <Bf16Unit kUnit, int kTerms, int kBTerms = kTerms>
const GemmEngine& engine() {
  using E = Engine<kUnit, kTerms, kBTerms>;
  constexpr int unit = static_cast<int>(kUnit);
  constexpr bool single_term_b = kBTerms < kTerms;
  static const GemmEngine value = {
      .name = single_term_b ? kSingleTermNames[unit][single_term_b ? kTerms - 2 : 0]
                            : kNames[unit][kTerms - 1],
      .result = DType::f32,
      .row_panel = kBf16Panel,
      .column_panel = kBf16Panel,
      .depth_block = kDepthBlock[kBTerms - 1],
      .a_panel_bytes = E::a_panel_bytes,
      .b_panel_bytes = E::b_panel_bytes,
      .pack_a = E::pack_a,
      .pack_b = E::pack_b,
      .multiply = E::multiply,
      .multiply_scratch = 2 * kBlockElements * sizeof(float) + fma_block_scratch(),
  };
  return value;
}

[[noreturn]] void no_engine(Bf16Unit unit, int products, bool single_term_b) {
  throw ArgumentError(fmt::format(
      "bf16_split_engine: there is no engine with {} products{} on unit {}; amx supports "
      "1, 3 and 6 products (2 and 3 for one term of B), and dot supports 1",
      products, single_term_b ? " for one term of B" : "", bf16_unit_name(unit)));
}

template <Bf16Unit kUnit>
const GemmEngine& tile_engine(int products, bool single_term_b) {
  if (single_term_b) {
    if (products == 2) return engine<kUnit, 2, 1>();
    if (products == 3) return engine<kUnit, 3, 1>();
    no_engine(kUnit, products, true);
  }
  switch (products) {
    case 1: return engine<kUnit, 1>();
    case 3: return engine<kUnit, 2>();
    case 6: return engine<kUnit, 3>();
    default: no_engine(kUnit, products, false);
  }
}

template <Bf16Unit kUnit>
const GemmEngine& dot_engine(int products, bool single_term_b) {
  if (products != 1 || single_term_b) no_engine(kUnit, products, single_term_b);
  return engine<kUnit, 1>();
}

}  // namespace

const GemmEngine& bf16_split_engine(Bf16Unit unit, int products, bool single_term_b) {
  switch (unit) {
    case Bf16Unit::amx: return tile_engine<Bf16Unit::amx>(products, single_term_b);
    case Bf16Unit::emulated_amx:
      return tile_engine<Bf16Unit::emulated_amx>(products, single_term_b);
    case Bf16Unit::dot: return dot_engine<Bf16Unit::dot>(products, single_term_b);
    case Bf16Unit::emulated_dot: break;
  }
  return dot_engine<Bf16Unit::emulated_dot>(products, single_term_b);
}

}  // namespace weft::kernels
