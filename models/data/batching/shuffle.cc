#include "weft/models/data/batching/shuffle.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "weft/core/error.h"
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

std::vector<bool> held_out_examples(std::int64_t count, double fraction, std::uint64_t seed) {
  if (!(fraction >= 0 && fraction < 1))
    throw ArgumentError(fmt::format("the held-out fraction must be in [0, 1), not {}", fraction));
  const std::int64_t wanted =
      std::max<std::int64_t>(std::llround(fraction * static_cast<double>(count)), fraction > 0);
  const std::vector<std::int64_t> order = shuffled(count, seed);
  std::vector<bool> held_out(order.size(), false);
  for (std::int64_t i = 0; i < std::min(wanted, count - 1); ++i)
    held_out[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])] = true;
  return held_out;
}

std::vector<std::int64_t> evenly_spread(std::int64_t count, std::int64_t most) {
  const std::int64_t used = most == 0 ? count : std::min(count, most);
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < used; ++i) places.push_back(i * count / used);
  return places;
}

}  // namespace weft
