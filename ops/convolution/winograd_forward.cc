#include "weft/ops/convolution/winograd_forward.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "weft/core/rounding.h"
#include "weft/ops/convolution/conv_phases.h"
#include "weft/ops/kernels/convolution/winograd.h"
#include "weft/ops/kernels/gemm_engine.h"

namespace weft {
namespace {

using kernels::ConvGeometry;
using kernels::GemmEngine;
using kernels::kWinogradElements;
using kernels::WinogradBand;

// Fewer channels do not pay for the transforms. With more channels, the transformed patches of a
// band exceed the L2 cache.
constexpr std::int64_t kMinChannels = 32, kMaxChannels = 512;
// With fewer tiles, panels are mostly empty.
constexpr std::int64_t kMinTiles = 16;
// The number of panels of output channels for which the products are transformed together.
constexpr std::int64_t kChunkPanels = 8;
// If there are fewer bands than this, they are divided into output channels, for each of which the
// patches are transformed again.
constexpr std::int64_t kWantedItems = 8;
constexpr std::int64_t kMinItemOuts = 96;

// Returns the number of tiles along an axis of the result.
std::int64_t half(std::int64_t size) { return (size + 1) / 2; }
std::int64_t tile_columns(const ConvGeometry& g) { return half(g.out_width); }

// The 16 products of the transformed weights [outs, channels] and the transformed patches
// [channels, tiles] of every image and group.
struct WinogradProduct {
  ConvGeometry g;
  const GemmEngine& engine = kernels::fma_engine(DType::f32);
  std::int64_t outs, channels, panel = engine.column_panel;
  std::int64_t band_rows = 0, bands = 0;
  std::int64_t item_outs = 0;
  bool is_packed_before = false;
  std::size_t weights = 0;   // offset in the shared scratch
  std::size_t operands = 0;  // offset in the worker's scratch

  explicit WinogradProduct(const ConvGeometry& geometry)
      : g(geometry), outs(g.group_out_channels()), channels(g.group_channels()) {
    const std::int64_t rows = half(g.out_height);
    bands = divide_up(rows, std::min(rows, panel / tile_columns(g)));
    band_rows = divide_up(rows, bands);
    bands = divide_up(rows, band_rows);
    const std::int64_t parts = divide_up(kWantedItems, products() * bands);
    item_outs = round_up(std::clamp(divide_up(outs, parts), std::min(kMinItemOuts, outs), outs),
                         engine.row_panel);
  }

  std::int64_t products() const { return g.images * g.groups; }
  std::int64_t items() const { return products() * bands * item_parts(); }
  std::int64_t item_parts() const { return divide_up(outs, item_outs); }
  std::int64_t row_panels() const { return divide_up(outs, engine.row_panel); }
  // Distances between the elements of packed weights, in bytes, and of patches and products, in
  // floats.
  std::size_t weight_distance() const {
    return static_cast<std::size_t>(row_panels()) * engine.a_panel_bytes(channels);
  }
  std::int64_t patch_distance() const { return channels * panel + kernels::winograd_slack(); }
  std::int64_t product_distance() const {
    return kChunkPanels * engine.row_panel * panel + kernels::winograd_slack();
  }
  std::size_t group_weights_bytes() const { return kWinogradElements * weight_distance(); }
  std::size_t operand_bytes() const {
    return static_cast<std::size_t>(kWinogradElements * (patch_distance() + product_distance())) *
           sizeof(float);
  }

  // Transforms the panel `index` of the weights, counted over all groups.
  void pack_weights(const void* from, std::byte* to, std::int64_t index) const {
    const std::int64_t group = index / row_panels(), out = index % row_panels() * engine.row_panel;
    to += static_cast<std::size_t>(group) * group_weights_bytes() +
          static_cast<std::size_t>(index % row_panels()) * engine.a_panel_bytes(channels);
    kernels::winograd_weights(static_cast<const float*>(from) + (group * outs + out) * channels * 9,
                              std::min(engine.row_panel, outs - out), channels, engine.row_panel,
                              static_cast<std::int64_t>(weight_distance() / sizeof(float)),
                              reinterpret_cast<float*>(to));
  }

