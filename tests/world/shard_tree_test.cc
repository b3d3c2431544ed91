// Sums along the shard tree are added in one order, independently of the ranks that compute them.
#include <boost/test/unit_test.hpp>

#include <fmt/format.h>

#include <algorithm>

#include <string>
#include <utility>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/world/shard_tree.h"
#include "weft/tests/support/messages.h"

namespace weft {
namespace {

using testing::says;

// Represents a sum as text that shows the order of additions.
std::string tree(int first, int count) {
  if (count == 1) return std::to_string(first);
  return fmt::format("({} {})", tree(first, count / 2), tree(first + count / 2, count / 2));
}

class TextFold {
 public:
  void push(Subtree at, std::string sum) {
    for (int merged = fold_.push(at); merged > 0; --merged) {
      sum = fmt::format("({} {})", sums_.back(), sum);
      sums_.pop_back();
    }
    sums_.push_back(std::move(sum));
    BOOST_REQUIRE_EQUAL(sums_.size(), fold_.stack().size());
  }
  const TreeFold& fold() const { return fold_; }
  const std::vector<std::string>& sums() const { return sums_; }

 private:
  TreeFold fold_;
  std::vector<std::string> sums_;
};

BOOST_AUTO_TEST_SUITE(shard_tree_test)

BOOST_AUTO_TEST_CASE(any_number_of_ranks_computes_the_same_sum) {
  for (int shards = 1; shards <= 32; shards *= 2) {
    for (int ranks = 1; ranks <= shards; ++ranks) {
      TextFold owner;
      int next = 0;
      for (int r = 0; r < ranks; ++r) {
        const ShardRun run = contiguous_shards(r, ranks, shards);
        BOOST_TEST(run.begin == next);
        BOOST_TEST((run.size() == shards / ranks || run.size() == shards / ranks + 1));
        next = run.end;
        TextFold own;
        for (int s = run.begin; s < run.end; ++s) own.push({s, 1}, std::to_string(s));
        BOOST_TEST((own.fold().stack() == subtrees_of(run)));
        for (std::size_t i = 0; i < own.sums().size(); ++i) {
          const Subtree at = own.fold().stack()[i];
          BOOST_TEST(own.sums()[i] == tree(at.first, at.count));
          owner.push(at, own.sums()[i]);
        }
      }
      BOOST_TEST(next == shards);
      BOOST_REQUIRE(owner.sums().size() == 1u);
      BOOST_TEST(owner.sums()[0] == tree(0, shards));
    }
  }
}

BOOST_AUTO_TEST_CASE(one_interleaved_shard_of_every_rank_forms_a_subtree) {
  for (int ranks = 1; ranks <= 8; ranks *= 2) {
    for (int shards = ranks; shards <= 32; shards *= 2) {
      TextFold turns;
      for (int turn = 0; turn < shards / ranks; ++turn) {
        TextFold turn_of_all;
        for (int r = 0; r < ranks; ++r) {
          const ShardRun run = interleaved_shards(r, ranks, shards);
          BOOST_TEST(run.size() == shards / ranks);
          BOOST_TEST(run.shard(turn) == turn * ranks + r);
          turn_of_all.push({run.shard(turn), 1}, std::to_string(run.shard(turn)));
        }
        BOOST_REQUIRE(turn_of_all.sums().size() == 1u);
        turns.push({turn, 1}, turn_of_all.sums()[0]);
      }
      BOOST_REQUIRE(turns.sums().size() == 1u);
      BOOST_TEST(turns.sums()[0] == tree(0, shards));
    }
  }
}

BOOST_AUTO_TEST_CASE(few_partial_sums_are_kept) {
  const auto most = [](int begin, int end) {
    TreeFold fold;
    std::size_t most = 0;
    for (int s = begin; s < end; ++s) {
      fold.push({s, 1});
      most = std::max(most, fold.stack().size());
    }
    return most;
  };
  BOOST_TEST(most(0, 1024) == 10u);
  BOOST_TEST(most(1, 1023) <= 20u);
}

BOOST_AUTO_TEST_CASE(misuse_is_rejected) {
  check_shards(8, 8);
  BOOST_CHECK_EXCEPTION(check_shards(6, 2), ArgumentError,
                        says("shards must be a power of two in [1, 1048576], not 6"));
  BOOST_CHECK_EXCEPTION(check_shards(0, 1), ArgumentError, says("not 0"));
  BOOST_CHECK_EXCEPTION(check_shards(4, 5), ArgumentError,
                        says("5 ranks are too many for 4 shards"));
  TreeFold fold;
  fold.push({0, 1});
  BOOST_CHECK_EXCEPTION(fold.push({2, 1}), ArgumentError,
                        says("shard 2 cannot follow shard 0 in a sum"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
