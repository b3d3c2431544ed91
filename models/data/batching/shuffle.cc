#include "weft/models/data/batching/shuffle.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "weft/core/random.h"

namespace weft {

std::vector<std::int64_t> shuffled(std::int64_t count, std::uint64_t seed, std::uint32_t epoch) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  const RandomStream stream{stable_hash("weft.data.shuffle", seed), 0, epoch};
  for (std::size_t i = order.size(); i > 1; --i) {
    const PhiloxBlock block = stream.block(i);
    const std::uint64_t bits = std::uint64_t{block[0]} << 32 | block[1];
    std::swap(order[i - 1], order[uniform_below(bits, i)]);
  }
  return order;
}

std::vector<std::int64_t> evenly_spread(std::int64_t count, std::int64_t most) {
  const std::int64_t used = most == 0 ? count : std::min(count, most);
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < used; ++i) places.push_back(i * count / used);
  return places;
}

}  // namespace weft
