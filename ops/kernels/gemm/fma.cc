// The FMA engine, which multiplies with vectorised fused multiply-adds on every CPU.
#include "weft/ops/kernels/gemm_engine.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/ops/kernels/gemm/fma.cc"
#include "hwy/foreach_target.h"
// foreach_target.h must be included before the headers below.
#include "weft/ops/kernels/gemm/micro-inl.h"
#include "weft/ops/kernels/gemm/pack-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft {
namespace HWY_NAMESPACE {
namespace {

using kernels::GemmEngine;
using kernels::MatrixSource;
using kernels::PackedBlock;

// With AVX-512 and this depth, a panel of B occupies 48 KiB and a panel of A 18 KiB. Depths from
// 256 to 512 are equally fast; with larger depths, C is updated less often.
template <class T>
constexpr int64_t kDepthBlock = sizeof(T) == 4 ? 384 : 192;

// Depths are rounded up so that panel sizes are multiples of 64 bytes on every target.
template <class T, int kPanel>
size_t panel_bytes(int64_t depth) {
  return (static_cast<size_t>(depth) * kPanel * sizeof(T) + 63) / 64 * 64;
}

// Packs the matrix panel by panel. Partial panels occupy the memory of a whole panel.
template <class T, int kPanel>
void pack(const MatrixSource& source, int64_t across_stride, int64_t depth_stride, int64_t across,
          int64_t depth, std::byte* panels) {
  for (int64_t i = 0; i < across; i += kPanel) {
    const MatrixSource part =
        MatrixSource{source.data, source.dtype, across_stride, depth_stride}.from(i, 0);
    pack_source<kPanel>(part.data, part.dtype, across_stride, depth_stride,
                        HWY_MIN(static_cast<int64_t>(kPanel), across - i), depth,
                        reinterpret_cast<T*>(panels));
    panels += panel_bytes<T, kPanel>(depth);
  }
}

template <class T>
void pack_a(const MatrixSource& a, int64_t rows, int64_t depth, std::byte* panels) {
  pack<T, kPanelRows>(a, a.row_stride, a.column_stride, rows, depth, panels);
}
template <class T>
void pack_b(const MatrixSource& b, int64_t depth, int64_t columns, std::byte* panels) {
  pack<T, kPanelColumns<T>>(b, b.column_stride, b.row_stride, columns, depth, panels);
}

template <class T>
void multiply(const PackedBlock& a, const PackedBlock& b, int64_t rows, int64_t columns,
              int64_t depth, void* c, int64_t c_stride, bool accumulate, std::byte* /*scratch*/) {
  const bool packed = a.panels != nullptr;
  multiply_panels(packed ? a.panels : static_cast<const std::byte*>(a.source.data),
                  panel_bytes<T, kPanelRows>(depth), packed ? 0 : a.source.row_stride, b.panels,
                  panel_bytes<T, kPanelColumns<T>>(depth), rows, columns, depth, static_cast<T*>(c),
                  c_stride, accumulate);
}

template <class T>
const GemmEngine& engine() {
  static constexpr GemmEngine value = {
      .name = "fma",
      .result = dtype_of<T>,
      .row_panel = kPanelRows,
      .column_panel = kPanelColumns<T>,
      .depth_block = kDepthBlock<T>,
      .a_panel_bytes = panel_bytes<T, kPanelRows>,
      .b_panel_bytes = panel_bytes<T, kPanelColumns<T>>,
      .pack_a = pack_a<T>,
      .pack_b = pack_b<T>,
      .multiply = multiply<T>,
      .multiply_scratch = 0,
      .row_unit = kPanelRows / 3,
  };
  return value;
}
const GemmEngine& engine_f32() { return engine<float>(); }
const GemmEngine& engine_f64() { return engine<double>(); }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weft
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {
namespace {
HWY_EXPORT(engine_f32);
HWY_EXPORT(engine_f64);
}  // namespace

namespace kernels {
const GemmEngine& fma_engine(DType result) {
  return result == DType::f64 ? HWY_DYNAMIC_DISPATCH(engine_f64)()
                              : HWY_DYNAMIC_DISPATCH(engine_f32)();
}
}  // namespace kernels
}  // namespace weft
#endif  // HWY_ONCE
