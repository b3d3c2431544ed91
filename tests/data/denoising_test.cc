// Pre-training objectives for encoder-decoders. Input and target together contain the complete
// text, and noise rates match the configuration.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <string>

#include "weft/core/error.h"
#include "weft/models/data/corruption/denoising.h"
#include "weft/tests/support/messages.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(denoising)
namespace {

using testing::says;

TokenIds text(std::int64_t length) {
  TokenIds ids(static_cast<std::size_t>(length));
  std::iota(ids.begin(), ids.end(), 100);
  return ids;
}

// Reconstructs the original text from a span-corruption input and target.
TokenIds restore(const DenoisingExample& example, std::int64_t first_sentinel) {
  TokenIds ids;
  const auto is_sentinel = [&](std::int64_t id) { return id > first_sentinel - 500; };
  auto target = example.target.begin();
  for (const std::int64_t id : example.input) {
    if (!is_sentinel(id)) {
      ids.push_back(id);
      continue;
    }
    BOOST_REQUIRE(*target == id);
    for (++target; !is_sentinel(*target); ++target) ids.push_back(*target);
  }
  BOOST_TEST((target + 1 == example.target.end()));
  return ids;
}

BOOST_AUTO_TEST_CASE(span_corruption_masks_the_configured_fraction_and_loses_no_token) {
  const TokenIds ids = text(200);
  std::set<TokenIds> seen;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const DenoisingExample e = span_corruption(ids, {.first_sentinel = 9999, .eos_id = -1}, seed);
    BOOST_TEST(e.input.size() == 200U - 30 + 10);  // 15% masked, in spans of 3
    BOOST_TEST(e.target.size() == 30U + 11);
    BOOST_TEST((restore(e, 9999) == ids));
    seen.insert(e.input);
  }
  BOOST_TEST(seen.size() == 50U);
  // A single span can be at any position.
  std::set<TokenIds> places;
  for (std::uint64_t seed = 0; seed < 100; ++seed)
    places.insert(span_corruption(text(6), {.density = 0.3, .first_sentinel = 9999}, seed).input);
  BOOST_TEST(places.size() == 5U);
  const DenoisingExample e = span_corruption(ids, {.first_sentinel = 9999, .eos_id = 1}, 3);
  BOOST_TEST(e.input.back() == 1);
  BOOST_TEST(e.target.back() == 1);
  BOOST_TEST((e.input == span_corruption(ids, {.first_sentinel = 9999}, 3).input));
  BOOST_TEST(span_corruption(text(2), {.density = 0.9, .first_sentinel = 9999}, 1).input.size() ==
             3U);
  const auto rejects = [&](const TokenIds& given, const SpanCorruptionOptions& options,
                           const std::string& message) {
    BOOST_CHECK_EXCEPTION(span_corruption(given, options, 1), ArgumentError, says(message));
  };
  rejects(text(1), {}, "a text with 1 ids is too short for span corruption");
  rejects(ids, {.density = 1}, "density must be in (0, 1), not 1");
  rejects(ids, {.mean_span = 0.5}, "mean_span must be at least 1, not 0.5");
  rejects(ids, {.first_sentinel = 5}, "10 spans need 11 sentinels down from first_sentinel 5");
  rejects(ids, {.sentinels = 10},
          "10 spans need 11 sentinels down from first_sentinel 32099, but there are 10");
  BOOST_TEST(span_corruption(ids, {.first_sentinel = 10, .sentinels = 11}, 1).target[0] == 10);
  BOOST_TEST(corrupted_spans(200, {}) == 10);
  BOOST_TEST(mixture_spans(200) == 33);  // 100 masked tokens, in spans of 3
}