  // Computes the item `index` in the result `c`, and calls finish(tile) for its parts.
  template <class Fn>
  void multiply(const KernelRun& run, float* c, std::int64_t index, Fn finish) const {
    const std::int64_t first = index % item_parts() * item_outs;
    const std::int64_t product = index / item_parts() / bands;
    WinogradBand band{.row = index / item_parts() % bands * band_rows, .columns = tile_columns(g)};
    band.rows = std::min(band_rows, half(g.out_height) - band.row);
    const std::int64_t column = 2 * band.row * g.out_width;
    const std::int64_t columns = std::min(2 * band.rows, g.out_height - 2 * band.row) * g.out_width;
    auto* const patches = reinterpret_cast<float*>(run.slot_scratch + operands);
    float* const sums = patches + kWinogradElements * patch_distance();
    kernels::winograd_patches(g, band, run.in<float>(0) + product * channels * g.plane(),
                              patch_distance(), patches);
    const std::byte* const packed_weights =
        (is_packed_before ? run.packed : run.shared_scratch + weights) +
        static_cast<std::size_t>(product % g.groups) * group_weights_bytes();
    const std::int64_t last = std::min(first + item_outs, outs);
    for (std::int64_t out = first; out < last; out += kChunkPanels * engine.row_panel) {
      const std::int64_t rows = std::min(kChunkPanels * engine.row_panel, last - out);
      for (std::int64_t e = 0; e < kWinogradElements; ++e) {
        kernels::PackedBlock a, b;
        a.panels =
            packed_weights + static_cast<std::size_t>(e) * weight_distance() +
            static_cast<std::size_t>(out / engine.row_panel) * engine.a_panel_bytes(channels);
        b.panels = reinterpret_cast<const std::byte*>(patches + e * patch_distance());
        // Whole vectors are stored faster, and the columns after the last tile are not read.
        engine.multiply(a, b, rows, round_up(band.rows * band.columns, panel / 2), channels,
                        sums + e * product_distance(), panel, false, nullptr);
      }
      float* const to = c + (product * outs + out) * g.positions() + column;
      kernels::winograd_result(g, band, sums, product_distance(), rows, to);
      finish(OutputTile{.item = product / g.groups,
                        .row = product % g.groups * outs + out,
                        .column = column,
                        .rows = rows,
                        .columns = columns,
                        .c = to,
                        .c_stride = g.positions()});
    }
  }
};

}  // namespace

bool fits_winograd(const ConvGeometry& g) {
  const auto both = [](std::int64_t a, std::int64_t b, std::int64_t value) {
    return a == value && b == value;
  };
  const std::int64_t columns = tile_columns(g), rows = half(g.out_height);
  const std::int64_t least = std::min(g.group_channels(), g.group_out_channels());
  return both(g.kernel_height, g.kernel_width, 3) && both(g.stride_height, g.stride_width, 1) &&
         both(g.dilation_height, g.dilation_width, 1) && g.padding_height <= 1 &&
         g.padding_width <= 1 && least >= kMinChannels && g.group_channels() <= kMaxChannels &&
         columns * rows >= kMinTiles && columns <= kernels::fma_engine(DType::f32).column_panel;
}

Kernel winograd_forward(const KernelRequest& request, const ConvGeometry& geometry,
                        const std::shared_ptr<const Epilogue>& epilogue) {
  WinogradProduct p(geometry);
  Kernel kernel;
  p.weights = kernel.shared_scratch =
      epilogue == nullptr ? 0 : aligned_size(epilogue->shared_scratch());
  p.operands = epilogue == nullptr ? 0 : aligned_size(epilogue->slot_scratch());
  kernel.slot_scratch = p.operands + p.operand_bytes();
  p.is_packed_before = add_packed_weights(
      kernel, request,
      fmt::format("Winograd A of {} {} [{}, {}] {} groups", p.engine.name, p.engine.row_panel,
                  p.outs, p.channels, p.g.groups),
      p.weights, static_cast<std::size_t>(p.g.groups) * p.group_weights_bytes(),
      p.g.groups * p.row_panels(), kWinogradElements * p.channels * p.engine.row_panel,
      [p](const void* from, std::byte* to, std::int64_t i) { p.pack_weights(from, to, i); });
  const double work = static_cast<double>(p.products() * p.outs * p.channels * p.bands) *
                      static_cast<double>(kWinogradElements * p.panel);
  add_phase(kernel, p.items(), work, kConvProductsPerNs, kConvProductsPerChunk,
            [p, epilogue, rows = p.g.out_channels](const KernelRun& run, std::int64_t i) {
              void* const c = epilogue == nullptr ? run.outputs[0] : epilogue->product(run);
              p.multiply(run, static_cast<float*>(c), i, [&](const OutputTile& tile) {
                if (epilogue != nullptr) epilogue->run(run, tile, tile.item * rows + tile.row);
              });
            });
  return kernel;
}

}  // namespace weft
