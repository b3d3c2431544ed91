#include "weft/graph/engine/parallel_copy.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "weft/core/rounding.h"

namespace weft {

void parallel_copy(std::byte* to, const std::byte* from, std::size_t bytes, Workers& workers) {
  constexpr std::size_t kChunk = std::size_t{1} << 20;
  if (bytes == 0 || to == from) return;
  if (bytes <= kChunk) {
    std::memcpy(to, from, bytes);
    return;
  }
  workers.for_chunks(static_cast<std::int64_t>(divide_up(bytes, kChunk)),
                     [&](std::int64_t chunk, int) {
                       const std::size_t begin = static_cast<std::size_t>(chunk) * kChunk;
                       std::memcpy(to + begin, from + begin, std::min(kChunk, bytes - begin));
                     });
}

}  // namespace weft
