#include "weft/ops/convolution/panel_forward.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "weft/core/rounding.h"
#include "weft/ops/convolution/conv_phases.h"
#include "weft/ops/kernels/convolution/patch_panels.h"
#include "weft/ops/kernels/gemm_engine.h"

namespace weft {
namespace {

using kernels::ConvGeometry;
using kernels::GemmEngine;

// The maximum number of positions in a tile. The packed patches of a depth block and the tile of
// the result fit into the L2 cache.
constexpr std::int64_t kTilePositions = 128;
// With fewer tiles of positions, tiles are narrower. If there are still fewer, they are divided
// into output channels, up to kWantedTiles tiles, for each of which the patches are packed again.
// Tiles of the same positions follow one another, so that a worker reads and writes the same part
// of the images in every layer: a store to a cache line that two cores have read takes ten times as
// long as a store to another line.
constexpr std::int64_t kEnoughTiles = 6, kWantedTiles = 12;
constexpr std::int64_t kMinOuts = 96;

// The product of the weights [outs, depth] and the patches [depth, positions] of every image and
// group.
template <class T>
struct PanelProduct {
  ConvGeometry g;
  const GemmEngine& engine;
  std::int64_t outs, depth, positions;
  std::int64_t tile_positions = 0, tile_outs = 0;
  bool is_packed_before = false;
  std::size_t weights = 0;  // offset in the shared scratch
  std::size_t patches = 0;  // offset in the worker's scratch

  explicit PanelProduct(const ConvGeometry& geometry)
      : g(geometry),
        engine(kernels::fma_engine(dtype_of<T>)),
        outs(g.group_out_channels()),
        depth(g.group_channels() * g.taps()),
        positions(g.positions()) {
    if (g.pointwise()) {  // The plane is a single row.
      g.width = g.out_width = g.plane();
      g.height = g.out_height = 1;
    }
    const std::int64_t panel = engine.column_panel;
    tile_positions = round_up(std::min(positions, kTilePositions), panel);
    while (tile_positions > panel && products() * position_tiles() < kEnoughTiles)
      tile_positions = round_up(tile_positions / 2, panel);
    const std::int64_t tiles = products() * position_tiles();
    const std::int64_t parts = tiles < kEnoughTiles ? divide_up(kWantedTiles, tiles) : 1;
    tile_outs = round_up(std::clamp(divide_up(outs, parts), std::min(kMinOuts, outs), outs),
                         engine.row_panel);
  }

  double multiply_adds() const {
    return static_cast<double>(g.images * g.groups * positions) * static_cast<double>(outs) *
           static_cast<double>(depth);
  }
  std::int64_t products() const { return g.images * g.groups; }
  std::int64_t position_tiles() const { return divide_up(positions, tile_positions); }
  std::int64_t out_tiles() const { return divide_up(outs, tile_outs); }
  std::int64_t blocks() const { return divide_up(depth, engine.depth_block); }
  std::int64_t row_panels() const { return divide_up(outs, engine.row_panel); }
  std::int64_t block_depth(std::int64_t block) const {
    return std::min(engine.depth_block, depth - block * engine.depth_block);
  }
  // Returns the offset of a panel in the packed weights of a group. Blocks follow one another.
  std::size_t a_panel(std::int64_t block, std::int64_t panel) const {
    return static_cast<std::size_t>(block * row_panels()) *
               engine.a_panel_bytes(engine.depth_block) +
           static_cast<std::size_t>(panel) * engine.a_panel_bytes(block_depth(block));
  }
  std::size_t group_weights_bytes() const { return a_panel(blocks() - 1, row_panels()); }
  std::size_t weights_bytes() const {
    return static_cast<std::size_t>(g.groups) * group_weights_bytes();
  }
  std::size_t tile_patches_bytes() const {
    return static_cast<std::size_t>(divide_up(tile_positions, engine.column_panel)) *
           engine.b_panel_bytes(block_depth(0));
  }

