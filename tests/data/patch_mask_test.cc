// Patch masks: number and positions of the masked patches, determinism, options.
#include "weft/models/data/corruption/patch_mask.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <numeric>

#include "weft/core/error.h"
#include "weft/tests/support/messages.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(patch_masks)
namespace {

using testing::message_contains;

BOOST_AUTO_TEST_CASE(the_mask_ratio_is_rounded_up_to_whole_units) {
  BOOST_TEST(hidden_patches({}, 4, 4) == 10);  // 9.6, rounded up
  BOOST_TEST(hidden_patches({.mask_ratio = 0.5}, 4, 4) == 8);
  // In double precision, 0.07 * 100 is slightly more than 7; it must not be rounded up to 8.
  BOOST_TEST(hidden_patches({.mask_ratio = 0.07}, 10, 10) == 7);
  BOOST_TEST(hidden_patches({.mask_ratio = 1e-6}, 2, 2) == 1);
  BOOST_TEST(hidden_patches({.mask_ratio = 0.6, .mask_unit = 2}, 8, 8) == 40);  // 10 of 16 units
  BOOST_TEST(hidden_patches({.mask_ratio = 0.4, .mask_unit = 3}, 3, 6) == 9);
}

BOOST_AUTO_TEST_CASE(every_mask_covers_the_same_number_of_whole_units) {
  const PatchMasking masking{.mask_ratio = 0.6, .mask_unit = 2};
  for (std::int64_t row = 0; row < 50; ++row) {
    const std::vector<std::int32_t> mask = patch_mask(masking, 4, 8, 3, 7, row);
    BOOST_REQUIRE(mask.size() == 32U);
    BOOST_TEST(std::accumulate(mask.begin(), mask.end(), 0) == 20);  // 5 of 8 units
    for (std::size_t y = 0; y < 4; ++y) {
      for (std::size_t x = 0; x < 8; ++x)
        BOOST_TEST(mask[y * 8 + x] == mask[y / 2 * 2 * 8 + x / 2 * 2]);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_mask_is_a_function_of_seed_step_and_row) {
  const auto mask = [](std::uint64_t seed, std::int64_t step, std::int64_t row) {
    return patch_mask({}, 8, 8, seed, step, row);
  };
  BOOST_TEST((mask(1, 2, 3) == mask(1, 2, 3)));
  BOOST_TEST((mask(1, 2, 3) != mask(2, 2, 3)));
  BOOST_TEST((mask(1, 2, 3) != mask(1, 3, 3)));
  BOOST_TEST((mask(1, 2, 3) != mask(1, 2, 4)));
  BOOST_TEST((mask(1, -1, 3) != mask(1, 1, 3)));
}

BOOST_AUTO_TEST_CASE(every_patch_is_masked_equally_often) {
  std::vector<int> times(16, 0);
  constexpr int kMasks = 4000;
  for (int step = 0; step < kMasks; ++step) {
    const std::vector<std::int32_t> mask = patch_mask({}, 4, 4, 1, step, 0);
    for (std::size_t i = 0; i < 16; ++i) times[i] += mask[i];
  }
  // The expected count is 2500 of 4000; six standard deviations are 184.
  for (const int t : times) BOOST_TEST(std::abs(t - 2500) < 184);
}

BOOST_AUTO_TEST_CASE(errors_name_invalid_masking_options) {
  const auto fails = [](const PatchMasking& masking, const std::string& part) {
    BOOST_CHECK_EXCEPTION(patch_mask(masking, 4, 6, 1, 0, 0), ArgumentError,
                          message_contains({part}));
  };
  fails({.mask_ratio = 0}, "mask_ratio must be in (0, 1), not 0");
  fails({.mask_ratio = 1}, "mask_ratio must be in (0, 1), not 1");
  fails({.mask_unit = 0}, "mask_unit must be at least 1, not 0");
  fails({.mask_unit = 3}, "mask_unit must divide the 4 rows and 6 columns of patches, not 3");
  fails({.mask_unit = 4}, "mask_unit must divide the 4 rows and 6 columns of patches, not 4");
  fails({.mask_ratio = 0.9, .mask_unit = 2},
        "mask_ratio 0.9 masks all 6 units of 2 x 2 patches (mask_unit 2)");
}

BOOST_AUTO_TEST_CASE(masking_options_round_trip_through_json) {
  const PatchMasking masking{.mask_ratio = 0.75, .mask_unit = 2};
  BOOST_TEST(
      (PatchMasking::fields().from_json(PatchMasking::fields().to_json(masking)) == masking));
  BOOST_CHECK_EXCEPTION(PatchMasking::fields().from_json(R"({"mask_ratio": 0.5})"), FormatError,
                        message_contains({"the image masking lacks 'mask_unit'"}));
  BOOST_CHECK_EXCEPTION(PatchMasking::fields().from_json(R"({"mask_ratio": 2, "mask_unit": 1})"),
                        ArgumentError, message_contains({"mask_ratio must be in (0, 1), not 2"}));
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
