// The predicted cost of a training step on several ranks.
#include "weft/models/program/limits/step_model.h"

#include <boost/test/unit_test.hpp>

#include "weft/core/error.h"

namespace weft::program {
BOOST_AUTO_TEST_SUITE(step_model)
namespace {

constexpr StepCost kCost{.shard_flops = 1e12,
                         .step_flops = 1e9,
                         .parameter_bytes = 500e6,
                         .state_bytes = 1000e6,
                         .arena_bytes = 200e6};
constexpr Network kNetwork{.bytes_per_second = 1e9, .latency = 1e-3};

BOOST_AUTO_TEST_CASE(one_rank_sends_nothing) {
  const StepPrediction step = predict_step(kCost, 1, 4, 1e12, kNetwork);
  BOOST_TEST(step.bytes_sent == 0);
  BOOST_TEST(step.communicate == 0);
  BOOST_TEST(step.seconds() == 4.001, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(step.state == 1000e6);
}

BOOST_AUTO_TEST_CASE(ranks_send_all_gradients_and_parameters_except_their_own_part) {
  for (const int ranks : {2, 4, 8, 1024}) {
    const StepPrediction step = predict_step(kCost, ranks, 1024, 1e12, kNetwork);
    const double sent = 2.0 * (ranks - 1) / ranks * 500e6;
    BOOST_TEST(step.bytes_sent == sent, boost::test_tools::tolerance(1e-12));
    BOOST_TEST(step.communicate == sent / 1e9 + 2e-3, boost::test_tools::tolerance(1e-12));
    // Sending the sums takes less time than the backward pass of a shard. With more than two ranks,
    // sending the parameters takes longer than the forward pass.
    const double half = sent / 2 / 1e9 + 1e-3;
    BOOST_TEST(step.hidden == half + (ranks == 2 ? half : 1.0 / 3),
               boost::test_tools::tolerance(1e-12));
    BOOST_TEST(step.seconds() == step.compute + step.communicate - step.hidden);
    BOOST_TEST(step.shards_of_busiest == 1024 / ranks);
    BOOST_TEST(step.state == 1000e6 / ranks, boost::test_tools::tolerance(1e-12));
    // The arena also holds the updated parameters that the rank owns.
    BOOST_TEST(step.arena == 200e6 + 500e6 / ranks, boost::test_tools::tolerance(1e-12));
  }
}

BOOST_AUTO_TEST_CASE(at_most_one_shard_of_computation_hides_communication) {
  const Network slow{.bytes_per_second = 1e6, .latency = 0};
  const StepPrediction step = predict_step(kCost, 2, 2, 1e12, slow);
  BOOST_TEST(step.hidden == 1.0, boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(the_exchange_of_embedding_gradients_is_not_hidden) {
  StepCost cost = kCost;
  cost.table_bytes = 125e6;
  StepCost of_rows = cost;
  of_rows.rows_bytes = 125e6;
  const StepPrediction all = predict_step(kCost, 2, 2, 1e12, kNetwork),
                       some = predict_step(cost, 2, 2, 1e12, kNetwork),
                       less = predict_step(of_rows, 2, 2, 1e12, kNetwork);
  BOOST_TEST(all.hidden == all.communicate, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(some.communicate == all.communicate);
  // The gradient of an embedding is mostly available early if it is computed by a matrix product.
  BOOST_TEST(some.hidden == 0.875 * all.hidden, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(less.hidden == 0.75 * all.hidden, boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(shards_that_are_not_a_subtree_are_sent_in_parts) {
  // Eight shards on three ranks: shards 0 and 1 form one subtree, shards 2 to 4 form two, and
  // shards 5 to 7 form two.
  const StepPrediction step = predict_step(kCost, 3, 8, 1e12, kNetwork);
  BOOST_TEST(step.shards_of_busiest == 3);
  BOOST_TEST(step.bytes_sent == 500e6 / 3 * (2 * 2 + 2), boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(sum_memory_includes_tree_levels_and_received_sums) {
  const auto sums = [](double early, int ranks, int shards) {
    return sums_of_rank(1, early, ranks, shards);
  };
  BOOST_TEST(sums(0.25, 1, 1) == 1);
  BOOST_TEST(sums(0.25, 1, 2) == 1);
  BOOST_TEST(sums(0.25, 1, 8) == 3);
  BOOST_TEST(sums(0.25, 2, 2) == 1 + 0.5 + 0.25);
  BOOST_TEST(sums(0.25, 2, 8) == 2 + 0.5 + 0.5);
  // The ranks have two, three and three shards, which form one, two and two subtrees.
  BOOST_TEST(sums(0, 3, 8) == 2 + 4.0 / 3, boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(owned_sums_include_the_owned_part_and_buckets_in_transfer) {
  // There are 1000 bytes of sums in buckets of 10 bytes.
  const auto sums = [](int ranks, int shards) {
    return owned_sums_of_rank(1000, 10, ranks, shards);
  };
  BOOST_TEST(sums(2, 2) == 500 + 90 + 45);
  BOOST_TEST(sums(4, 4) == 250 + 90 + 67.5);
  BOOST_TEST(sums(4, 32) == 3 * 250 + 90 + 67.5);
  StepCost cost = kCost;
  cost.sum_bytes = cost.parameter_bytes;
  const OwnedSumsPrediction owned = predict_owned_sums(cost, 4, 8);
  BOOST_TEST(owned.bytes_sent == 500e6 * 0.75 * 3);
  BOOST_TEST(owned.sums < predict_step(cost, 4, 8, 1e12, kNetwork).sums);
}

BOOST_AUTO_TEST_CASE(more_ranks_than_shards_are_rejected) {
  BOOST_CHECK_THROW(predict_step(kCost, 8, 4, 1e12, kNetwork), ArgumentError);
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft::program
