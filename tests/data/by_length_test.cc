// Batching examples by length.
#include "weft/models/data/batching/by_length.h"

#include <boost/test/unit_test.hpp>

namespace weft {
BOOST_AUTO_TEST_SUITE(length_batches)
namespace {

using Numbers = std::vector<std::size_t>;

BOOST_AUTO_TEST_CASE(examples_are_sorted_by_length_and_the_order_is_stable) {
  BOOST_TEST(by_length(Numbers{3, 1, 2, 1, 3}) == (Numbers{1, 3, 2, 0, 4}),
             boost::test_tools::per_element());
  BOOST_TEST(by_length(Numbers{}).empty());
}

BOOST_AUTO_TEST_CASE(batches_of_similar_length_contain_every_example_once) {
  Numbers lengths;
  for (std::size_t i = 0; i < 150; ++i) lengths.push_back(i * 37 % 50);
  Numbers all, sizes;
  for (const Numbers& examples : batches_by_length(lengths)) {
    sizes.push_back(examples.size());
    all.insert(all.end(), examples.begin(), examples.end());
  }
  BOOST_TEST(sizes == (Numbers{64, 64, 22}), boost::test_tools::per_element());
  BOOST_TEST(all == by_length(lengths), boost::test_tools::per_element());
  BOOST_TEST(batches_by_length({}).empty());
}

BOOST_AUTO_TEST_CASE(batches_without_padding_are_filled_with_the_longest_examples_first) {
  using Batches = std::vector<Numbers>;
  BOOST_TEST(
      (batches_without_padding(Numbers{3, 1, 9, 4, 3}, 7) == (Batches{{2}, {3, 4}, {0, 1}})));
  BOOST_TEST((batches_without_padding(Numbers{3, 1}, 100) == (Batches{{0, 1}})));
  BOOST_TEST((batches_without_padding(Numbers{2, 2}, 1) == (Batches{{1}, {0}})));
  BOOST_TEST(batches_without_padding(Numbers{}, 7).empty());
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
