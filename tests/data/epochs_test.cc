#include "weft/models/data/batching/epochs.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "weft/core/error.h"
#include "weft/models/data/batching/lazy_cache.h"
#include "weft/models/data/batching/shuffle.h"
#include "weft/tests/support/messages.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(epochs)
namespace {

using testing::says_exactly;

Epochs::Order joined(const Epochs& epochs, std::int64_t step, std::int64_t shards,
                     std::int64_t batch) {
  Epochs::Order all;
  for (std::int64_t shard = 0; shard < shards; ++shard) {
    const Epochs::Order part = epochs.examples({step, shard, shards}, batch);
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

}  // namespace

BOOST_AUTO_TEST_CASE(epochs_are_permutations_and_a_batch_may_span_two_epochs) {
  const Epochs epochs(10, 7);
  const std::vector<std::int64_t> first = shuffled(10, 7, 0), second = shuffled(10, 7, 1);
  const Epochs::Order batch = epochs.examples(2, 4);
  BOOST_TEST((batch == Epochs::Order{first[8], first[9], second[0], second[1]}));
  // A batch may span several epochs, and steps can be requested in any order.
  const Epochs::Order all = Epochs(3, 1).examples(1, 7);
  BOOST_REQUIRE(all.size() == 7U);
  for (std::size_t i = 0; i < 7; ++i) {
    const std::size_t at = 7 + i;
    BOOST_TEST(all[i] == shuffled(3, 1, static_cast<std::uint32_t>(at / 3))[at % 3]);
  }
}

BOOST_AUTO_TEST_CASE(the_shards_of_a_batch_partition_the_batch) {
  const Epochs epochs(10, 7);
  for (std::int64_t step = 0; step < 6; ++step) {
    for (const std::int64_t shards : {1, 2, 3, 4, 6, 12})
      BOOST_TEST((joined(epochs, step, shards, 12) == epochs.examples(step, 12)));
  }
}

BOOST_AUTO_TEST_CASE(invalid_shards_are_rejected) {
  const Epochs epochs(10, 7);
  BOOST_CHECK_EXCEPTION(epochs.examples({0, 0, 4}, 10), ArgumentError,
                        says_exactly("a batch of 10 rows cannot be split into 4 equal shards: the "
                                     "rows must be a multiple of 4"));
  BOOST_CHECK_EXCEPTION(BatchPart(0, 4, 4), ArgumentError,
                        says_exactly("shard 4 is outside [0, 4)"));
  BOOST_CHECK_EXCEPTION(BatchPart(0, 0, 0), ArgumentError,
                        says_exactly("shard 0 is outside [0, 0)"));
  BOOST_CHECK_EXCEPTION(BatchPart(5, 0, 4).nearly_equal_rows(3), ArgumentError,
                        says_exactly("the batch of step 5 has 3 rows, too few for 4 shards: use "
                                     "larger batches or fewer shards"));
  BOOST_TEST((BatchPart(5, 1, 4).nearly_equal_rows(7) == RowRange{1, 3}));
  BOOST_CHECK_EXCEPTION(Epochs(0, 7).examples(0, 1), ArgumentError,
                        says_exactly("there are no examples to build batches from"));
}

BOOST_AUTO_TEST_CASE(an_epoch_is_shuffled_only_once_for_all_steps_and_copies) {
  static int calls = 0;
  calls = 0;
  const Epochs epochs(100, 7, [](std::int64_t count, std::uint64_t seed, std::uint32_t epoch) {
    ++calls;
    return shuffled(count, seed, epoch);
  });
  const Epochs copy = epochs;
  for (std::int64_t step = 0; step < 30; ++step) (step % 2 == 0 ? epochs : copy).examples(step, 10);
  BOOST_TEST(calls == 3);
}

BOOST_AUTO_TEST_CASE(threads_may_read_epochs_and_rows_concurrently) {
  const Epochs epochs(50, 7);
  const LazyCache<std::vector<std::int64_t>> rows(
      50, [](std::int64_t i) { return std::vector<std::int64_t>(3, i); });
  std::vector<std::vector<std::int64_t>> found(4);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < found.size(); ++t) {
    threads.emplace_back([&, t] {
      for (std::int64_t step = 0; step < 25; ++step) {
        for (const std::int64_t i : epochs.examples({step, static_cast<std::int64_t>(t), 4}, 8))
          found[t].push_back(rows[i][2]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::int64_t step = 0; step < 25; ++step) {
    const Epochs::Order whole = epochs.examples(step, 8);
    for (std::size_t row = 0; row < 8; ++row)
      BOOST_TEST(found[row / 2][static_cast<std::size_t>(step) * 2 + row % 2] == whole[row]);
  }
}

BOOST_AUTO_TEST_CASE(a_row_is_computed_once_on_first_access) {
  std::vector<std::int64_t> made;
  const LazyCache<std::string> rows(5, [&](std::int64_t i) {
    made.push_back(i);
    if (i == 4) throw DataError("no row");
    return std::to_string(i);
  });
  const LazyCache<std::string> copy = rows;
  const std::string& kept = rows[3];
  BOOST_TEST(&copy[3] == &kept);
  BOOST_TEST(kept == "3");
  BOOST_CHECK_THROW(rows[4], DataError);
  BOOST_CHECK_THROW(rows[4], DataError);
  BOOST_TEST(made == (std::vector<std::int64_t>{3, 4, 4}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace weft
