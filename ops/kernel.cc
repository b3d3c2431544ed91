#include "weft/ops/kernel.h"

#include <algorithm>

namespace weft {

std::int64_t chunk_count(std::int64_t work, std::int64_t grain) {
  grain = std::max<std::int64_t>(grain, 1);
  return std::clamp<std::int64_t>((work + grain - 1) / grain, 1, 1024);
}

ChunkRange chunk_range(std::int64_t work, std::int64_t chunks, std::int64_t chunk,
                       std::int64_t multiple) {
  const std::int64_t units = (work + multiple - 1) / multiple;
  const std::int64_t base = units / chunks, extra = units % chunks;
  const std::int64_t begin = chunk * base + std::min(chunk, extra);
  const std::int64_t end = begin + base + (chunk < extra ? 1 : 0);
  return {std::min(begin * multiple, work), std::min(end * multiple, work)};
}

}  // namespace weft