BOOST_AUTO_TEST_CASE(the_mixture_uses_every_mode_in_the_expected_proportion) {
  const TokenIds ids = text(300);
  std::map<std::int64_t, int> modes;
  for (std::uint64_t seed = 0; seed < 700; ++seed) {
    DenoisingExample e = denoiser_mixture(ids,
                                          {.regular_id = 1,
                                           .sequential_id = 2,
                                           .extreme_id = 3,
                                           .first_sentinel = 9999,
                                           .eos_id = -1},
                                          seed);
    const std::int64_t mode = e.input.front();
    ++modes[mode];
    e.input.erase(e.input.begin());
    if (mode == 2) {
      e.input.insert(e.input.end(), e.target.begin(), e.target.end());
      BOOST_TEST((e.input == ids));
    } else {
      BOOST_TEST((restore(e, 9999) == ids));
    }
  }
  // The expected fractions of the three modes are 2/7, 1/7 and 4/7 of 700 examples.
  BOOST_TEST(std::abs(modes[1] - 200) < 45);
  BOOST_TEST(std::abs(modes[2] - 100) < 35);
  BOOST_TEST(std::abs(modes[3] - 400) < 50);
  BOOST_CHECK_EXCEPTION(prefix_split(text(1), 1, 1), ArgumentError, says("too short to be split"));
}

BOOST_AUTO_TEST_CASE(bart_noise_masks_deletes_infills_permutes_and_rotates) {
  const TokenIds ids = text(1000);
  const TokenIds masked = mask_tokens(ids, 0, 0.3, 1);
  const auto zeros = std::count(masked.begin(), masked.end(), 0);
  BOOST_TEST(std::abs(static_cast<double>(zeros) - 300) < 60);
  for (std::size_t i = 0; i < ids.size(); ++i) BOOST_TEST((masked[i] == 0 || masked[i] == ids[i]));
  const TokenIds rest = delete_tokens(ids, 0.3, 1);
  BOOST_TEST(std::abs(static_cast<double>(rest.size()) - 700) < 60);
  BOOST_TEST(std::is_sorted(rest.begin(), rest.end()));
  const TokenIds infilled = infill_text(ids, 0, 0.3, 3, 1);
  BOOST_TEST(infilled.size() -
                 static_cast<std::size_t>(std::count(infilled.begin(), infilled.end(), 0)) ==
             700U);
  const auto masks = static_cast<double>(std::count(infilled.begin(), infilled.end(), 0));
  BOOST_TEST(masks > 75);  // spans of 3 on average; adjacent spans are shorter
  BOOST_TEST(masks < 200);
  const TokenIds permuted = permute_sentences({{1, 2}, {3}, {4, 5, 6}, {7, 8}}, 4);
  BOOST_TEST(permuted.size() == 8U);
  const auto four = std::find(permuted.begin(), permuted.end(), 4);
  BOOST_TEST((four[1] == 5 && four[2] == 6));
  TokenIds rotated = rotate_document(ids, 2);
  BOOST_TEST((rotated != ids));
  std::rotate(rotated.begin(), std::find(rotated.begin(), rotated.end(), 100), rotated.end());
  BOOST_TEST((rotated == ids));
  BOOST_CHECK_EXCEPTION(mask_tokens(ids, 0, 1.5, 1), ArgumentError,
                        says("rate must be in [0, 1], not 1.5"));
  BOOST_CHECK_EXCEPTION(infill_text(ids, 0, 0.3, 0, 1), ArgumentError,
                        says("mean_span must be positive, not 0"));
}

BOOST_AUTO_TEST_CASE(gap_sentences_share_the_most_tokens_with_the_rest_of_the_text) {
  const std::vector<TokenIds> sentences = {{1, 2, 3}, {1, 2, 9, 4}, {7, 8}, {9, 4, 3}};
  const DenoisingExample e = gap_sentences(sentences, 2, 0, 99);
  // The numbers of ids that each sentence shares with the other sentences are 3, 4, 0 and 3.
  BOOST_TEST((e.input == TokenIds{0, 0, 7, 8, 9, 4, 3, 99}));
  BOOST_TEST((e.target == TokenIds{1, 2, 3, 1, 2, 9, 4, 99}));
  BOOST_CHECK_EXCEPTION(gap_sentences(sentences, 4, 0, 1), ArgumentError,
                        says("less than the number of sentences (4), not 4"));
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