  // Packs the panel `index` of the weights, counted over all groups.
  void pack_weights(const void* from, std::byte* to, std::int64_t index) const {
    const std::int64_t group = index / row_panels(), panel = index % row_panels();
    const std::int64_t out = panel * engine.row_panel;
    const kernels::MatrixSource source{static_cast<const T*>(from) + (group * outs + out) * depth,
                                       dtype_of<T>, depth, 1};
    to += static_cast<std::size_t>(group) * group_weights_bytes();
    for (std::int64_t block = 0; block < blocks(); ++block) {
      engine.pack_a(source.from(0, block * engine.depth_block),
                    std::min(engine.row_panel, outs - out), block_depth(block),
                    to + a_panel(block, panel));
    }
  }

  // Computes the tile `index`, counted over all products, in the result `c`.
  OutputTile multiply(const KernelRun& run, T* c, std::int64_t index) const {
    const std::int64_t out = index % out_tiles() * tile_outs;
    const std::int64_t begin = index / out_tiles() % position_tiles() * tile_positions;
    const std::int64_t product = index / out_tiles() / position_tiles();
    const std::int64_t rows = std::min(tile_outs, outs - out);
    const std::int64_t columns = std::min(tile_positions, positions - begin);
    c += (product * outs + out) * positions + begin;
    const std::byte* const packed_weights =
        (is_packed_before ? run.packed : run.shared_scratch + weights) +
        static_cast<std::size_t>(product % g.groups) * group_weights_bytes();
    const T* const image = run.in<T>(0) + product * g.group_channels() * g.plane();
    std::byte* const packed_patches = run.slot_scratch + patches;
    for (std::int64_t block = 0; block < blocks(); ++block) {
      kernels::pack_patches(g, image, block * engine.depth_block, block_depth(block), begin,
                            begin + columns, engine.b_panel_bytes(block_depth(block)),
                            packed_patches);
      kernels::PackedBlock a, b;
      a.panels = packed_weights + a_panel(block, out / engine.row_panel);
      b.panels = packed_patches;
      engine.multiply(a, b, rows, columns, block_depth(block), c, positions, block > 0, nullptr);
    }
    return {.item = product / g.groups,
            .row = product % g.groups * outs + out,
            .column = begin,
            .rows = rows,
            .columns = columns,
            .c = c,
            .c_stride = positions};
  }
};

}  // namespace

template <class T>
Kernel panel_forward(const KernelRequest& request, const ConvGeometry& geometry,
                     const std::shared_ptr<const Epilogue>& epilogue) {
  PanelProduct<T> p(geometry);
  Kernel kernel;
  p.weights = epilogue == nullptr ? 0 : aligned_size(epilogue->shared_scratch());
  p.patches = epilogue == nullptr ? 0 : aligned_size(epilogue->slot_scratch());
  kernel.shared_scratch = p.weights;
  kernel.slot_scratch = p.patches + p.tile_patches_bytes();
  p.is_packed_before = add_packed_weights(
      kernel, request,
      fmt::format("A of {} {} {}x{} [{}, {}] {} groups", p.engine.name, dtype_name(dtype_of<T>),
                  p.engine.row_panel, p.engine.depth_block, p.outs, p.depth, p.g.groups),
      p.weights, p.weights_bytes(), p.g.groups * p.row_panels(), p.depth * p.engine.row_panel,
      [p](const void* from, std::byte* to, std::int64_t i) { p.pack_weights(from, to, i); });
  add_phase(kernel, p.products() * p.position_tiles() * p.out_tiles(), p.multiply_adds(),
            kConvProductsPerNs, kConvProductsPerChunk,
            [p, epilogue, channels = p.g.out_channels](const KernelRun& run, std::int64_t i) {
              void* const c = epilogue == nullptr ? run.outputs[0] : epilogue->product(run);
              const OutputTile tile = p.multiply(run, static_cast<T*>(c), i);
              if (epilogue != nullptr) epilogue->run(run, tile, tile.item * channels + tile.row);
            });
  return kernel;
}

template Kernel panel_forward<float>(const KernelRequest&, const ConvGeometry&,
                                     const std::shared_ptr<const Epilogue>&);
template Kernel panel_forward<double>(const KernelRequest&, const ConvGeometry&,
                                      const std::shared_ptr<const Epilogue>&);

}  // namespace weft
