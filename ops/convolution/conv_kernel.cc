// Convolutions as matrix products over patches (Chellapilla et al., "High performance convolutional
// neural networks for document processing", 2006). The patches for one tile of positions are
// gathered into the worker's scratch, so memory use does not grow with the image. The tiles depend
// only on the sizes.
#include "weft/ops/convolution/conv_kernel.h"

#include <algorithm>
#include <memory>
#include <type_traits>

#include "weft/core/rounding.h"
#include "weft/ops/convolution/panel_forward.h"
#include "weft/ops/convolution/window.h"
#include "weft/ops/convolution/winograd_forward.h"
#include "weft/ops/kernels/convolution/conv.h"
#include "weft/ops/kernels/gemm/bf16_split/choose.h"
#include "weft/ops/kernels/gemm/serial.h"
#include "weft/ops/kernels/gemm/skinny.h"

namespace weft {
namespace {

using kernels::ConvGeometry;
using kernels::GemmProblem;

// Throws ShapeError if the windows do not fit into the image.
ConvGeometry geometry(const Attributes& attributes, const Sizes& x, const Sizes& w,
                      const Sizes& out) {
  const Windows windows(attributes, w[2], w[3]);
  windows.require_fit(x);
  const auto& [height, width] = windows;
  ConvGeometry g;
  g.images = x[0], g.channels = x[1], g.height = x[2], g.width = x[3];
  g.out_channels = out[1], g.out_height = out[2], g.out_width = out[3];
  g.kernel_height = height.kernel, g.kernel_width = width.kernel;
  g.stride_height = height.stride, g.stride_width = width.stride;
  g.padding_height = height.padding, g.padding_width = width.padding;
  g.dilation_height = height.dilation, g.dilation_width = width.dilation;
  g.groups = attributes.integer("groups");
  return g;
}

// The number of elements of the patches for one tile. Together with the packed blocks of gemm(),
// they fit into the L2 cache.
constexpr std::int64_t kPatchElements = 1 << 17;
// Approximate number of patch rows (channels x taps) per piece of work in an adjoint.
constexpr std::int64_t kPatchRows = 128;
// The number of output channels per piece of work in the weight gradient. Each piece gathers the
// patches again.
constexpr std::int64_t kOutChannels = 96;
constexpr double kMultiplyAddsPerNs = 20;
constexpr double kMultiplyAddsPerChunk = 5e5;

// Returns the number of positions per tile if patches have `rows` rows.
std::int64_t tile_positions(const ConvGeometry& g, std::int64_t rows) {
  const std::int64_t wanted = kPatchElements / std::max<std::int64_t>(rows, 1) / 64 * 64;
  return std::max<std::int64_t>(
      1, std::min(std::clamp<std::int64_t>(wanted, 128, 4096), g.positions()));
}

std::int64_t tile_channels(const ConvGeometry& g) {
  return std::clamp<std::int64_t>(kPatchRows / std::max<std::int64_t>(g.taps(), 1), 1,
                                  std::max<std::int64_t>(g.group_channels(), 1));
}

double multiply_adds(const ConvGeometry& g) {
  return static_cast<double>(g.images * g.positions()) * static_cast<double>(g.out_channels) *
         static_cast<double>(g.group_channels() * g.taps());
}

std::size_t patch_bytes(std::size_t element, std::int64_t rows, std::int64_t positions) {
  return aligned_size(static_cast<std::size_t>(rows * positions) * element);
}

// Returns the engine for the matrix products of tiles. Null selects fused multiply-adds, which are
// always used for double.
template <class T>
const kernels::GemmEngine* engine_for(Precision precision, std::int64_t m, std::int64_t n,
                                      std::int64_t k) {
  return std::is_same_v<T, float> ? kernels::choose_tile_engine(precision, m, n, k) : nullptr;
}

// Returns a kernel with one phase that consists of `pieces` equal pieces of work.
template <class Fn>
Kernel make_kernel(const ConvGeometry& g, std::int64_t pieces, std::size_t slot_scratch, Fn piece) {
  Kernel kernel;
  kernel.slot_scratch = slot_scratch;
  Phase phase;
  const double work = multiply_adds(g);
  phase.cost_ns = work / kMultiplyAddsPerNs;
  if (pieces > 0) {
    const double per_piece = work / static_cast<double>(pieces);
    phase.chunks =
        chunk_count(pieces, static_cast<std::int64_t>(kMultiplyAddsPerChunk / (per_piece + 1)));
  }
  phase.body = [=, chunks = phase.chunks](const KernelRun& run, std::int64_t chunk) {
    const auto [begin, end] = chunk_range(pieces, chunks, chunk);
    for (std::int64_t i = begin; i < end; ++i) piece(run, i);
  };
  kernel.phases.push_back(std::move(phase));
  return kernel;
}

// Returns true if the FMA engine can compute the forward op from packed patches. Products with few
// channels or positions are faster without packing.
bool fills_panels(const ConvGeometry& g) {
  return g.images > 0 && g.group_channels() > 0 && g.group_out_channels() > kernels::kSkinnyRows &&
         g.positions() > kernels::kSkinnyRows;
}

using EpilogueRef = std::shared_ptr<const Epilogue>;

// Computes out[image, group] = w[group] * patches for each tile of positions.
template <class T>
Kernel forward(const KernelRequest& r, const ConvGeometry& g, const EpilogueRef& epilogue) {
  const std::int64_t rows = g.group_channels() * g.taps(), outs = g.group_out_channels();
  const std::int64_t tile = tile_positions(g, rows), tiles = divide_up(g.positions(), tile);
  const std::size_t patches_bytes = g.pointwise() ? 0 : patch_bytes(sizeof(T), rows, tile);
  const kernels::GemmEngine* engine = engine_for<T>(r.precision, outs, tile, rows);
  if (engine == nullptr && fills_panels(g)) {
    if (std::is_same_v<T, float> && fits_winograd(g)) return winograd_forward(r, g, epilogue);
    return panel_forward<T>(r, g, epilogue);
  }
  const std::size_t patches_begin =
      epilogue == nullptr ? 0 : aligned_size(epilogue->slot_scratch());
  const auto piece = [=](const KernelRun& run, std::int64_t index) {
    std::byte* const scratch = run.slot_scratch + patches_begin;
    const std::int64_t begin = index % tiles * tile, end = std::min(begin + tile, g.positions());
    const std::int64_t group = index / tiles % g.groups, image = index / tiles / g.groups;
    const T* x = run.in<T>(0) + (image * g.channels + group * g.group_channels()) * g.plane();
    GemmProblem<T> gemm;
    gemm.m = outs, gemm.n = end - begin, gemm.k = rows, gemm.engine = engine;
    gemm.a = {run.in<T>(1) + group * outs * rows, rows, 1};
    if (g.pointwise()) {
      gemm.b = {x + begin, g.plane(), 1};
    } else {
      T* patches = reinterpret_cast<T*>(scratch);
      kernels::gather_patches(g, x, g.group_channels(), begin, end, patches);
      gemm.b = {patches, end - begin, 1};
    }
    const std::int64_t first = image * g.out_channels + group * outs;
    gemm.c = static_cast<T*>(epilogue == nullptr ? run.outputs[0] : epilogue->product(run)) +
             first * g.positions() + begin;
    gemm.c_stride = g.positions();
    kernels::gemm(gemm, scratch + patches_bytes);
    if (epilogue == nullptr) return;
    epilogue->run(run,
                  {.item = image,
                   .row = group * outs,
                   .column = begin,
                   .rows = outs,
                   .columns = gemm.n,
                   .c = gemm.c,
                   .c_stride = gemm.c_stride},
                  first);
  };
  Kernel kernel = make_kernel(g, g.images * g.groups * tiles,
                              patches_begin + patches_bytes +
                                  kernels::gemm_scratch_bytes(sizeof(T), outs, tile, rows, engine),
                              piece);
  if (epilogue != nullptr) kernel.shared_scratch = epilogue->shared_scratch();
  return kernel;
}

// Computes the patches of dx as w[group]^T * g and adds them to the pixels from which the forward
// op gathers its patches. A piece of work owns some of the channels of one image.
template <class T>
Kernel input_grad(const ConvGeometry& g, Precision precision) {
  const std::int64_t rows = g.group_channels() * g.taps(), outs = g.group_out_channels();
  const std::int64_t width = tile_channels(g), tiles = divide_up(g.group_channels(), width);
  const std::int64_t tile = tile_positions(g, width * g.taps());
  const std::size_t patches_bytes = patch_bytes(sizeof(T), width * g.taps(), tile);
  const kernels::GemmEngine* engine = engine_for<T>(precision, width * g.taps(), tile, outs);
  const auto piece = [=](const KernelRun& run, std::int64_t index) {
    const std::int64_t group = index / tiles % g.groups, image = index / tiles / g.groups;
    const std::int64_t first = index % tiles * width;
    const std::int64_t channels = std::min(width, g.group_channels() - first);
    T* dx = run.out<T>(0) + (image * g.channels + group * g.group_channels() + first) * g.plane();
    std::fill_n(dx, channels * g.plane(), T{0});
    T* patches = reinterpret_cast<T*>(run.slot_scratch);
    for (std::int64_t begin = 0; begin < g.positions(); begin += tile) {
      const std::int64_t end = std::min(begin + tile, g.positions());
      GemmProblem<T> gemm;
      gemm.m = channels * g.taps(), gemm.n = end - begin, gemm.k = outs, gemm.engine = engine;
      gemm.a = {run.in<T>(1) + group * outs * rows + first * g.taps(), 1, rows};
      gemm.b = {run.in<T>(0) + (image * g.out_channels + group * outs) * g.positions() + begin,
                g.positions(), 1};
      gemm.c = patches;
      gemm.c_stride = end - begin;
      kernels::gemm(gemm, run.slot_scratch + patches_bytes);
      kernels::scatter_patches(g, patches, channels, begin, end, dx);
    }
  };
  return make_kernel(
      g, g.images * g.groups * tiles,
      patches_bytes + kernels::gemm_scratch_bytes(sizeof(T), width * g.taps(), tile, outs, engine),
      piece);
}

// Computes dw[group] as the sum of g * patches^T over images and positions, in a fixed order. A
// piece of work owns some of the output channels and input channels of a group.
template <class T>
Kernel weight_grad(const ConvGeometry& g, Precision precision) {
  const std::int64_t rows = g.group_channels() * g.taps(), outs = g.group_out_channels();
  const std::int64_t width = tile_channels(g), tiles = divide_up(g.group_channels(), width);
  const std::int64_t out_tiles = divide_up(outs, kOutChannels);
  const std::int64_t tile = tile_positions(g, width * g.taps());
  const std::size_t patches_bytes = patch_bytes(sizeof(T), width * g.taps(), tile);
  const kernels::GemmEngine* engine =
      engine_for<T>(precision, std::min(kOutChannels, outs), width * g.taps(), tile);
  const auto piece = [=](const KernelRun& run, std::int64_t index) {
    const std::int64_t first = index % tiles * width;
    const std::int64_t channels = std::min(width, g.group_channels() - first);
    const std::int64_t first_out = index / tiles % out_tiles * kOutChannels;
    const std::int64_t group = index / tiles / out_tiles;
    GemmProblem<T> gemm;
    gemm.m = std::min(kOutChannels, outs - first_out), gemm.n = channels * g.taps();
    gemm.engine = engine;
    gemm.c = run.out<T>(0) + (group * outs + first_out) * rows + first * g.taps();
    gemm.c_stride = rows;
    for (std::int64_t i = 0; i < gemm.m; ++i) std::fill_n(gemm.c + i * rows, gemm.n, T{0});
    gemm.accumulate = true;
    T* patches = reinterpret_cast<T*>(run.slot_scratch);
    for (std::int64_t image = 0; image < g.images; ++image) {
      const T* x =
          run.in<T>(1) + (image * g.channels + group * g.group_channels() + first) * g.plane();
      for (std::int64_t begin = 0; begin < g.positions(); begin += tile) {
        const std::int64_t end = std::min(begin + tile, g.positions());
        kernels::gather_patches(g, x, channels, begin, end, patches);
        gemm.k = end - begin;
        gemm.a = {run.in<T>(0) +
                      (image * g.out_channels + group * outs + first_out) * g.positions() + begin,
                  g.positions(), 1};
        gemm.b = {patches, 1, end - begin};
        kernels::gemm(gemm, run.slot_scratch + patches_bytes);
      }
    }
  };
  return make_kernel(
      g, g.groups * out_tiles * tiles,
      patches_bytes + kernels::gemm_scratch_bytes(sizeof(T), std::min(kOutChannels, outs),
                                                  width * g.taps(), tile, engine),
      piece);
}

Kernel make_forward(const KernelRequest& r, const EpilogueRef& epilogue) {
  const ConvGeometry g =
      geometry(r.attributes, r.inputs[0].sizes, r.inputs[1].sizes, r.outputs[0].sizes);
  return r.inputs[0].dtype == DType::f32 ? forward<float>(r, g, epilogue)
                                         : forward<double>(r, g, epilogue);
}

}  // namespace

Kernel conv2d_kernel(const KernelRequest& r) { return make_forward(r, nullptr); }

Kernel conv2d_fused_kernel(const KernelRequest& r) {
  return make_forward(r, std::make_shared<const Epilogue>(r, 2, false, ProductLayout::images));
}

Kernel conv2d_input_grad_kernel(const KernelRequest& r) {
  const ConvGeometry g =
      geometry(r.attributes, r.outputs[0].sizes, r.inputs[1].sizes, r.inputs[0].sizes);
  return r.inputs[0].dtype == DType::f32 ? input_grad<float>(g, r.precision)
                                         : input_grad<double>(g, r.precision);
}

Kernel conv2d_weight_grad_kernel(const KernelRequest& r) {
  const ConvGeometry g =
      geometry(r.attributes, r.inputs[1].sizes, r.outputs[0].sizes, r.inputs[0].sizes);
  return r.inputs[0].dtype == DType::f32 ? weight_grad<float>(g, r.precision)
                                         : weight_grad<double>(g, r.precision);
}

}  // namespace weft
