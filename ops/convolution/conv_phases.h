// Phases of the kernels of convolutions.
#pragma once

#include <utility>

#include "weft/core/rounding.h"
#include "weft/ops/kernel.h"

namespace weft {

/// Appends a phase that calls fn(run, i) for all i < count. `work` is in units of which a worker
/// processes `per_ns` in a nanosecond; a chunk has at least `per_chunk`.
template <class Fn>
void add_phase(Kernel& kernel, std::int64_t count, double work, double per_ns, double per_chunk,
               Fn fn) {
  Phase phase;
  phase.cost_ns = work / per_ns;
  const double each = work / static_cast<double>(count);
  phase.chunks = chunk_count(count, static_cast<std::int64_t>(per_chunk / (each + 1)));
  phase.body = [=, chunks = phase.chunks](const KernelRun& run, std::int64_t chunk) {
    const auto [begin, end] = chunk_range(count, chunks, chunk);
    for (std::int64_t i = begin; i < end; ++i) fn(run, i);
  };
  kernel.phases.push_back(std::move(phase));
}

/// The speed of a worker, and the work in a chunk: multiply-adds, and elements that are packed.
inline constexpr double kConvProductsPerNs = 40, kConvProductsPerChunk = 5e5;
inline constexpr double kConvPackedPerNs = 4, kConvPackedPerChunk = 1 << 14;

/// Requests `bytes` bytes of packed weights (input 1) with `panels` panels of `elements` elements,
/// which pack(from, to, panel) writes: once if they are constant, and otherwise in a phase that
/// writes to the shared scratch from `offset` on. Returns true if they are packed once.
template <class Fn>
bool add_packed_weights(Kernel& kernel, const KernelRequest& request, std::string layout,
                        std::size_t offset, std::size_t bytes, std::int64_t panels,
                        std::int64_t elements, Fn pack) {
  if (!request.inputs[1].constant) {
    kernel.shared_scratch = offset + bytes;
    add_phase(kernel, panels, static_cast<double>(panels * elements), kConvPackedPerNs,
              kConvPackedPerChunk, [=](const KernelRun& run, std::int64_t i) {
                pack(run.inputs[1], run.shared_scratch + offset, i);
              });
    return false;
  }
  PackedInput packed;
  packed.input = 1;
  packed.layout = std::move(layout);
  packed.bytes = bytes;
  packed.chunks = chunk_count(
      panels, static_cast<std::int64_t>(kConvPackedPerChunk / static_cast<double>(elements + 1)));
  packed.pack = [=, chunks = packed.chunks](const void* from, std::byte* to, std::int64_t chunk) {
    const auto [begin, end] = chunk_range(panels, chunks, chunk);
    for (std::int64_t i = begin; i < end; ++i) pack(from, to, i);
  };
  kernel.packed = std::move(packed);
  return true;
}

}  // namespace weft
