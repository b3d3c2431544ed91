#include "weft/models/data/batching/token_streams.h"

#include <boost/test/unit_test.hpp>
#include <numeric>

#include "weft/core/error.h"
#include "weft/tests/support/messages.h"

namespace weft {
namespace {

std::vector<std::int32_t> iota_ids(int count) {
  std::vector<std::int32_t> ids(static_cast<std::size_t>(count));
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

BOOST_AUTO_TEST_SUITE(token_streams)

BOOST_AUTO_TEST_CASE(each_batch_continues_the_previous_one) {
  const TokenStreams streams(iota_ids(24), 2, 3);  // the rows start at 0 and 11
  BOOST_TEST(streams.size() == 3);
  const auto check = [&](std::int64_t step, const std::vector<std::int32_t>& inputs, bool fresh) {
    const TokenStreams::Piece piece = streams[step];
    std::vector<std::int32_t> targets = inputs;
    for (std::int32_t& id : targets) ++id;
    BOOST_TEST(piece.tokens.inputs.sizes() == (Sizes{2, 3}), boost::test_tools::per_element());
    BOOST_TEST(piece.tokens.inputs.to_vector<std::int32_t>() == inputs,
               boost::test_tools::per_element());
    BOOST_TEST(piece.tokens.targets.to_vector<std::int32_t>() == targets,
               boost::test_tools::per_element());
    BOOST_TEST(piece.fresh == fresh);
  };
  check(0, {0, 1, 2, 11, 12, 13}, true);
  check(1, {3, 4, 5, 14, 15, 16}, false);
  check(2, {6, 7, 8, 17, 18, 19}, false);
  check(3, {0, 1, 2, 11, 12, 13}, true);
  check(7, {3, 4, 5, 14, 15, 16}, false);
}

BOOST_AUTO_TEST_CASE(texts_that_are_too_short_and_empty_batches_are_errors) {
  BOOST_TEST(TokenStreams(iota_ids(7), 2, 3).size() == 1);
  testing::check_error<ArgumentError>(
      [] { TokenStreams(iota_ids(6), 2, 3); },
      {"6 tokens are too few for a batch of 2 rows with 3 tokens: 7 are needed"});
  testing::check_error<ArgumentError>(
      [] { TokenStreams(iota_ids(6), 0, 3); },
      {"streams need at least 1 row and 1 token per row, not 0 and 3"});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
