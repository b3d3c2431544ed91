#include "weft/models/data/by_length.h"

#include <algorithm>
#include <numeric>

namespace weft {

std::vector<std::size_t> by_length(std::span<const std::size_t> lengths) {
  std::vector<std::size_t> order(lengths.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return lengths[a] < lengths[b]; });
  return order;
}

void for_batches_by_length(std::span<const std::size_t> lengths,
                           const std::function<void(std::span<const std::size_t>)>& use) {
  constexpr std::size_t kBatch = 64;
  const std::vector<std::size_t> order = by_length(lengths);
  for (std::size_t begin = 0; begin < order.size(); begin += kBatch)
    use(std::span(order).subspan(begin, std::min(kBatch, order.size() - begin)));
}

}  // namespace weft
