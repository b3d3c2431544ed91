// Deltas for sums that were sent before they were complete.
#include "weft/core/world/early_sums.h"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <random>
#include <vector>

#include "weft/core/error.h"
#include "weft/tests/support/messages.h"

namespace weft {
namespace {

using Bytes = std::vector<std::byte>;

Bytes random_bytes(std::size_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  Bytes bytes(count);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  return bytes;
}

BOOST_AUTO_TEST_SUITE(early_sums)

BOOST_AUTO_TEST_CASE(a_delta_turns_the_early_version_into_the_later_one) {
  for (const std::size_t count : {0, 1, 63, 64, 65, 127, 128, 1000, 4096}) {
    const Bytes early = random_bytes(count, 1);
    BOOST_TEST(compute_delta(early, early).empty());
    for (std::size_t changed = 1; changed <= count; changed = 3 * changed + 1) {
      Bytes later = early;
      std::mt19937 random(static_cast<std::uint32_t>(changed));
      for (std::size_t i = 0; i < changed; ++i) later[random() % count] ^= std::byte{1};
      Bytes found = early;
      const Bytes changes = compute_delta(early, later);
      apply_delta(changes, found);
      BOOST_TEST((found == later));
      BOOST_TEST(changes.size() <= 2 * count + 16);
    }
    if (count == 0) continue;
    // Only the last byte differs.
    Bytes later = early;
    later.back() ^= std::byte{255};
    const Bytes changes = compute_delta(early, later);
    BOOST_TEST(changes.size() <= 16 + 64u);
    Bytes found = early;
    apply_delta(changes, found);
    BOOST_TEST((found == later));
  }
}

BOOST_AUTO_TEST_CASE(damaged_deltas_are_rejected_without_writing_out_of_bounds) {
  const Bytes early = random_bytes(640, 1), later = random_bytes(640, 2);
  const Bytes changes = compute_delta(early, later);
  const auto refused = [&](Bytes damaged, std::size_t bytes) {
    Bytes into(bytes);
    BOOST_CHECK_EXCEPTION(apply_delta(damaged, into), DataError, testing::says("the delta for"));
  };
  for (std::size_t size = 1; size < changes.size(); size += 7)
    refused(Bytes(changes.begin(), changes.begin() + static_cast<std::ptrdiff_t>(size)), 640);
  refused(changes, 639);
  for (std::size_t at = 0; at < 16; ++at) {  // position and length of the first delta
    Bytes damaged = changes;
    damaged[at] = std::byte{255};
    refused(damaged, 640);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
